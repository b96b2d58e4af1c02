import assert from "node:assert/strict";
import { test } from "node:test";
import { createDummyPod, type DummyPod, dummyPodPath, touchOf } from "../../../src/kube/dummy-pod.ts";
import { type EpochMicros } from "../../../src/util/clock.ts";
import { createScriptedKubeClient } from "./scripted-kube-client.ts";

const pod: DummyPod = {
  name: "dummy",
  namespace: "quiet",
  labels: { cell: "one" },
  annotations: { note: "mine" },
  image: ":",
  scheduler: "do-not-schedule",
};
const time = 1_000_000 as EpochMicros;

test("the dummy pod is made where the flags say, marked and never scheduled", async () => {
  const client = createScriptedKubeClient();
  client.onRequest = () => ({});
  await createDummyPod(client, pod, time, new AbortController().signal);
  const [request] = client.requests;
  assert.equal(`${request?.method} ${request?.path}`, "POST /api/v1/namespaces/quiet/pods");
  assert.deepEqual(request?.body, {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name: "dummy",
      namespace: "quiet",
      labels: { cell: "one" },
      annotations: { "podseidon.kubewharf.io/update-trigger-time": "1970-01-01T00:00:01.000000Z", note: "mine" },
    },
    spec: { schedulerName: "do-not-schedule", containers: [{ name: "main", image: ":" }] },
  });
});

test("the dummy pod has a path of its own, and a touch is an annotation with its time", () => {
  assert.equal(dummyPodPath(pod), "/api/v1/namespaces/quiet/pods/dummy");
  assert.deepEqual(touchOf(time), { "podseidon.kubewharf.io/update-trigger-time": "1970-01-01T00:00:01.000000Z" });
});
