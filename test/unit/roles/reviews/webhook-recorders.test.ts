import assert from "node:assert/strict";
import { test } from "node:test";
import { loadConfig } from "../../../../src/config/index.ts";
import { createWebhookRecorders } from "../../../../src/roles/reviews/webhook-recorders.ts";
import { silentLogger } from "../../../../src/util/logger.ts";
import { silentMetrics } from "../../../../src/util/metrics.ts";
import { createScriptedKubeClient } from "../../kube/scripted-kube-client.ts";
import { createSeededRng } from "../../../support/seeded-rng.ts";
import { createVirtualClock } from "../../../support/virtual-clock.ts";

function recordersBy(...argv: readonly string[]) {
  const loaded = loadConfig({ argv: ["--role=webhook", ...argv], env: {}, readFile: () => "" });
  assert.ok(loaded.kind === "config");
  const clock = createVirtualClock();
  const client = createScriptedKubeClient();
  client.onRequest = () => ({});
  const runtime = { config: loaded.config, clock, rng: createSeededRng(1), metrics: silentMetrics };
  const recorders = createWebhookRecorders(runtime, { name: "core", client }, silentLogger);
  return { clock, client, ...recorders };
}
const single = "--webhook-worker-client-provider=single";
const pod = (name: string) => ({ apiVersion: "v1", kind: "Pod", namespace: "ns", name });

test("pods get Events where the flags name the same cluster for the core and the one worker", () => {
  const ofWorker = "--webhook-worker-client-provider.single-kube-config=/worker";
  assert.equal(recordersBy().developerEvents.pods, undefined, "no worker is read");
  assert.ok(recordersBy(single).developerEvents.pods, "the pod's own cluster is both");
  assert.equal(recordersBy(single, ofWorker).developerEvents.pods, undefined);
  assert.equal(recordersBy(single, ofWorker, "--core-kube-config=/core").developerEvents.pods, undefined);
  assert.ok(recordersBy(single, ofWorker, "--core-kube-config=/worker").developerEvents.pods);
});

test("a flood of Events about pods takes nothing from those about PodProtectors, and is slow", async () => {
  const { clock, client, events, developerEvents } = recordersBy(single);
  for (let index = 0; index < 1_000; index += 1)
    developerEvents.pods?.record(pod(`p${index}`), "Warning", "DeletionRefused", "no");
  await clock.advance(0);
  assert.equal(client.requests.length, 10);
  events.record({ ...pod("web"), kind: "PodProtector" }, "Warning", "TooFewReplicas", "no");
  await clock.advance(0);
  assert.equal(client.requests.length, 11);
  await clock.advance(60_000);
  assert.equal(client.requests.length, 23);
});

test("all recorders of a core end together", async () => {
  const { clock, client, events, developerEvents, closeEvents } = recordersBy(single);
  closeEvents();
  for (const recorder of [events, developerEvents.workloads, developerEvents.pods])
    recorder?.record(pod("p"), "Warning", "DeletionRefused", "no");
  await clock.advance(60_000);
  assert.equal(client.requests.length, 0);
});
