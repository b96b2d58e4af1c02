/**
 * `make demo`: a disaster in three clusters with and without Podseidon, in about a minute. Exit codes: 0 all floors
 * held, 1 a floor was broken, an everyday operation did not go through or something did not start, 130 and the like
 * stopped by a signal.
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
import { verdictOf } from "./statistics.ts";
import { playWithout, playWithPodseidon, type StoryOptions } from "./story.ts";
import { closingLines } from "./view/closing.ts";
import { createStyle, type Style } from "./view/style.ts";
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

async function main(): Promise<void> {
  const clock = createSystemClock();
  const controller = new AbortController();
  const style = chooseStyle();
  const screen = chooseScreen(clock, style);
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
    const { lines, exitCode } = await play(options, style);
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
