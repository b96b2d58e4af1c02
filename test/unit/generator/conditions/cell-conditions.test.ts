import assert from "node:assert/strict";
import { test } from "node:test";
import { KubeError } from "../../../../src/kube/kube-client.ts";
import { silentCellsOf } from "../../../../src/generator/conditions/cell-conditions.ts";
import { readProtector } from "../../../../src/kube/resources.ts";
import { type MonotonicMs } from "../../../../src/util/clock.ts";
import { type JsonObject, upstreamPodProtectorCrd } from "../../../double/index.ts";
import { BeatingCells, silentAfterMs } from "../beating-cells.ts";
import { createCore, type Core, type GeneratorProcess } from "../core-cluster.ts";

const counted = (cellID: string, available: number): JsonObject => ({
  cellID,
  aggregation: { totalReplicas: available, availableReplicas: available, countedMinReadySeconds: 0 },
});

const promising = (cell: JsonObject): JsonObject => ({
  ...cell,
  admissionHistory: { buckets: [{ startTime: "2026-01-01T00:00:00.000000Z", counter: 1 }] },
});

async function start(
  options: Parameters<Core["startGenerator"]>[1] = {},
): Promise<{ core: Core; cells: BeatingCells; generator: GeneratorProcess }> {
  const core = await createCore();
  const cells = new BeatingCells(core);
  await cells.start("a", "b");
  const generator = core.startGenerator({}, options);
  await generator.ready();
  generator.writeConditions(false);
  return { core, cells, generator };
}
function condition(core: Core, name: string, wanted = "CellSilent"): JsonObject | undefined {
  const conditions = (core.protector(name)?.status?.["conditions"] ?? []) as readonly JsonObject[];
  return conditions.find(({ type }) => type === wanted);
}

test("a PodProtector that has nothing free without the silent cell has the condition while it is silent", async () => {
  const { core, cells, generator } = await start();
  // The floor of all is 3.
  await core.createProtector("short");
  await core.writeCells("short", [counted("a", 2), counted("b", 2)]);
  await core.createProtector("enough");
  await core.writeCells("enough", [counted("a", 4), counted("b", 2)]);
  await core.createProtector("level");
  await core.writeCells("level", [counted("a", 3), counted("b", 2)]);
  await core.createProtector("elsewhere");
  await core.writeCells("elsewhere", [counted("a", 1), counted("b", 0)]);
  cells.stop("b");
  await cells.advance(silentAfterMs - 20_000);
  assert.deepEqual(generator.client.writes, []);
  await cells.advance(60_000);
  assert.equal(condition(core, "short")?.["status"], "True");
  assert.equal(
    condition(core, "short")?.["message"],
    'No pod is free: without cell "b", from which nothing is heard, no more than the 3 that must stay are available',
  );
  assert.equal(condition(core, "level")?.["status"], "True");
  assert.partialDeepStrictEqual(condition(core, "level", "Ready"), { status: "False", reason: "CellSilent" });
  assert.equal(condition(core, "enough"), undefined);
  assert.equal(condition(core, "elsewhere"), undefined);
  assert.equal(generator.gauge("generator_silent_cell_podprotectors"), 2);
  assert.equal(generator.client.writes.length, 2);
  // The counts of others may change, and what they promise comes and goes: the text stays.
  await core.writeCells("short", [counted("a", 1), counted("b", 2)]);
  await core.writeCells("enough", [promising(counted("a", 4)), counted("b", 2)]);
  await cells.advance(600_000);
  assert.equal(generator.client.writes.length, 2);

  await cells.start("b");
  await cells.advance(30_000);
  assert.equal(condition(core, "short")?.["status"], "False");
  assert.partialDeepStrictEqual(condition(core, "level", "Ready"), { status: "True", reason: "Ready" });
  assert.equal(generator.gauge("generator_silent_cell_podprotectors"), 0);
  assert.equal(generator.client.writes.length, 4);
});

test("a PodProtector that matches nothing in any cell has the condition Unmatched until a pod matches", async () => {
  const { core, cells, generator } = await start();
  await core.createProtector("counted");
  await core.writeCells("counted", [counted("a", 0), counted("b", 3)]);
  await core.createProtector("new");
  await core.createProtector("emptied");
  await core.writeCells("emptied", [counted("a", 0), counted("b", 0)]);
  await cells.advance(silentAfterMs);
  assert.deepEqual(generator.client.writes, [], "cells have time to count");
  await cells.advance(150_000);
  assert.deepEqual(
    ["counted", "new", "emptied"].map((name) => condition(core, name, "Unmatched")?.["status"]),
    [undefined, "True", "True"],
  );
  assert.equal(generator.client.writes.length, 2);
  // Steady, also over the silence of a cell, in which pods may match.
  cells.stop("b");
  await cells.advance(silentAfterMs + 60_000);
  await cells.start("b");
  await cells.advance(600_000);
  assert.equal(condition(core, "counted")?.["status"], "False", "the silence itself took two writes");
  assert.equal(generator.client.writes.length, 4);

  await core.writeCells("new", [counted("b", 1)]);
  await cells.advance(30_000);
  assert.equal(condition(core, "new", "Unmatched")?.["status"], "False");
  assert.equal(condition(core, "emptied", "Unmatched")?.["status"], "True");
});

test("PodProtectors of a namespace that a cell leaves out have the condition NotGuarded meanwhile", async () => {
  const { core, cells } = await start();
  await core.createProtector("web");
  await core.writeCells("web", [counted("a", 4), counted("b", 4)]);
  const { namespace } = core.protector("web")!.metadata;
  const says = async (cellID: string, gate: string | null): Promise<void> => {
    await cells.annotate(cellID, "gate", gate);
    await cells.advance(60_000);
  };
  await says("a", "not-guarded elsewhere");
  assert.equal(condition(core, "web", "NotGuarded"), undefined);
  await says("b", `not-guarded elsewhere,${namespace} +3`);
  assert.partialDeepStrictEqual(condition(core, "web", "NotGuarded"), { status: "True", reason: "NotSent" });
  assert.match(String(condition(core, "web", "NotGuarded")?.["message"]), /^In cell b deletions of this namespace are/);
  assert.partialDeepStrictEqual(condition(core, "web", "Ready"), { status: "False", reason: "NotGuarded" });
  await says("a", `not-guarded ${namespace}`);
  assert.match(String(condition(core, "web", "NotGuarded")?.["message"]), /^In cell a, b deletions/);
  await says("a", "missing");
  await says("b", null);
  assert.equal(condition(core, "web", "NotGuarded")?.["status"], "False");
});

test("with the policy keep there is no condition", async () => {
  const { core, cells } = await start({ silentPolicy: "keep" });
  await core.createProtector("short");
  await core.writeCells("short", [counted("b", 4)]);
  cells.stop("b");
  await cells.advance(silentAfterMs + 60_000);
  assert.equal(condition(core, "short"), undefined);
});

test("at most five objects a second are written, and counts that are written meanwhile are not lost", async () => {
  const { core, cells, generator } = await start();
  const names = Array.from({ length: 100 }, (_, index) => `mine-${index}`);
  for (const name of names) {
    await core.createProtector(name);
    await core.writeCells(name, [counted("b", 4)]);
  }
  cells.stop("b");
  const times: number[] = [];
  generator.client.onWrite = async (index) => {
    times.push(core.clock.monotonicMs());
    if (index === 50) for (const name of names) await core.writeCells(name, [counted("b", 5)]);
    return undefined;
  };
  await cells.advance(silentAfterMs + 120_000);
  assert.ok(names.every((name) => condition(core, name)?.["status"] === "True"));
  for (const [index, time] of times.entries())
    assert.ok(index < 5 || time - times[index - 5]! >= 1_000, `write ${index}`);
  assert.ok(
    names.every(
      (name) => JSON.stringify(core.protector(name)?.status?.["cells"]) === JSON.stringify([counted("b", 5)]),
    ),
  );
});

test("a failed write is counted and tried again with the next LIST", async () => {
  const { core, cells, generator } = await start();
  await core.createProtector("short");
  await core.writeCells("short", [counted("b", 4)]);
  generator.client.onWrite = (index) => (index <= 2 ? "before" : undefined);
  cells.stop("b");
  await cells.advance(silentAfterMs + 60_000);
  assert.equal(condition(core, "short")?.["status"], "True");
  assert.equal(generator.metrics.value("generator_cell_condition_failures_total", { error: "network" }), 2);
});

test("an object whose status cannot be written does not keep the condition from those behind it", async () => {
  const { core, cells, generator } = await start();
  for (const name of ["a-refused", "b-short"]) {
    await core.createProtector(name);
    await core.writeCells(name, [counted("b", 4)]);
  }
  generator.client.onWrite = (_, { path }) =>
    path.includes("a-refused") ? new KubeError("forbidden", "a policy denies it") : undefined;
  cells.stop("b");
  await cells.advance(silentAfterMs + 60_000);
  assert.equal(condition(core, "a-refused"), undefined);
  assert.equal(condition(core, "b-short")?.["status"], "True");
  assert.ok((generator.metrics.value("generator_cell_condition_failures_total", { error: "forbidden" }) ?? 0) > 0);
});

test("under a CRD that drops conditions it is tried once an hour", async () => {
  const { core, cells, generator } = await start();
  await core.engine.installCrd(upstreamPodProtectorCrd());
  for (const name of ["one", "two"]) {
    await core.createProtector(name);
    await core.writeCells(name, [counted("b", 4)]);
  }
  cells.stop("b");
  await cells.advance(silentAfterMs + 600_000);
  assert.equal(generator.client.writes.length, 1);
  assert.equal(generator.metrics.value("generator_cell_condition_failures_total", { error: "dropped" }), 1);
});

test("only cells that are silent for this PodProtector are left out, and without a floor nothing is refused", () => {
  const read = (minAvailable: number) => {
    const protector = readProtector({
      metadata: { namespace: "default", name: "web", uid: "u", resourceVersion: "1" },
      spec: { minAvailable, minReadySeconds: 0, selector: {} },
      status: {
        cells: [counted("a", 1), counted("b", 2), counted("c", 4)],
        summary: { totalReplicas: 7, aggregatedAvailableReplicas: 7, estimatedAvailableReplicas: 7 },
      },
    });
    assert.ok(protector.ok);
    return protector.stored.protector;
  };
  const stateOf = (cellID: string, uid: string) => {
    assert.equal(uid, "u");
    if (cellID === "a") return { kind: "beating" } as const;
    if (cellID === "b") return { kind: "keep", reason: "keep-until" } as const;
    return { kind: "silent", since: 0 as MonotonicMs } as const;
  };
  assert.equal(silentCellsOf(read(2), stateOf), false);
  assert.match((silentCellsOf(read(3), stateOf) as { message: string }).message, /cell "c"/);
  assert.equal(
    silentCellsOf(read(0), () => ({ kind: "silent", since: 0 as MonotonicMs })),
    false,
  );
});
