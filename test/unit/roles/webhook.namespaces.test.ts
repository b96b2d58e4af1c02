/** Which namespaces the webhook watches: those with a policy for an unavailable core, by their label. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { loadConfig } from "../../../src/config/index.ts";
import { KubeError, type KubeClient, type KubeRequest } from "../../../src/kube/kube-client.ts";
import { createServer } from "../../../src/server/index.ts";
import { createWebhook } from "../../../src/roles/webhook.ts";
import { createSeededRng } from "../../support/seeded-rng.ts";
import { createVirtualClock } from "../../support/virtual-clock.ts";
import { RecordedLog, RecordedMetrics } from "../webhook/support/replica.ts";

/** What the role asks of a core that answers nothing, without its listener. */
async function asked(...flags: readonly string[]): Promise<readonly KubeRequest[]> {
  const requests: KubeRequest[] = [];
  const refuse = (request: KubeRequest): Promise<never> => {
    requests.push(request);
    return Promise.reject(new KubeError("serverError", "nothing here"));
  };
  const client: KubeClient = { cluster: "core", request: refuse, stream: refuse, close: () => Promise.resolve() };
  const loaded = loadConfig({ argv: ["--role=webhook", ...flags], env: {}, readFile: () => "" });
  assert.ok(loaded.kind === "config");
  const clock = createVirtualClock();
  const [informers] = await createWebhook({
    config: loaded.config,
    clock,
    productVersion: "1.0.0",
    rng: createSeededRng(1),
    logger: new RecordedLog(),
    metrics: new RecordedMetrics(),
    health: { register() {} },
    createServer,
    clients: {
      core: async () => client,
      coreHeartbeat: () => Promise.reject(new Error("a webhook sends no heartbeats")),
      coreElection: () => Promise.reject(new Error("a webhook elects nobody")),
      workerElection: () => Promise.reject(new Error("a webhook elects nobody")),
      worker: () => Promise.reject(new Error("no worker")),
      connect: () => Promise.reject(new Error("no other cluster")),
    },
  });
  assert.ok(informers !== undefined);
  await informers.start();
  await clock.advance(100);
  await informers.stop();
  assert.equal(clock.pendingTimers, 0);
  return requests;
}

test("namespaces are watched by the label alone", async () => {
  const requests = (await asked()).filter(({ path }) => path === "/api/v1/namespaces");
  assert.ok(requests.length > 0);
  for (const { query } of requests) {
    assert.equal(query?.["labelSelector"], "podseidon.kubewharf.io/core-unavailable-policy");
  }
});

test("namespaces are not watched when the webhook is restricted to one", async () => {
  const requests = await asked("--core-kube-target-namespace=ns");
  assert.ok(requests.some(({ path }) => path.includes("/namespaces/ns/podprotectors")));
  assert.ok(requests.every(({ path }) => path !== "/api/v1/namespaces"));
});
