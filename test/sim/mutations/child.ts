/**
 * A process with one mutation: runs worlds from seed to seed until something is found, or plays the mutation's
 * scenario. Arguments: the name of the mutation, "mutated" or "plain" (the same worlds with the code as it is), the
 * first and the last seed, and the time in milliseconds after which no further world begins. Writes a JSON line before
 * each world, and one at the end.
 */
import type * as Run from "../run.ts";
import type * as Player from "../scenarios/player.ts";
import { readScenarios } from "../scenarios/scenario-file.ts";
import { Copies } from "../scenarios/rules/without-rule.ts";
import { mutations } from "./catalog/catalog.ts";
import { type ChildLine } from "./check.ts";

const [name, code, first, last, limitMs] = process.argv.slice(2);
const mutation = mutations.find((one) => one.name === name);
if (mutation === undefined) throw new Error(`there is no mutation ${name}`);
const copies = new Copies();
const inPlace = code === "plain" ? [] : [mutation];
const { runWorld } = await copies.load<typeof Run>(new URL("../run.ts", import.meta.url), inPlace);

function say(line: ChildLine): void {
  process.stdout.write(`${JSON.stringify(line)}\n`);
}

/** What the scenario is to break with. */
async function playScenario(name: string, player: typeof Player): Promise<string | undefined> {
  const scenario = readScenarios().find((one) => one.name === name);
  const breakage = scenario?.breakages.find(({ without }) => without.includes(mutation?.name ?? ""));
  if (scenario === undefined || breakage === undefined) throw new Error(`no scenario ${name} is for this mutation`);
  const { findings } = await player.play(scenario, "observed");
  return findings.find((finding) => finding.includes(breakage.breaks));
}

function found(seed: number, how: "checker" | "crash", finding: string): never {
  say({ kind: "caught", seed, how, finding });
  process.exit(0);
}

let seed = Number(first);
process.on("uncaughtException", (error) => found(seed, "crash", String(error)));
process.on("unhandledRejection", (reason) => found(seed, "crash", String(reason)));

if (mutation.scenario !== undefined && code !== "plain") {
  const player = await copies.load<typeof Player>(new URL("../scenarios/player.ts", import.meta.url), inPlace);
  const finding = await playScenario(mutation.scenario, player);
  say(
    finding === undefined
      ? { kind: "survived", worlds: 0 }
      : { kind: "caught", seed: undefined, how: "scenario", finding },
  );
  process.exit(0);
}

const startMs = performance.now();
const { only, plan = {} } = mutation;
const overrides = { plan, ...(only !== undefined && { only: new Set(only) }) };
for (; seed <= Number(last) && performance.now() - startMs < Number(limitMs); seed += 1) {
  say({ kind: "seed", seed });
  const { failure } = await runWorld({ seed, ...overrides });
  if (failure !== undefined) found(seed, "checker", failure.message);
}
say({ kind: "survived", worlds: seed - Number(first) });
