/**
 * `make demo`: a disaster in three clusters with and without Podseidon, in about a minute. With --keep the clusters of
 * the first disaster stay up at the end, until Ctrl-C. Exit codes: 0 all floors held, 1 a floor was broken, an everyday
 * operation did not go through or something did not start, 2 wrong arguments, 130 and the like stopped by a signal
 * before the end.
 */
import { writeFileSync } from "node:fs";
import os from "node:os";
import { fileURLToPath } from "node:url";
import { createSystemClock } from "../../src/util/system-clock.ts";
import { hasProgram } from "./search-path.ts";
import { Board } from "./board.ts";
import { reportPage } from "./report/page.ts";
import { chartsOf, serviceResults } from "./results.ts";
import { replicasOf, servicePlans } from "./scenario.ts";
import { createLiveScreen, createPlainScreen, type Screen } from "./screen.ts";
import { verdictOf } from "./statistics.ts";
import { playWithout, playWithPodseidon, type StoryOptions } from "./story.ts";
import { closingLines } from "./view/closing.ts";
import { demoSuggestions, guideLines } from "./view/guide.ts";
import { createStyle, type Style } from "./view/style.ts";
import { type Fleet } from "./world/fleet.ts";

const reportFile = fileURLToPath(new URL("../../demo-report.html", import.meta.url));
// Narrower terminals would break the picture's lines.
const columnsMin = 60;

/** Somebody asked us to stop. */
class Interrupted extends Error {
  readonly signal: NodeJS.Signals;
  constructor(signal: NodeJS.Signals) {
    super(`stopped by ${signal}`);
    this.signal = signal;
  }
}

/** What the output can show. A dumb terminal and a file get ASCII without colour. */
function chooseStyle(): Style {
  const { stdout, env } = process;
  if (!stdout.isTTY || env["TERM"] === "dumb") return createStyle({ colour: false, utf8: false });
  const locale = env["LC_ALL"] || env["LC_CTYPE"] || env["LANG"] || "";
  return createStyle({ colour: stdout.hasColors(), utf8: /utf-?8/i.test(locale) });
}

function chooseScreen(clock: StoryOptions["clock"], style: Style): Screen {
  const { stdout, env } = process;
  const isLive = stdout.isTTY && env["TERM"] !== "dumb" && stdout.columns >= columnsMin;
  return isLive ? createLiveScreen(stdout, clock, style) : createPlainScreen(stdout, clock);
}

/** Plays everything and writes the report; returns what is printed at the end and the exit code. */
async function play(options: StoryOptions, style: Style): Promise<{ lines: readonly string[]; exitCode: number }> {
  const { board } = options;
  const sizes = servicePlans.map((plan) => ({ name: plan.name, replicas: replicasOf(plan) }));
  const protectedRun = await playWithPodseidon(options);
  const bareRun = await playWithout(options, protectedRun.floors);
  const { actResults: acts, refusal } = protectedRun;
  const services = serviceResults(sizes, protectedRun, bareRun);
  const verdict = verdictOf(services, acts);
  const charts = chartsOf(sizes, protectedRun, bareRun);
  const date = `${new Date().toISOString().slice(0, 16).replace("T", " ")} UTC`;
  writeFileSync(reportFile, reportPage({ date, services, charts, verdict, refusal, remarks: board.remarks }));
  const closing = { services, acts, verdict, refusal, elapsedMs: board.elapsedMs() };
  return { lines: closingLines(closing, style), exitCode: verdict.exitCode };
}

/** Leaves the clusters to whoever looks at them; resolves when the signal aborts and they are taken down. */
async function keepOpen(fleet: Fleet, signal: AbortSignal): Promise<void> {
  const hasKubectl = hasProgram("kubectl", process.env["PATH"] ?? "");
  const guide = guideLines({ kubeconfigFile: fleet.kubeconfigFile, hasKubectl, suggestions: demoSuggestions });
  const lines = [
    "The clusters of act 4 stay up, with what the runaway controller has left.",
    "",
    ...guide,
    "",
    "Ctrl-C ends it and removes everything.",
  ];
  process.stdout.write(`${lines.join("\n")}\n`);
  if (!signal.aborted) await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
  await fleet.close();
  process.stdout.write("\nEverything is taken down.\n");
}

async function main(keepsFleet: boolean): Promise<void> {
  const clock = createSystemClock();
  const controller = new AbortController();
  const style = chooseStyle();
  const screen = chooseScreen(clock, style);
  let running: Fleet | undefined;
  let isKept = false;
  // Whatever ends this process: no child outlives it, and the terminal is as it was.
  process.on("exit", () => {
    running?.killNow();
    screen.close();
  });
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.on(signal, () => {
      // The second time somebody has no patience; the exit handler kills what is left.
      if (controller.signal.aborted) process.exit(128 + os.constants.signals[signal]);
      controller.abort(new Interrupted(signal));
    });
  }
  // `make demo | head`: nobody reads any more.
  process.stdout.on("error", () => controller.abort(new Interrupted("SIGPIPE")));

  const board = new Board(clock, screen);
  const options: StoryOptions = {
    clock,
    board,
    signal: controller.signal,
    onCrash: (report) => {
      // At the end people may break what they like.
      if (!isKept) controller.abort(new Error(report));
    },
    onStarted: (fleet) => void (running = fleet),
    keepsFleet,
  };
  screen.open(() => board.snapshot());
  try {
    const { lines, exitCode } = await play(options, style);
    screen.close();
    process.stdout.write(`${lines.join("\n")}\n`);
    process.exitCode = exitCode;
    isKept = keepsFleet;
    if (isKept && running !== undefined) await keepOpen(running, controller.signal);
  } catch (error) {
    screen.close();
    // A role that crashed makes others fail too; the first reason is the one that helps.
    const reason: unknown = controller.signal.aborted ? controller.signal.reason : error;
    if (reason instanceof Interrupted)
      process.stderr.write(`\nmake demo: ${reason.message}; everything is taken down\n`);
    else process.stderr.write(`\nmake demo: ${reason instanceof Error ? reason.message : String(reason)}\n`);
    process.exitCode = reason instanceof Interrupted ? 128 + os.constants.signals[reason.signal] : 1;
  }
}

const args = process.argv.slice(2);
const unexpected = args.find((arg) => arg !== "--keep");
if (unexpected !== undefined) {
  const hint = "make demo ARGS=--keep leaves the clusters up at the end";
  process.stderr.write(`make demo: unexpected argument ${JSON.stringify(unexpected)}; ${hint}\n`);
  process.exit(2);
}
await main(args.length > 0);
process.exit();
