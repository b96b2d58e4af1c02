/** The contract of sources against the API double. `make e2e` plays the same cases on a real kube-apiserver. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { sourceIDs } from "../../src/config/generator-rules.ts";
import { Bench, type ContractCase } from "./bench.ts";
import { contractCases } from "./cases.ts";
import { crdCases } from "./crd-cases.ts";
import { type DoubleOptions, startDoubleTarget } from "./double.ts";
import { sourceSamples, type SourceSample } from "./samples.ts";

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
