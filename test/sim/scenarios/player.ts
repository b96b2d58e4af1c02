/**
 * Plays a scenario. A file of its own, so that a copy of it can be loaded in which a rule of the product is switched
 * off (without-rule.ts).
 */
import assert from "node:assert/strict";
import { runCommand, startStage } from "./commands/commands.ts";
import { type Scenario } from "./scenario-file.ts";
import { type Stage } from "./commands/stage.ts";

/** Of the story of a failure. */
const linesShown = 40;

export interface Played {
  /** What did not hold: outcomes with their file and line, and what the checkers found. */
  readonly findings: readonly string[];
  /** The newest lines of the story. */
  readonly recent: readonly string[];
}

/**
 * `algorithm`: of the aggregators. `prepare`: called before anything happens in the world. The scenario goes on after a
 * finding, so that one sees what comes of it.
 */
export async function play(
  { commands: [first, ...others] }: Scenario,
  algorithm: string,
  prepare?: (stage: Stage) => void,
): Promise<Played> {
  if (first === undefined) throw new Error("a scenario without commands");
  const stage = await startStage(first, algorithm, prepare);
  const { findings } = stage;
  const { kernel, totals } = stage.world;
  for (const command of others) {
    const finding = await tryCommand(stage, command);
    if (finding !== undefined) findings.push(finding);
  }
  for (const { standing, minAvailable } of totals.breaches)
    findings.push(`floor broken: ${standing} of ${minAvailable}`);
  return { findings, recent: kernel.recent() };
}

/** Of a scenario that came out otherwise. */
export function story({ findings, recent }: Played): string {
  return [...findings, "the last lines:", ...recent.slice(-linesShown)].join("\n");
}

export async function assertHolds(scenario: Scenario): Promise<void> {
  const played = await play(scenario, "observed");
  assert.deepEqual(played.findings, [], story(played));
}

async function tryCommand(stage: Stage, command: Scenario["commands"][number]): Promise<string | undefined> {
  const { place, expected, verb, words } = command;
  stage.world.kernel.note(`# ${place} ${verb} ${words.join(" ")}`);
  try {
    const outcome = await runCommand(stage, command);
    if (outcome === expected || isAsExpected(outcome, expected)) return undefined;
    return `${place}: ${verb} ${words.join(" ")} -> ${outcome}, not ${expected}`;
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return message.startsWith(place) ? message : `${place}: ${message}`;
  }
}

/** "refused: TEXT" is any refusal that says TEXT. */
function isAsExpected(outcome: string | undefined, expected: string | undefined): boolean {
  if (outcome === undefined || expected === undefined) return false;
  const [word = "", text = ""] = expected.split(/: (.*)/);
  return outcome.startsWith(word) && outcome.includes(text);
}
