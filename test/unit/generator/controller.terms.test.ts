import assert from "node:assert/strict";
import { test } from "node:test";
import { sleep } from "../../../src/util/clock.ts";
import { createCore, isInForce } from "./core-cluster.ts";

const secondMs = 1_000;

test("what a new leader looks at first is known to have agreed, like all the rest", async () => {
  const core = await createCore();
  const plugin = { protectionSelector: { matchLabels: { protect: "yes" } } };
  const hold = { massChanges: { policy: "hold", allow: [] } } as const;
  await core.createDeployment("web", { metadata: { labels: { protect: "yes" } } });
  const former = core.startGenerator(plugin, hold);
  await former.ready();
  await former.stop();
  const generator = core.startGenerator(plugin, hold);
  await generator.ready();
  await core.patchDeployment("web", { metadata: { labels: { protect: "no" } } });
  await core.clock.advance(secondMs);
  assert.ok(isInForce(core.protector("deployment-web")), "its change counts, and waits");
  assert.equal(generator.metrics.value("generator_own_floor_changes_total"), 0);
  await core.clock.advance(5 * secondMs);
  assert.equal(core.protector("deployment-web"), undefined);
});

test("a change that was taken back while it was judged, behind slow answers, is not carried out", async () => {
  const core = await createCore();
  const hold = { massChanges: { policy: "hold", allow: [] } } as const;
  const owner = { apiVersion: "apps/v1", kind: "ReplicaSet", name: "owner", uid: "u-1", controller: true };
  await core.createDeployment("web", { metadata: { ownerReferences: [owner] } });
  const generator = core.startGenerator({}, hold);
  await generator.ready();
  await core.clock.advance(60 * secondMs);
  const { uid } = core.protector("deployment-web")!.metadata;
  generator.client.onRequest = async ({ method, path }) => {
    if (method === "GET" && path === "/apis/apps/v1") await sleep(core.clock, 20 * secondMs);
    return undefined;
  };
  const protect = (value: string | null) =>
    core.patchDeployment("web", { metadata: { annotations: { "podseidon.kubewharf.io/protect": value } } });
  await protect("false");
  await core.clock.advance(10 * secondMs);
  await protect(null);
  await core.clock.advance(60 * secondMs);
  assert.equal(core.protector("deployment-web")?.metadata.uid, uid);
  generator.client.onRequest = () => undefined;
  await protect("false");
  await core.clock.advance(30 * secondMs);
  assert.equal(core.protector("deployment-web"), undefined, "what still holds is carried out");
});
