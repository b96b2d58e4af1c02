/** An informer behind a proxy that drops bookmarks, end marks included, as access proxies do that filter by name. */
import assert from "node:assert/strict";
import test from "node:test";
import { createRecordingLogger } from "../../observability/recording-logger.ts";
import { create, startInformer, type } from "./informer-rig.ts";
import { startRig, type Rig } from "./rig.ts";

interface Seen {
  readonly rig: Rig;
  readonly logger: ReturnType<typeof createRecordingLogger>;
  readonly watchLists: () => number;
  /** The proxy drops bookmarks, or does not. */
  drops: boolean;
}

async function behindProxy(t: { after(end: () => Promise<void>): void }): Promise<Seen> {
  const rig = await startRig(t);
  let watchLists = 0;
  const seen: Seen = { rig, logger: createRecordingLogger(), watchLists: () => watchLists, drops: true };
  rig.setFaults(({ isWatch, query }) => {
    if (query.get("sendInitialEvents") === "true") watchLists++;
    return isWatch && seen.drops ? { type: "noBookmarks" } : undefined;
  });
  await create(rig, "first");
  return seen;
}

/** Something changes every five seconds until the test ends. */
function keepBusy(t: { after(end: () => void): void }, { clock, server }: Rig): void {
  let round = 0;
  let isOver = false;
  const change = async (): Promise<void> => {
    if (isOver) return;
    const body = { data: { round: String(++round) } };
    await server.engine.patch(type, "default", "first", { contentType: "application/merge-patch+json", body });
    clock.setTimer(5_000, () => void change());
  };
  clock.setTimer(5_000, () => void change());
  t.after(() => void (isOver = true));
}

const warnings = ({ logger }: Seen): readonly string[] =>
  logger.entries
    .filter(({ level }) => level === "warn" || level === "error")
    .map(({ message, fields }) => `${message} (${String(fields["why"])})`);

async function after(rig: Rig, ms: number): Promise<void> {
  const endMs = rig.clock.monotonicMs() + ms;
  await rig.until(() => rig.clock.monotonicMs() >= endMs, "time passes");
}

test("the first list of a busy resource is there in 21 s, later ones at once, and the log has one line", async (t) => {
  const seen = await behindProxy(t);
  const { rig } = seen;
  keepBusy(t, rig);
  const { informer } = await startInformer(t, rig, seen.logger);
  assert.ok(rig.clock.monotonicMs() <= 21_000, `synced after ${rig.clock.monotonicMs()} ms`);
  const listed = async (): Promise<number> => {
    const before = seen.logger.entries.length;
    const startMs = rig.clock.monotonicMs();
    const hasListed = (): boolean => seen.logger.entries.slice(before).some(({ fields }) => fields["phase"] === "list");
    informer.relist({ isPaced: true });
    await rig.until(hasListed, "the list");
    return rig.clock.monotonicMs() - startMs;
  };
  assert.ok((await listed()) <= 23_000, "the second miss");
  assert.equal(seen.watchLists(), 2);
  for (let list = 0; list < 3; list++) assert.ok((await listed()) <= 5_000, "in pages at once");
  assert.equal(seen.watchLists(), 2);
  const why = "no end mark within 15 s of the first change: a proxy may drop bookmarks";
  assert.deepEqual(warnings(seen), [`A bookmark did not come, listing anew (${why})`]);
});

test("after an hour of pages one WatchList is tried; when its end mark comes, later ones are, too", async (t) => {
  const seen = await behindProxy(t);
  const { rig } = seen;
  keepBusy(t, rig);
  const { informer } = await startInformer(t, rig, seen.logger);
  const relist = async (): Promise<number> => {
    const before = seen.watchLists();
    informer.relist({ isPaced: true });
    await after(rig, 60_000);
    return seen.watchLists() - before;
  };
  assert.deepEqual([await relist(), await relist()], [1, 0]);
  await after(rig, 3_400_000);
  assert.equal(await relist(), 0, "the hour is not over");
  await after(rig, 100_000);
  assert.deepEqual([await relist(), await relist()], [1, 0], "tried once, in vain");
  seen.drops = false;
  await after(rig, 3_600_000);
  assert.deepEqual([await relist(), await relist(), await relist()], [1, 1, 1]);
  assert.equal(warnings(seen).length, 1);
});

test("a quiet resource is listed before its news are five minutes old, and the log has one line", async (t) => {
  const seen = await behindProxy(t);
  const { rig } = seen;
  const { informer } = await startInformer(t, rig, seen.logger);
  assert.ok(rig.clock.monotonicMs() <= 16_000, `synced after ${rig.clock.monotonicMs()} ms`);
  let oldestMs = 0;
  const endMs = rig.clock.monotonicMs() + 3 * 3_600_000 - 60_000;
  for (const untilMs of [endMs / 2, endMs]) {
    await rig.until(() => {
      oldestMs = Math.max(oldestMs, informer.stalenessMs());
      return rig.clock.monotonicMs() >= untilMs;
    }, "hours");
  }
  assert.ok(oldestMs > 180_000 && oldestMs < 290_000, `news of ${oldestMs} ms ago`);
  assert.ok(seen.watchLists() <= 5, `${seen.watchLists()} WatchLists`);
  assert.deepEqual(warnings(seen), [
    "A bookmark did not come, listing anew (no end mark in 15 s of silence: a proxy may drop bookmarks)",
  ]);
});

test("a watch that dies silently is resumed and not listed, and nobody is warned", async (t) => {
  const seen = await behindProxy(t);
  seen.drops = false;
  const { rig } = seen;
  let watches = 0;
  rig.setFaults(({ isWatch }) => (isWatch && ++watches === 1 ? { type: "stall", afterEvents: 2 } : undefined));
  const { informer } = await startInformer(t, rig, seen.logger);
  await create(rig, "missed");
  await rig.until(() => informer.size === 2, "the missed event");
  assert.equal(watches, 2);
  await after(rig, 600_000);
  assert.deepEqual(warnings(seen), []);
});
