import assert from "node:assert/strict";
import { test } from "node:test";
import { annotations } from "../../../../src/api/v1alpha1/names.ts";
import { type JsonObject } from "../../../double/index.ts";
import { createCore, type Core, type GeneratorProcess } from "../core-cluster.ts";

const cell = (cellID: string, available: number, buckets: readonly JsonObject[] = []): JsonObject => ({
  cellID,
  aggregation: { totalReplicas: available, availableReplicas: available },
  admissionHistory: { buckets },
});
const bucket = { startTime: "2026-01-01T00:00:00.000000Z", podUID: "u-1" };
const wish = (value: string | null): JsonObject => ({
  metadata: { annotations: { [annotations.removeCellOnce]: value } },
});

async function start(): Promise<{ core: Core; generator: GeneratorProcess }> {
  const core = await createCore();
  const generator = core.startGenerator();
  await generator.ready();
  return { core, generator };
}
function cellsOf(core: Core, name: string): string[] {
  return (core.protector(name)!.status!["cells"] as { cellID: string }[]).map(({ cellID }) => cellID);
}
function isWishGone(core: Core, name: string): boolean {
  return core.protector(name)?.metadata.annotations?.[annotations.removeCellOnce] === undefined;
}

test("cells are removed from generated, hand-made and dangling protectors, and the summary is recomputed", async () => {
  const { core, generator } = await start();
  await core.createDeployment("gone");
  await core.clock.advance(1_000);
  core.eraseDeployments();
  await core.createDeployment("web");
  await core.createProtector("mine");
  await core.clock.advance(1_000);
  for (const name of ["deployment-web", "deployment-gone", "mine"]) {
    await core.writeCells(name, [cell("a", 10, [bucket]), cell("b", 20), cell("c", 30, [bucket])]);
    await core.patchProtector(name, wish(" a ,\tb,unknown,"));
  }
  await core.clock.advance(1_000);
  for (const name of ["deployment-web", "deployment-gone", "mine"]) {
    assert.deepEqual(cellsOf(core, name), ["c"]);
    assert.partialDeepStrictEqual(core.protector(name)?.status?.["summary"], {
      totalReplicas: 30,
      aggregatedAvailableReplicas: 30,
      estimatedAvailableReplicas: 29,
    });
    assert.ok(isWishGone(core, name));
  }
  assert.deepEqual(generator.errors(), []);
  await generator.stop();
});

test("an unknown cell, an empty list and a protector without a status lose only the annotation", async () => {
  const { core, generator } = await start();
  await core.createProtector("counted");
  await core.writeCells("counted", [cell("a", 10)]);
  await core.createProtector("empty");
  await core.createProtector("new");
  const { status } = core.protector("counted")!;
  await core.patchProtector("counted", wish("b"));
  await core.patchProtector("empty", wish(""));
  await core.patchProtector("new", wish("a"));
  await core.clock.advance(1_000);
  for (const name of ["counted", "empty", "new"]) assert.ok(isWishGone(core, name));
  assert.deepEqual(core.protector("counted")?.status, status);
  assert.ok(generator.client.writes.every((write) => !write.endsWith("/status")));
  await generator.stop();
});

test("a removal asked for while no generator ran is done by the next one", async () => {
  const core = await createCore();
  await core.createProtector("mine", { metadata: { annotations: { [annotations.removeCellOnce]: "a" } } });
  await core.writeCells("mine", [cell("a", 1), cell("b", 2)]);
  const generator = core.startGenerator();
  await generator.ready();
  assert.deepEqual(cellsOf(core, "mine"), ["b"]);
  assert.ok(isWishGone(core, "mine"));
  await generator.stop();
});

test("a status that others write at the same time loses nothing", async () => {
  const { core, generator } = await start();
  await core.createProtector("mine");
  await core.writeCells("mine", [cell("a", 10), cell("b", 20)]);
  await core.clock.advance(1_000);
  generator.client.onWrite = async (index) => {
    if (index === 1) await core.writeCells("mine", [cell("a", 10), cell("b", 20, [bucket])]);
    return undefined;
  };
  await core.patchProtector("mine", wish("a"));
  await core.clock.advance(1_000);
  assert.deepEqual(core.protector("mine")?.status?.["cells"], [cell("b", 20, [bucket])]);
  assert.ok(isWishGone(core, "mine"));
  await generator.stop();
});

test("a request that changes while the first one is carried out is carried out as well", async () => {
  const { core, generator } = await start();
  await core.createProtector("mine");
  await core.writeCells("mine", [cell("a", 10), cell("b", 20), cell("c", 30)]);
  await core.clock.advance(1_000);
  generator.client.onWrite = async (index) => {
    if (index === 2) await core.patchProtector("mine", wish("b"));
    return undefined;
  };
  await core.patchProtector("mine", wish("a"));
  await core.clock.advance(1_000);
  assert.deepEqual(cellsOf(core, "mine"), ["c"]);
  assert.ok(isWishGone(core, "mine"));
  await generator.stop();
});

test("a protector that is deleted while its cells are removed is no error", async () => {
  const { core, generator } = await start();
  for (const fails of [1, 2]) {
    await core.createProtector("mine");
    await core.writeCells("mine", [cell("a", 10), cell("b", 20)]);
    await core.clock.advance(1_000);
    let index = 0;
    generator.client.onWrite = async () => {
      index += 1;
      if (index === fails) await core.deleteProtector("mine");
      return undefined;
    };
    await core.patchProtector("mine", wish("a"));
    await core.clock.advance(1_000);
  }
  assert.deepEqual(generator.errors(), []);
  await generator.stop();
});

test("whichever write of a removal fails, before or after its effect, the cells are removed", async () => {
  for (const fault of ["before", "after"] as const) {
    for (const failing of [1, 2]) {
      const { core, generator } = await start();
      generator.client.onWrite = (index) => (index === failing ? fault : undefined);
      await core.createProtector("mine");
      await core.writeCells("mine", [cell("a", 10), cell("b", 20)]);
      await core.patchProtector("mine", wish("a"));
      await core.clock.advance(1_000);
      assert.deepEqual(cellsOf(core, "mine"), ["b"]);
      assert.ok(isWishGone(core, "mine"));
      await generator.stop();
    }
  }
});
