import assert from "node:assert/strict";
import { test } from "node:test";
import { annotations } from "../../../../src/api/v1alpha1/names.ts";
import { ghostWindowMs } from "../../../../src/generator/cells/leaving-cells.ts";
import { type JsonObject } from "../../../double/index.ts";
import { type Core, createCore, startLeading } from "../core-cluster.ts";

const bucket = (podUID: string): JsonObject => ({ startTime: "2026-01-01T00:00:00.000000Z", podUID });
const ghost = (cellID: string, ...buckets: JsonObject[]): JsonObject => ({ cellID, admissionHistory: { buckets } });
const counted = (cellID: string, available: number, ...buckets: JsonObject[]): JsonObject => ({
  ...ghost(cellID, ...buckets),
  aggregation: { totalReplicas: available, availableReplicas: available },
});
const windowMs = ghostWindowMs + 1_000;

function cellsOf(core: Core, name: string): string[] {
  return (core.protector(name)!.status!["cells"] as { cellID: string }[]).map(({ cellID }) => cellID);
}
const events = (core: Core, reason: string) => core.events().filter((event) => event["reason"] === reason);

test("ghosts are reported at once and removed after the window, with the summary that the others make", async () => {
  const { core, generator } = await startLeading();
  await core.createProtector("mine");
  await core.createProtector("sound");
  await core.writeCells("mine", [
    counted("a", 10, bucket("u1")),
    ghost("typo", bucket("u2"), bucket("u3")),
    ghost("empty"),
  ]);
  await core.writeCells("sound", [counted("a", 10, bucket("u1"))]);
  await core.clock.advance(1_000);
  assert.equal(generator.gauge("generator_ghost_cells"), 1);
  const [event, ...more] = events(core, "GhostCell");
  assert.equal(more.length, 0);
  assert.equal((event!["involvedObject"] as { name: string }).name, "mine");
  assert.match(String(event!["message"]), /^Nobody counts the cell "typo", and 2 admitted deletions are recorded/);
  assert.deepEqual(generator.logger.entries.filter(({ level }) => level === "warn").length, 1);

  await core.clock.advance(ghostWindowMs - 2_000);
  assert.deepEqual(cellsOf(core, "mine"), ["a", "typo", "empty"], "the window has not passed");
  await core.clock.advance(2_000);
  assert.deepEqual(cellsOf(core, "mine"), ["a", "empty"]);
  assert.partialDeepStrictEqual(core.protector("mine")?.status?.["summary"], {
    totalReplicas: 10,
    aggregatedAvailableReplicas: 10,
    estimatedAvailableReplicas: 9,
    promised: 1,
    disruptionsAllowed: 6,
    countedCells: 1,
  });
  assert.equal(generator.gauge("generator_ghost_cells"), 0);
  assert.equal(generator.metrics.value("generator_cells_removed_total", { reason: "ghost" }), 1);
  assert.equal(events(core, "GhostCellRemoved").length, 1);
  const writes = generator.client.writes.length;
  await core.clock.advance(10 * windowMs);
  assert.deepEqual(cellsOf(core, "sound"), ["a"]);
  assert.equal(generator.client.writes.length, writes, "nothing is left to do");
  assert.deepEqual(generator.errors(), []);
});

test("a cell that is counted, or used again, within the window stays", async () => {
  const { core } = await startLeading();
  await core.createProtector("mine");
  await core.writeCells("mine", [ghost("new", bucket("u1")), ghost("used", bucket("u2"))]);
  await core.clock.advance(60_000);
  await core.writeCells("mine", [counted("new", 3, bucket("u1")), ghost("used", bucket("u2"), bucket("u3"))]);
  await core.clock.advance(60_000);
  assert.deepEqual(cellsOf(core, "mine"), ["new", "used"]);
  await core.clock.advance(windowMs);
  assert.deepEqual(cellsOf(core, "mine"), ["new"]);
});

test("a ghost that is counted or used while it is removed stays, and nothing is lost", async () => {
  for (const [changed, left] of [
    [counted("typo", 3, bucket("u1")), ["typo"]],
    [ghost("typo", bucket("u1"), bucket("u2")), ["typo"]],
  ] as const) {
    const { core, generator } = await startLeading();
    await core.createProtector("mine");
    await core.writeCells("mine", [ghost("typo", bucket("u1"))]);
    let hasChanged = false;
    generator.client.onWrite = async () => {
      if (!hasChanged) await core.writeCells("mine", [changed]);
      hasChanged = true;
      return undefined;
    };
    await core.clock.advance(windowMs + 5_000);
    assert.ok(hasChanged);
    assert.deepEqual(cellsOf(core, "mine"), left);
    assert.deepEqual(core.protector("mine")?.status?.["cells"], [changed]);
    assert.deepEqual(generator.errors(), []);
    await generator.stop();
  }
});

test("a live read that shows more than the watch costs no reads without end", async () => {
  const { core, generator } = await startLeading();
  await core.createProtector("mine");
  await core.writeCells("mine", [ghost("typo", bucket("u1"))]);
  await core.clock.advance(60_000);
  generator.client.lagMs = 60_000;
  await core.writeCells("mine", [ghost("typo", bucket("u1"), bucket("u2"))]);
  generator.client.log.length = 0;
  await core.clock.advance(40_000);
  assert.deepEqual(cellsOf(core, "mine"), ["typo"]);
  assert.equal(generator.client.count(/^GET .*podprotectors\/mine$/), 1);
});

test("a standby reports and removes nothing; what it has seen shortens the wait when it takes over", async () => {
  const core = await createCore();
  await core.createProtector("mine");
  await core.writeCells("mine", [ghost("typo", bucket("u1"))]);
  const generator = core.startGenerator({}, { standby: true });
  await generator.ready();
  await core.clock.advance(2 * windowMs);
  assert.deepEqual(cellsOf(core, "mine"), ["typo"]);
  assert.equal(generator.gauge("generator_ghost_cells"), 0);
  assert.deepEqual(core.events(), []);
  await generator.lead();
  await core.clock.advance(1_000);
  assert.deepEqual(cellsOf(core, "mine"), []);
  assert.equal(events(core, "GhostCell").length, 1);
});

test("a removal that a person asks for leaves the ghosts beside it their wait", async () => {
  const { core, generator } = await startLeading();
  await core.createProtector("mine");
  await core.writeCells("mine", [counted("old", 3), counted("a", 10), ghost("typo", bucket("u1"))]);
  await core.clock.advance(60_000);
  await core.patchProtector("mine", { metadata: { annotations: { [annotations.removeCellOnce]: "old" } } });
  await core.clock.advance(1_000);
  assert.deepEqual(cellsOf(core, "mine"), ["a", "typo"]);
  assert.equal(generator.metrics.value("generator_cells_removed_total", { reason: "asked" }), 1);
  await core.clock.advance(windowMs - 60_000);
  assert.deepEqual(cellsOf(core, "mine"), ["a"]);
});

test("thousands of ghosts with hostile names make one short message, and all are removed in one write", async () => {
  const { core, generator } = await startLeading();
  await core.createProtector("mine");
  const hostile = Array.from({ length: 2_000 }, (_, index) =>
    ghost(`\u001B[2J\n${"x".repeat(300)}${index}`, bucket("u")),
  );
  await core.writeCells("mine", hostile);
  await core.clock.advance(1_000);
  const [event] = events(core, "GhostCell");
  const message = String(event!["message"]);
  assert.match(message, / and 1995 more, and 2000 admitted deletions/);
  assert.ok(message.length < 1_000, message);
  assert.doesNotMatch(message, /[^\x20-\x7E]/);
  assert.equal(generator.gauge("generator_ghost_cells"), 2_000);
  await core.clock.advance(windowMs);
  assert.deepEqual(cellsOf(core, "mine"), []);
  assert.equal(generator.client.writes.length, 1);
});

test("ghosts in hundreds of PodProtectors are all counted and removed, and the log stays short", async () => {
  const { core, generator } = await startLeading();
  const names = Array.from({ length: 200 }, (_, index) => `mine-${index}`);
  for (const name of names) {
    await core.createProtector(name);
    await core.writeCells(name, [ghost("typo", bucket("u1"))]);
  }
  await core.clock.advance(0);
  assert.equal(generator.gauge("generator_ghost_cells"), 200);
  assert.equal(generator.logger.entries.filter(({ level }) => level === "warn").length, 25);
  await core.clock.advance(windowMs);
  assert.ok(names.every((name) => cellsOf(core, name).length === 0));
  assert.equal(generator.metrics.value("generator_cells_removed_total", { reason: "ghost" }), 200);
});

const wish = (value: string | null): JsonObject => ({
  metadata: { annotations: { [annotations.removeCellOnce]: value } },
});

function isWishGone(core: Core, name: string): boolean {
  return core.protector(name)?.metadata.annotations?.[annotations.removeCellOnce] === undefined;
}

test("cells are removed from generated, hand-made and dangling protectors, and the summary is recomputed", async () => {
  const { core, generator } = await startLeading();
  await core.createDeployment("gone");
  await core.clock.advance(1_000);
  core.eraseDeployments();
  await core.createDeployment("web");
  await core.createProtector("mine");
  await core.clock.advance(1_000);
  for (const name of ["deployment-web", "deployment-gone", "mine"]) {
    await core.writeCells(name, [counted("a", 10, bucket("u-1")), counted("b", 20), counted("c", 30, bucket("u-1"))]);
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
});

test("an unknown cell, an empty list and a protector without a status lose only the annotation", async () => {
  const { core, generator } = await startLeading();
  await core.createProtector("counted");
  await core.writeCells("counted", [counted("a", 10)]);
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
});

test("a removal asked for while no generator ran is done by the next one", async () => {
  const core = await createCore();
  await core.createProtector("mine", { metadata: { annotations: { [annotations.removeCellOnce]: "a" } } });
  await core.writeCells("mine", [counted("a", 1), counted("b", 2)]);
  const generator = core.startGenerator();
  await generator.ready();
  assert.deepEqual(cellsOf(core, "mine"), ["b"]);
  assert.ok(isWishGone(core, "mine"));
});

test("a status that others write at the same time loses nothing", async () => {
  const { core, generator } = await startLeading();
  await core.createProtector("mine");
  await core.writeCells("mine", [counted("a", 10), counted("b", 20)]);
  await core.clock.advance(1_000);
  generator.client.onWrite = async (index) => {
    if (index === 1) await core.writeCells("mine", [counted("a", 10), counted("b", 20, bucket("u-1"))]);
    return undefined;
  };
  await core.patchProtector("mine", wish("a"));
  await core.clock.advance(1_000);
  assert.deepEqual(core.protector("mine")?.status?.["cells"], [counted("b", 20, bucket("u-1"))]);
  assert.ok(isWishGone(core, "mine"));
});

test("a request that changes while the first one is carried out is carried out as well", async () => {
  const { core, generator } = await startLeading();
  await core.createProtector("mine");
  await core.writeCells("mine", [counted("a", 10), counted("b", 20), counted("c", 30)]);
  await core.clock.advance(1_000);
  generator.client.onWrite = async (index) => {
    if (index === 2) await core.patchProtector("mine", wish("b"));
    return undefined;
  };
  await core.patchProtector("mine", wish("a"));
  await core.clock.advance(1_000);
  assert.deepEqual(cellsOf(core, "mine"), ["c"]);
  assert.ok(isWishGone(core, "mine"));
});

test("a protector that is deleted while its cells are removed is no error", async () => {
  const { core, generator } = await startLeading();
  for (const fails of [1, 2]) {
    await core.createProtector("mine");
    await core.writeCells("mine", [counted("a", 10), counted("b", 20)]);
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
});

test("whichever write of a removal fails, before or after its effect, the cells are removed", async () => {
  for (const fault of ["before", "after"] as const) {
    for (const failing of [1, 2]) {
      const { core, generator } = await startLeading();
      generator.client.onWrite = (index) => (index === failing ? fault : undefined);
      await core.createProtector("mine");
      await core.writeCells("mine", [counted("a", 10), counted("b", 20)]);
      await core.patchProtector("mine", wish("a"));
      await core.clock.advance(1_000);
      assert.deepEqual(cellsOf(core, "mine"), ["b"]);
      assert.ok(isWishGone(core, "mine"));
      await generator.stop();
    }
  }
});
