import assert from "node:assert/strict";
import { test } from "node:test";
import { type PodRecord, readPodRecord } from "../../../../src/api/pod.ts";
import { type ResourceVersion } from "../../../../src/api/resource-version.ts";
import { CompactPod } from "../../../../src/aggregator/watching/compact-pod.ts";

const raw = { metadata: { name: "web-0", namespace: "shop", uid: "u", resourceVersion: "7", labels: { app: "web" } } };
const record: PodRecord = { ...readPodRecord(raw)!, workloadKind: "StatefulSet" };
const flags = ["isTerminating", "isTerminal", "isScheduled", "isInitialized", "isRunning", "isReady"] as const;

test("a compact pod says what its record says, for each flag by itself and all together", () => {
  const all = Object.fromEntries(flags.map((flag) => [flag, true]));
  for (const changes of [{}, all, ...flags.map((flag) => ({ [flag]: true }))]) {
    const pod = { ...record, ...changes };
    const compact = new CompactPod(pod, pod.namespace);
    for (const [field, value] of Object.entries(pod)) assert.equal(compact[field as keyof PodRecord], value, field);
  }
});

test("a compact pod shares the text of its namespace that it is given", () => {
  const compact = new CompactPod(record, "shop");
  assert.deepEqual([compact.key, compact.namespace, compact.name], ["shop/web-0", "shop", "web-0"]);
});

test("a version of any length stays as it is", () => {
  for (const text of [
    "1",
    "4294967296",
    "9007199254740991",
    "9007199254740993",
    "340282366920938463463374607431768211455",
  ]) {
    const resourceVersion = text as ResourceVersion;
    assert.equal(new CompactPod({ ...record, resourceVersion }, "shop").resourceVersion, text);
  }
});
