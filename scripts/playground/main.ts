/**
 * `make playground`: a guarded fleet for a person with kubectl, in this process and on loopback, until Ctrl-C. Exit
 * codes: 0 ended by a signal, 1 something did not start.
 */
import { createInterface } from "node:readline";
import { createSystemClock } from "../../src/util/system-clock.ts";
import { replicasOf } from "../demo/scenario.ts";
import { type Fleet } from "../demo/world/fleet.ts";
import { guideLines, playgroundSuggestions } from "../demo/view/guide.ts";
import { hasProgram } from "../demo/search-path.ts";
import { carryOut, consoleHelp } from "./console.ts";
import { startPlayground } from "./playground.ts";
import { playgroundPlans } from "./services.ts";
import { stopOnSignals } from "./stop-on-signals.ts";

function print(lines: readonly string[]): void {
  if (lines.length > 0) process.stdout.write(`${lines.join("\n")}\n\n`);
}

/** Carries out what is typed, one line after the other, until the input ends. */
function readCommands(fleet: Fleet, help: readonly string[]): void {
  let done = Promise.resolve();
  const carryOutNext = async (line: string): Promise<void> => {
    try {
      print(await carryOut(line, fleet, help));
    } catch (error) {
      print([error instanceof Error ? error.message : String(error)]);
    }
  };
  createInterface({ input: process.stdin }).on("line", (line) => void (done = done.then(() => carryOutNext(line))));
}

async function main(): Promise<void> {
  const clock = createSystemClock();
  let fleet: Fleet | undefined;
  const stop = stopOnSignals(() => fleet?.killNow());
  const onCrash = (report: string, name: string): void => {
    // The log lines behind are for a demo that ends with them; here "processes" says where they are.
    if (!stop.aborted) print([`${report.split(". Its last")[0]}; start ${name} brings it back`]);
  };
  process.stdout.write("Starting a core, three worker clusters and seven processes of Podseidon ...\n");
  const startMs = clock.monotonicMs();
  try {
    fleet = await startPlayground({ clock, signal: stop, onCrash, onStarted: (started) => void (fleet = started) });
    const pods = playgroundPlans.reduce((sum, plan) => sum + replicasOf(plan), 0);
    const seconds = ((clock.monotonicMs() - startMs) / 1000).toFixed(1);
    const guide = guideLines({
      kubeconfigFile: fleet.kubeconfigFile,
      hasKubectl: hasProgram("kubectl", process.env["PATH"] ?? ""),
      suggestions: playgroundSuggestions,
    });
    const help = [...guide, "", ...consoleHelp];
    print([
      `A guarded fleet is up (${seconds} s): ${pods} pods of 3 Deployments in 3 cells.`,
      ...help,
      "Ctrl-C ends it and removes everything.",
    ]);
    readCommands(fleet, help);
    if (!stop.aborted) await new Promise((resolve) => stop.addEventListener("abort", resolve, { once: true }));
  } catch (error) {
    if (!stop.aborted) {
      process.stderr.write(`make playground: ${error instanceof Error ? error.message : String(error)}\n`);
      process.exitCode = 1;
    }
  }
  await fleet?.close();
  if (stop.aborted) process.stdout.write("\nEverything is taken down.\n");
}

await main();
process.exit();
