/**
 * `make fuzz COVERAGE=1`: which branches of the webhook and the core logic the fuzzer reaches. Node's own coverage, by
 * file.
 */
import { fileURLToPath } from "node:url";
import { measured, readLcov, renderCoverage } from "../sim/hunt/coverage.ts";

const covered = fileURLToPath(new URL("./covered-episodes.ts", import.meta.url));
const folders = ["src/webhook", "src/accounting", "src/retry-batch", "src/label-index", "src/api"];
/** An input takes about 1 ms, a few times that while it is measured; the start takes seconds. */
const startMs = 60_000;
const inputMs = 20;

/** Sends the inputs under measurement; returns the exit code. */
export function coverage(seed: number, inputs: number): number {
  const { output, ending } = measured(covered, folders, {
    env: { SEED: String(seed), INPUTS: String(inputs) },
    timeoutMs: startMs + inputs * inputMs,
  });
  const files = readLcov(output);
  if (files.length === 0) {
    console.error(`fuzz: nothing was measured; the run ended with ${ending}`);
    return 1;
  }
  const sums = folders.map((folder) => ({ name: `all of ${folder}`, prefix: folder }));
  console.log(renderCoverage(`Branches that ${inputs} inputs reach`, files, [...sums, { name: "all", prefix: "" }]));
  return ending === 0 ? 0 : 1;
}
