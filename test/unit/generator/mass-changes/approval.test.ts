import assert from "node:assert/strict";
import { test } from "node:test";
import { readApproval } from "../../../../src/generator/mass-changes/approval.ts";
import { after, noon } from "./samples.ts";
import { formatMicroTime } from "../../../../src/api/micro-time.ts";
import { encodeLatches, latchesKey } from "../../../../src/generator/mass-changes/latches.ts";
import { generatorStateName } from "../../../../src/kube/generator-state.ts";
import { type EpochMicros } from "../../../../src/util/clock.ts";
import { builtInResources } from "../../../double/index.ts";
import { namesOf, startHolding, tally } from "./bursts.ts";

const text = (fields: object) =>
  JSON.stringify({ cause: "namespace/shop", until: "2026-01-01T13:00:00Z", reason: "planned", ...fields });

test("an approval has a cause, an end within a day, and a reason", () => {
  const approval = { cause: "namespace/shop", until: after(3_600), reason: "planned" };
  assert.deepEqual(readApproval(text({}), noon), { ok: true, approval });
});

test("what is no approval is refused, with what must stand there", () => {
  const wrong = [
    ["yes", /JSON object/],
    ["[]", /JSON object/],
    [text({ cause: "" }), /"cause"/],
    [text({ reason: " " }), /"reason"/],
    [text({ until: "tomorrow" }), /RFC 3339/],
    [text({ until: "2026-01-01T12:00:00Z" }), /future/],
    [text({ until: "2026-01-03T12:00:00Z" }), /24 hours/],
    [text({ reason: "x".repeat(2_000) }), /1024 characters/],
  ] as const;
  for (const [given, allowed] of wrong) {
    const read = readApproval(given, noon);
    assert.match(read.ok ? "" : read.allowed, allowed, given.slice(0, 80));
  }
});

const [secondMs, minuteMs] = [1_000, 60_000];
const shop = namesOf("shop", 60);
const later = namesOf("later", 5);

test("deletions that a person approved count no longer, also after a restart", async () => {
  const bench = await startHolding();
  await bench.run([...shop, ...later]);
  await bench.clock.advance(minuteMs);
  await bench.delete(shop);
  await bench.clock.advance(10 * secondMs);
  await bench.approve(bench.approval("namespace/default"));
  await bench.clock.advance(10 * secondMs);
  assert.deepEqual(tally(bench.floors(shop)), { undefined: 60 });
  await bench.generator.stop();
  await bench.start();
  await bench.delete(later);
  await bench.clock.advance(5 * secondMs);
  assert.deepEqual(tally(bench.floors(later)), { undefined: 5 });
});

test("floors whose fall a person approved count no longer, also after a restart", async () => {
  const bench = await startHolding();
  await bench.run([...shop, ...later]);
  await bench.clock.advance(minuteMs);
  await bench.edit(shop, { replicas: 0 }, "sync-tool");
  await bench.clock.advance(10 * secondMs);
  await bench.approve(bench.approval("manager/sync-tool"));
  await bench.clock.advance(10 * secondMs);
  assert.deepEqual(tally(bench.floors(shop)), { 0: 60 });
  await bench.generator.stop();
  await bench.start();
  await bench.edit(later, { replicas: 0 }, "sync-tool");
  await bench.clock.advance(5 * secondMs);
  assert.deepEqual(tally(bench.floors(later)), { 0: 5 });
});

test("changes from before an approval pass after a restart, and later ones do not count with them", async () => {
  const bench = await startHolding();
  await bench.run([...shop, ...later]);
  await bench.generator.stop();
  await bench.delete(shop);
  await bench.clock.advance(2 * secondMs);
  const at = bench.clock.epochMicros();
  const until = (at + 3_600_000_000) as EpochMicros;
  const approved = { cause: "namespace/default", at, until, text: formatMicroTime(at) };
  const data = { [latchesKey]: encodeLatches({ latched: new Map(), approvals: [approved] }) };
  const patch = { contentType: "application/merge-patch+json", body: { data } };
  if (bench.configMap() === undefined) {
    const body = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: generatorStateName }, data };
    await bench.engine.create(builtInResources.configMaps, "default", body);
  } else await bench.engine.patch(builtInResources.configMaps, "default", generatorStateName, patch);
  await bench.start();
  await bench.clock.advance(10 * secondMs);
  assert.deepEqual(tally(bench.floors(shop)), { undefined: 60 });
  await bench.delete(later);
  await bench.clock.advance(5 * secondMs);
  assert.deepEqual(tally(bench.floors(later)), { undefined: 5 });
});
