import assert from "node:assert/strict";
import { test } from "node:test";
import { digestOfUID, packDigests } from "../../../../src/accounting/history/uid-digest.ts";
import { type Bucket } from "../../../../src/api/v1alpha1/pod-protector.ts";
import { listProtectors, openPromises } from "../../../../src/commands/fleet/protectors.ts";
import { type EpochMicros } from "../../../../src/util/clock.ts";
import { createFleet, createProtector } from "../support/fleet.ts";

test("PodProtectors are listed in pages, and invalid ones are told from valid ones", async () => {
  const { core, stop } = await createFleet();
  for (let index = 0; index < 251; index++) await createProtector(core, `web-${index}`);
  await core.create(core.protectors, "shop", {
    apiVersion: "podseidon.kubewharf.io/v1alpha1",
    kind: "PodProtector",
    metadata: { name: "bad" },
    spec: { minAvailable: "many" },
  });
  core.client.log = [];
  const { valid, invalid } = await listProtectors(core.client, undefined, stop.signal);
  assert.equal(valid.length, 251);
  assert.deepEqual(
    invalid.map(({ namespace, name }) => [namespace, name]),
    [["shop", "bad"]],
  );
  assert.match(invalid[0]?.reason ?? "", /^spec\.minAvailable: /);
  assert.equal(core.client.count(/podprotectors/), 2);
  assert.deepEqual(await listProtectors(core.client, "default", stop.signal), { valid: [], invalid: [] });
});

const now = (Date.UTC(2026, 0, 1, 0, 1) * 1000) as EpochMicros;
const time = (second: number): string => `2026-01-01T00:00:${String(second).padStart(2, "0")}.000000Z`;

test("open promises of every kind are told, the oldest first", () => {
  const buckets = [
    { startTime: time(50), podUID: "a", podName: "web-a", podResourceVersion: "7" },
    { startTime: time(40), podUID: "b" },
    { startTime: time(30), podUIDDigests: packDigests([digestOfUID("c")]), counter: 1, podResourceVersion: "7" },
    { startTime: time(20), counter: 3 },
    { startTime: "", podUID: "d" },
  ] as unknown as readonly Bucket[];
  const promises = openPromises([{ cellID: "w1", admissionHistory: { buckets } }, { cellID: "w2" }], now);
  assert.deepEqual(
    promises.map(({ kind, podUID, podName, podUIDDigests, weight, ageMs }) => [
      kind,
      podUID ?? podUIDDigests[0],
      podName,
      weight,
      ageMs,
    ]),
    [
      ["unknown", undefined, undefined, 3, 40_000],
      ["packed", digestOfUID("c"), undefined, 1, 30_000],
      ["eviction", "b", undefined, 1, 20_000],
      ["delete", "a", "web-a", 1, 10_000],
      ["eviction", "d", undefined, 1, undefined],
    ],
  );
});
