import assert from "node:assert/strict";
import { test } from "node:test";
import { objectKey } from "../../../../src/api/object-key.ts";
import { type InformerEvent } from "../../../../src/kube/informer.ts";
import { resourcePath } from "../../../../src/kube/kube-client.ts";
import { podProtectors } from "../../../../src/kube/resources.ts";
import { MadeUpCore } from "../../../../src/webhook/warm-up/made-up-core.ts";
import { type WatchedProtector } from "../../../../src/webhook/protector/protector-view.ts";
import { protector } from "../support/objects.ts";

const metadata = { namespace: "ns", name: "web", uid: "u" };
const path = resourcePath(podProtectors, metadata);

function core() {
  const { spec, status } = protector() as { spec: Record<string, unknown>; status: Record<string, unknown> };
  const made = new MadeUpCore([{ metadata, spec, status }]);
  const { client, informer } = made.asWebhookCore();
  const events: InformerEvent<WatchedProtector>[] = [];
  informer.subscribe({ onEvent: (event) => void events.push(event) });
  made.deliver();
  return { client, informer, events, status };
}

test("a status write is answered with a new version, which the watch shows", async () => {
  const { client, informer, events, status } = core();
  const written = { ...status, cells: [{ cellID: "a" }] };
  const answer = await client.request({ method: "PUT", path: `${path}/status`, body: { status: written } });
  const { metadata: stored } = answer as { metadata: { resourceVersion: string } };
  assert.deepEqual(
    events.map(({ type }) => type),
    ["added", "modified"],
  );
  assert.equal(informer.get(objectKey("ns", "web"))?.resourceVersion, stored.resourceVersion);
  assert.deepEqual(await client.request({ method: "GET", path }), answer);
});

test("after some writes the admissions are settled, as an aggregator would", async () => {
  const { client, status } = core();
  const written = { ...status, cells: [{ cellID: "a" }] };
  for (let write = 1; write <= 4; write++) {
    await client.request({ method: "PUT", path: `${path}/status`, body: { status: written } });
  }
  const { status: settled } = (await client.request({ method: "GET", path })) as { status: unknown };
  assert.deepEqual(settled, status);
});

test("what it does not have is not found", async () => {
  await assert.rejects(core().client.request({ method: "GET", path: "/api/v1/pods" }), { kind: "notFound" });
});
