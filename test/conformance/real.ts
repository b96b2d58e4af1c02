/**
 * Runs the conformance suite against a real kube-apiserver (etcd and kube-apiserver as child processes) and exits with
 * 1 when a case fails.
 *
 *   --case=TEXT   only cases whose name contains TEXT
 *   --keep        keep the logs also when everything passes
 */
import { mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { inspect, parseArgs } from "node:util";
import { KubeAssetsError, resolveKubeAssets } from "../../scripts/kube-assets.ts";
import { ProcessSet } from "../../scripts/child-processes.ts";
import { conformanceCases, skippedCases } from "./cases.ts";
import { knownDifferences } from "./known-differences.ts";
import { startRealTarget } from "./real-target.ts";
import { runCases, selectCases } from "./runner.ts";

/** The cases need 15 s on two idle cores, the server up to 90 s to be ready; the rest is for a machine that is busy. */
const runLimitMs = 300_000;

const print = (line: string): void => console.log(line);

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: { case: { type: "string", default: "" }, keep: { type: "boolean", default: false } },
  });
  const mine = selectCases(conformanceCases, skippedCases, "real").filter(({ name }) => name.includes(values.case));
  if (mine.length === 0) {
    print(`No case's name contains "${values.case}".`);
    return 1;
  }
  const assets = await resolveKubeAssets(print);
  const directory = mkdtempSync(path.join(os.tmpdir(), "podseidon-conformance-"));
  const processes = new ProcessSet();
  endWithThisProcess(processes, directory);
  const running = await startRealTarget({ assets, processes, directory });
  print("the API server is ready");
  const { target, unique } = running;
  const outcomes = await runCases(mine, target, unique, ({ name, durationMs, error }) => {
    print(`${error === undefined ? "ok  " : "FAIL"} ${name} (${Math.round(durationMs)} ms)`);
    if (error !== undefined) print(inspect(error));
  });
  await running.close();
  const failed = outcomes.filter(({ error }) => error !== undefined);
  if (failed.length > 0 || values.keep) print(`The logs are in ${directory}`);
  else rmSync(directory, { recursive: true, force: true });
  print(`${outcomes.length - failed.length} passed, ${failed.length} failed${failed.length === 0 ? "" : ":"}`);
  for (const { name } of failed) print(`  ${name}`);
  print(`${skippedCases.length} cases are left out on one side; known differences of the double:`);
  for (const { what, double } of knownDifferences) print(`  ${what}: ${double}`);
  return failed.length === 0 ? 0 : 1;
}

/** Whatever ends this process, short of SIGKILL, ends what it started. */
function endWithThisProcess(processes: ProcessSet, directory: string): void {
  process.once("exit", () => processes.killAll());
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.once(signal, () => {
      print(`Stopped by ${signal}. The logs are in ${directory}`);
      process.exit(128 + os.constants.signals[signal]);
    });
  }
  const limit = setTimeout(() => {
    print(`Not finished within ${runLimitMs / 1000} s. The logs are in ${directory}`);
    process.exit(1);
  }, runLimitMs);
  limit.unref();
}

try {
  // An open handle that a failed case left behind must not keep the run alive.
  process.exit(await main());
} catch (error) {
  if (!(error instanceof KubeAssetsError)) throw error;
  print(`conformance: ${error.message}`);
  process.exit(1);
}
