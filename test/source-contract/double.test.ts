/** The contract of sources against the API double. `make e2e` plays the same cases on a real kube-apiserver. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { sourceIDs } from "../../src/config/generator-rules.ts";
import { Bench, type ContractCase } from "./bench.ts";
import { contractCases, createMany, haveAll, staysUnwritten } from "./cases.ts";
import { crdCases } from "./crd-cases.ts";
import { type DoubleOptions, readsOf, startDoubleTarget } from "./double.ts";
import { sourceSamples, type SourceSample } from "./samples.ts";

const perKind = 250;

async function play(one: ContractCase, sample: SourceSample, options: Omit<DoubleOptions, "samples">): Promise<void> {
  const double = await startDoubleTarget({ samples: [sample], ...options });
  await new Bench(sample, double.target).play(one);
  await double.stop();
}

test("there is a sample of every kind of source that is built in, and of a custom resource", () => {
  const ids = sourceSamples.map(({ id }) => id);
  assert.deepEqual(ids, [...sourceIDs, "databases.example.com"]);
});

for (const sample of sourceSamples) {
  describe(sample.id, () => {
    for (const one of contractCases) test(one.name, () => play(one, sample, { massChanges: "allow", hasCrds: true }));
    if (sample.crd === undefined) return;
    for (const one of crdCases) test(one.name, () => play(one, sample, { massChanges: "hold", hasCrds: false }));
  });
}

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
