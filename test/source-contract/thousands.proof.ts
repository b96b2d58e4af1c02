import assert from "node:assert/strict";
import { test } from "node:test";
import { Bench } from "./bench.ts";
import { createMany, haveAll, staysUnwritten } from "./cases.ts";
import { readsOf, startDoubleTarget } from "./double.ts";
import { sourceSamples } from "./samples.ts";

const perKind = 250;

test("thousands of sources of all kinds in one core have PodProtectors, and cost a new leader nothing", async () => {
  const double = await startDoubleTarget({ samples: sourceSamples, massChanges: "allow", hasCrds: true });
  const benches = sourceSamples.map((sample) => new Bench(sample, double.target));
  const names = [];
  for (const bench of benches) names.push(await createMany(bench, perKind));
  for (const [index, bench] of benches.entries()) await haveAll(bench, names[index]!);
  const [first, ...others] = benches;
  await staysUnwritten([first!, ...others]);
  assert.deepEqual(double.generator().client.writes, []);
  const reads = sourceSamples.map((sample) => [sample.id, readsOf(double, sample)]);
  assert.deepEqual(
    reads,
    sourceSamples.map(({ id }) => [id, 0]),
  );
  await double.stop();
});
