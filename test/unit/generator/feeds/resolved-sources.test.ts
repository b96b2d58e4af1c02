import assert from "node:assert/strict";
import { test } from "node:test";
import { type ObjectKey } from "../../../../src/api/object-key.ts";
import { type Resolved, ResolvedSources } from "../../../../src/generator/feeds/resolved-sources.ts";
import { type ScaleTrouble } from "../../../../src/scale/read-scale.ts";
import { type SourceHead, type SourceRecord } from "../../../../src/sources/source.ts";
import { createSeededRng } from "../../../support/seeded-rng.ts";
import { createVirtualClock } from "../../../support/virtual-clock.ts";

const trouble: ScaleTrouble = { kind: "notNow", text: "slow" };
const specs = new Map<number, SourceRecord["spec"]>();

/** The same spec for the same replicas, as a kind has it that remembers. */
function specOf(replicas: number): SourceRecord["spec"] {
  const spec = specs.get(replicas) ?? ({ replicas } as SourceRecord["spec"]);
  specs.set(replicas, spec);
  return spec;
}

function head(name: string, version: bigint | number = 1, uid = name): SourceHead {
  return { key: `shop/${name}`, uid, resourceVersion: version, isTerminating: false } as unknown as SourceHead;
}

function bench() {
  const clock = createVirtualClock();
  const told: string[] = [];
  const forgotten: string[] = [];
  /** By name: the replicas, or undefined = it cannot be known. */
  const wanted = new Map<string, number | undefined>();
  let asked = 0;
  const resolve = async (object: SourceHead): Promise<Resolved> => {
    asked += 1;
    const replicas = wanted.get(object.key);
    const source = replicas === undefined ? undefined : { ...object, spec: specOf(replicas) };
    return { source, trouble: source === undefined ? trouble : undefined };
  };
  const sources = new ResolvedSources<SourceHead>({
    resolve,
    forget: (uid) => forgotten.push(uid),
    clock,
    rng: createSeededRng(1),
  });
  sources.subscribe({
    onEvent: ({ type, object }) => void told.push(`${type} ${object.uid} ${object.spec.replicas}`),
    onListed: (isFirst) => void told.push(isFirst ? "first list" : "list"),
  });
  const life = new AbortController();
  const running = sources.run(life.signal);
  return {
    clock,
    sources,
    told,
    forgotten,
    wants: (name: string, replicas: number | undefined) => wanted.set(`shop/${name}`, replicas),
    asked: () => asked,
    stop: async () => {
      life.abort();
      await clock.advance(0);
      await running;
    },
  };
}

test("an object is told of when it is resolved, and the list when all of its objects are", async () => {
  const { clock, sources, told, wants, stop } = bench();
  wants("a", 1);
  wants("b", 2);
  for (const name of ["a", "b"]) sources.changed(head(name));
  sources.listed(() => true);
  assert.deepEqual([told, sources.hasSynced()], [[], false]);
  await clock.advance(0);
  assert.deepEqual([told, sources.hasSynced()], [["added a 1", "added b 2", "first list"], true]);
  await stop();
});

test("one that cannot be resolved is tried again, and holds up a list for no longer than its first try", async () => {
  const { clock, sources, told, wants, stop } = bench();
  sources.changed(head("a"));
  sources.listed(() => true);
  await clock.advance(0);
  assert.deepEqual(told, ["first list"]);
  assert.deepEqual(
    [...sources.troubled()].map(({ source, trouble: what, isHeld }) => [source.uid, what.text, isHeld]),
    [["a", "slow", false]],
  );
  wants("a", 3);
  await clock.advance(10_000);
  assert.deepEqual(told, ["first list", "added a 3"]);
  assert.deepEqual([...sources.troubled()], []);
  await stop();
});

test("only another wish is told, and nothing is asked of what is not there", async () => {
  const { clock, sources, told, wants, asked, stop } = bench();
  wants("a", 1);
  sources.changed(head("a"));
  await clock.advance(0);
  sources.again("shop/a" as ObjectKey);
  sources.again("shop/b" as ObjectKey);
  await clock.advance(0);
  assert.deepEqual([told, asked()], [["added a 1"], 2]);
  wants("a", 2);
  sources.again("shop/a" as ObjectKey);
  await clock.advance(0);
  sources.changed({ ...head("a"), isTerminating: true });
  await clock.advance(0);
  assert.deepEqual(told, ["added a 1", "modified a 2", "modified a 2"]);
  await stop();
});

test("an object that is gone, replaced or absent from a list is forgotten, and told of if it was known", async () => {
  const { clock, sources, told, forgotten, wants, stop } = bench();
  for (const name of ["a", "b"]) wants(name, 1);
  for (const name of ["a", "b", "c"]) sources.changed(head(name));
  await clock.advance(0);
  told.length = 0;
  sources.gone(head("a", 1, "other"));
  sources.changed(head("a", 2, "again"));
  sources.listed(({ uid }) => uid === "again");
  await clock.advance(0);
  assert.deepEqual(told, ["deleted a 1", "deleted b 1", "added again 1", "first list"]);
  assert.deepEqual(forgotten, ["a", "b", "c"]);
  await stop();
});
