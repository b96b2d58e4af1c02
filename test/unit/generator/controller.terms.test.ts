import assert from "node:assert/strict";
import { test } from "node:test";
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
