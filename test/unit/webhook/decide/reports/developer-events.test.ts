import assert from "node:assert/strict";
import { test } from "node:test";
import { finalizer, sourceLabels } from "../../../../../src/api/v1alpha1/names.ts";
import { type EventRecorder, type ObjectReference } from "../../../../../src/kube/event-recorder.ts";
import { createVirtualClock } from "../../../../support/virtual-clock.ts";
import { FakeCore } from "../../support/fake-core.ts";
import { cell, deleteReview, type Json, pod, protector } from "../../support/objects.ts";
import { createReplica } from "../../support/replica.ts";

interface Told {
  readonly regarding: ObjectReference;
  readonly text: string;
}

function recorder(): { readonly told: Told[]; readonly recorder: EventRecorder } {
  const told: Told[] = [];
  return {
    told,
    recorder: {
      record: (regarding, type, reason, message) => void told.push({ regarding, text: `${type} ${reason} ${message}` }),
      close() {},
    },
  };
}

/** One that the generator made for a Deployment. */
function generated(metadata: Json = {}): Json {
  const whole = protector({ cells: [cell("c1", 80)] });
  const labels = { [sourceLabels.kind]: "Deployment", [sourceLabels.group]: "apps", [sourceLabels.name]: "shop" };
  const owner = { apiVersion: "apps/v1", kind: "Deployment", name: "shop", uid: "uid-of-shop" };
  const own = { labels, finalizers: [finalizer], ownerReferences: [owner] };
  return { ...whole, metadata: { ...(whole["metadata"] as Json), ...own, ...metadata } };
}

async function refused(object: Json, { hasPods = true } = {}) {
  const clock = createVirtualClock();
  const core = new FakeCore(clock);
  core.put(object);
  const [workloads, pods] = [recorder(), recorder()];
  const recorders = { workloads: workloads.recorder, pods: hasPods ? pods.recorder : undefined };
  const replica = createReplica(clock, core, { developerEvents: new Map([["core", recorders]]) });
  assert.equal((await replica.review(deleteReview(pod("p"), { userInfo: { username: "alice" } }))).code, 429);
  return { workloads: workloads.told, pods: pods.told };
}

const figures = 'Must stay 80, available 80, promised 0, free 0; by cell: "c1" 80';

test("a refusal is told on the workload that the PodProtector stands for, with the callers", async () => {
  const { workloads } = await refused(generated());
  assert.deepEqual(workloads, [
    {
      regarding: { apiVersion: "apps/v1", kind: "Deployment", name: "shop", uid: "uid-of-shop", namespace: "ns" },
      text:
        "Warning DeletionRefused Refused 1 deletion in 1 s (by alice 1); PodProtector web; " +
        `last: Deletion of pod p in cell "c1": ${figures}`,
    },
  ]);
});

test("a refusal is told on the pod, where the pod is in the core", async () => {
  const { pods } = await refused(generated());
  assert.deepEqual(pods, [
    {
      regarding: { apiVersion: "v1", kind: "Pod", namespace: "ns", name: "p", uid: "uid-p" },
      text: `Warning DeletionRefused Deletion refused by PodProtector web: ${figures}`,
    },
  ]);
  assert.deepEqual((await refused(generated(), { hasPods: false })).pods, []);
});

test("nothing is told on a workload by a hand-made PodProtector, or one whose owner is not known", async () => {
  for (const metadata of [{ labels: {} }, { finalizers: [] }, { ownerReferences: [] }, { ownerReferences: ["odd"] }])
    assert.deepEqual((await refused(generated(metadata))).workloads, [], JSON.stringify(metadata));
});
