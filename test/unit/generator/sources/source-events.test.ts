import assert from "node:assert/strict";
import { test } from "node:test";
import { recordUnprotectable } from "../../../../src/generator/sources/source-events.ts";
import { deployments } from "../../../../src/sources/deployment.ts";
import { readSource } from "../../../../src/sources/read-source.ts";
import { KubeError } from "../../../../src/kube/kube-client.ts";

test("a workload that cannot be protected is told of, unless the reason goes by itself", () => {
  const told: unknown[] = [];
  const events = { record: (...event: unknown[]) => void told.push(event) };
  const metadata = { name: "web", namespace: "shop", uid: "u", resourceVersion: "1" };
  const source = readSource(deployments, { metadata, spec: { selector: { matchLabels: { app: "web" } } } });
  recordUnprotectable(events, source!, new KubeError("timeout", "goes by itself"));
  recordUnprotectable(events, source!, new KubeError("forbidden", "no right"));
  assert.deepEqual(
    told.map((event) => (event as unknown[])[2]),
    ["Unprotectable"],
  );
  assert.match(JSON.stringify(told), /"name":"web".*no right/);
});
