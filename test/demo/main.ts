/**
 * `make demo`: a disaster in three clusters with and without Podseidon, in about a minute. Exit codes: 0 all floors held, 1 a floor was
 * broken, an everyday operation did not go through or something did not start, 130 and the like stopped by a signal.
 */
import { writeFileSync } from "node:fs";
import os from "node:os";
import { fileURLToPath } from "node:url";
import { createSystemClock } from "../../src/util/system-clock.ts";
import { Board } from "./board.ts";
import { reportPage } from "./report/page.ts";
import { chartsOf, serviceResults } from "./results.ts";
import { replicasOf, servicePlans } from "./scenario.ts";
import { createLiveScreen, createPlainScreen, type Screen } from "./screen.ts";
import { problemsOf } from "./statistics.ts";
import { playWithout, playWithPodseidon, type StoryOptions } from "./story.ts";
import { wrap } from "./view/state.ts";
import { createStyle } from "./view/style.ts";
import { resultTable } from "./view/table.ts";
import { type Podseidon } from "./world/podseidon.ts";

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

function chooseScreen(clock: StoryOptions["clock"]): Screen {
  const { stdout, env } = process;
  if (!stdout.isTTY || env["TERM"] === "dumb" || stdout.columns < columnsMin) return createPlainScreen(stdout, clock);
  const locale = env["LC_ALL"] || env["LC_CTYPE"] || env["LANG"] || "";
  return createLiveScreen(stdout, clock, createStyle({ colour: stdout.hasColors(), utf8: /utf-?8/i.test(locale) }));
}

/** Plays everything; returns what is printed at the end and the exit code. */
async function play(options: StoryOptions): Promise<{ lines: readonly string[]; exitCode: number }> {
  const { board } = options;
  const sizes = servicePlans.map((plan) => ({ name: plan.name, replicas: replicasOf(plan) }));
  const protectedRun = await playWithPodseidon(options);
  const bareRun = await playWithout(options, protectedRun.floors);
  const services = serviceResults(sizes, protectedRun, bareRun);
  const problems = problemsOf(services, protectedRun.actResults);
  const charts = chartsOf(sizes, protectedRun, bareRun);
  const date = new Date().toISOString().slice(0, 16).replace("T", " ");
  const report = {
    date: `${date} UTC`,
    services,
    charts,
    acts: protectedRun.actResults,
    problems,
    remarks: board.remarks,
  };
  writeFileSync(reportFile, reportPage(report));
  const verdict = problems.length === 0 ? ["Every floor held, and the everyday operations went through."] : problems;
  const lines = [
    "",
    ...protectedRun.actResults.map(
      ({ title, problem }) => `  ${problem === undefined ? "passed" : "FAILED"}  ${title}`,
    ),
    "",
    ...resultTable(services),
    "",
    ...verdict.flatMap((text) => wrap(text, 76)).map((line) => `  ${line}`),
    `  Open demo-report.html to see it over time. (${Math.round(board.elapsedMs() / 1000)} s)`,
    "",
  ];
  return { lines, exitCode: problems.length === 0 ? 0 : 1 };
}

async function main(): Promise<void> {
  const clock = createSystemClock();
  const controller = new AbortController();
  const screen = chooseScreen(clock);
  let running: Podseidon | undefined;
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
    onCrash: (report) => controller.abort(new Error(report)),
    onStarted: (podseidon) => void (running = podseidon),
  };
  screen.open(() => board.snapshot());
  try {
    const { lines, exitCode } = await play(options);
    screen.close();
    process.stdout.write(`${lines.join("\n")}\n`);
    process.exitCode = exitCode;
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

await main();
process.exit();
