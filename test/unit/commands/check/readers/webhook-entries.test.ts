import assert from "node:assert/strict";
import { test } from "node:test";
import { listEntries } from "../../../../../src/commands/check/readers/webhook-entries.ts";
import { type EntryFacts } from "../../../../../src/commands/check/facts.ts";
import { type Manifest, onlyOne, render } from "../../../../manifests/manifest-files.ts";
import { createScriptedKubeClient } from "../../../kube/scripted-kube-client.ts";

const signal = new AbortController().signal;

async function entriesOf(...items: readonly object[]): Promise<readonly EntryFacts[]> {
  const client = createScriptedKubeClient();
  client.onRequest = () => ({ metadata: { resourceVersion: "1" }, items });
  return listEntries(client, signal);
}

const manifest = (overlay: string): Manifest => onlyOne(render(overlay), "ValidatingWebhookConfiguration");

test("of the manifests' configuration one entry is the main one, and the address of its Service is read", async () => {
  const entries = await entriesOf(manifest("overlays/single-cluster"));
  assert.deepEqual(
    entries.map(({ isMain }) => isMain),
    [true, false, false],
  );
  const [main] = entries;
  assert.equal(main?.url, "https://podseidon-webhook.podseidon-system.svc/default");
  assert.equal(main?.isService, true);
  assert.equal(main?.cell, "default");
  assert.equal(main?.failurePolicy, "Fail");
  assert.deepEqual(main?.rules, ["DELETE pods", "CREATE pods/eviction"]);
  assert.equal(main?.hasObjectSelector, false);
});

test("of a worker's configuration the cell is the end of the URL", async () => {
  const [main] = await entriesOf(manifest("overlays/worker"));
  assert.equal(main?.url, "https://podseidon.example.com/worker-1");
  assert.equal(main?.cell, "worker-1");
  assert.equal(main?.isService, false);
});

const rule = { operations: ["*"], resources: ["*"] };
const foreign = {
  metadata: { name: "foreign" },
  webhooks: [{ name: "a.example.com", clientConfig: { url: "https://a" }, rules: [rule] }],
};

test("configurations of others are left out, those that carry our label or our domain are not", async () => {
  assert.deepEqual(await entriesOf(foreign, { metadata: { name: "empty" } }), []);
  const labelled = { ...foreign, metadata: { name: "x", labels: { "app.kubernetes.io/name": "podseidon" } } };
  assert.equal((await entriesOf(labelled)).length, 1);
});

test("wildcards ask about everything, and a rule about other things is no main entry", async () => {
  const metadata = { name: "x", labels: { "app.kubernetes.io/name": "podseidon" } };
  const clientConfig = { url: "https://a/%77orker-1?x=/y", caBundle: Buffer.from("pem").toString("base64") };
  const selector = { objectSelector: { matchLabels: { a: "b" } } };
  const [all, other] = await entriesOf({
    metadata,
    webhooks: [
      { name: "a", clientConfig, rules: [rule], ...selector },
      { name: "b", clientConfig, rules: [{ operations: ["UPDATE"], resources: ["pods/status"] }] },
    ],
  });
  assert.ok(all?.isMain === true && all.rules.includes("DELETE pods") && all.rules.includes("CREATE pods/eviction"));
  assert.deepEqual([all.cell, all.caBundle, all.hasObjectSelector], ["worker-1", "pem", true]);
  assert.equal(other?.isMain, false);
});
