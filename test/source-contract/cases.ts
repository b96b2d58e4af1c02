/** What every kind of source keeps to (docs/generator.md#sources). */
import assert from "node:assert/strict";
import { isDeepStrictEqual } from "node:util";
import { annotations, finalizer } from "../../src/api/v1alpha1/names.ts";
import { type JsonObject } from "../double/index.ts";
import { type Bench, type ContractCase, hasFinalizer } from "./bench.ts";
import { scopeCases } from "./scope-cases.ts";

async function protect(bench: Bench): Promise<void> {
  await bench.create();
  await bench.becomes("the floor of a new source", bench.floor, bench.sample.floor);
}

async function followsReplicas(bench: Bench): Promise<void> {
  await bench.becomes("the floor of ten replicas", bench.floor, bench.sample.floor);
  await bench.scale(20);
  await bench.becomes(
    "the floor of twenty replicas is higher",
    async () => {
      return Number(await bench.floor()) > bench.sample.floor;
    },
    true,
  );
  await bench.scale(10);
  await bench.becomes("the floor of ten replicas again", bench.floor, bench.sample.floor);
}

export const contractCases: readonly ContractCase[] = [
  {
    name: "a source gets its finalizer and a PodProtector that leads back to it",
    async play(bench) {
      await protect(bench);
      await bench.becomes("the finalizer", bench.isGuarded, true);
      const [source, protector] = [await bench.source(), await bench.protector()];
      assert.ok(hasFinalizer(protector));
      const { apiVersion, kind } = bench.sample.kind;
      const owner = { apiVersion, kind, name: "web", uid: source?.metadata.uid, controller: true };
      assert.deepEqual(protector?.metadata.ownerReferences, [owner]);
      assert.deepEqual(protector.spec?.["selector"], { matchLabels: { app: "web" } });
      assert.equal(protector.metadata.annotations?.[annotations.generated], "true");
    },
  },
  {
    name: "the floor follows replicas up and down, to zero and back",
    async play(bench) {
      await bench.create();
      await followsReplicas(bench);
      await bench.scale(0);
      await bench.becomes("the floor of no replicas", bench.floor, 0);
      await bench.scale(10);
      await bench.becomes("the floor after none", bench.floor, bench.sample.floor);
    },
  },
  {
    name: "the floor follows the strategy, where there is one, and minReadySeconds is taken over",
    async play(bench) {
      await protect(bench);
      const { strategy, readyAfter } = bench.sample;
      if (strategy !== undefined) {
        await bench.patch({ spec: strategy.spec });
        await bench.becomes("the floor by the new strategy", bench.floor, strategy.floor);
      }
      if (readyAfter !== undefined) await bench.patch({ spec: readyAfter(7) });
      const minReadySeconds = async (): Promise<unknown> => (await bench.protector())?.spec?.["minReadySeconds"];
      await bench.becomes("minReadySeconds", minReadySeconds, readyAfter === undefined ? 0 : 7);
      assert.equal(await bench.floor(), strategy?.floor ?? bench.sample.floor);
    },
  },
  {
    name: "a source whose roll-out is paused keeps its floor, and the floor follows its replicas",
    async play(bench) {
      await protect(bench);
      const { pause } = bench.sample;
      if (pause === undefined) return;
      const patched = await bench.patch({ spec: pause });
      assert.ok(contains(patched["spec"], pause), `the API server keeps ${JSON.stringify(pause)}`);
      await followsReplicas(bench);
      await bench.patch({ spec: unset(pause) });
      await followsReplicas(bench);
    },
  },
  {
    name: "a source that is deleted takes its PodProtector with it, and keeps no finalizer",
    async play(bench) {
      await protect(bench);
      await bench.delete();
      await bench.becomes("what is left", async () => [await bench.source(), await bench.protector()], [
        undefined,
        undefined,
      ]);
    },
  },
  {
    name: "a source that is erased leaves its PodProtector in force, and takes it again when it is back",
    isAlone: true,
    async play(bench) {
      const { kind, floor } = bench.sample;
      await protect(bench);
      await bench.becomes("the finalizer", bench.isGuarded, true);
      await bench.eraseSources();
      const text = new RegExp(`The source ${kind.kind} vanished`);
      await bench.becomes("an Event of the loss", () => bench.isTold(text), true, "late");
      await bench.stays("the floor without its source", bench.floor, floor);
      await bench.createAlone();
      await bench.becomes("the finalizer of the source that is back", bench.isGuarded, true);
      const uid = (await bench.source())?.metadata.uid;
      const owners = async () => (await bench.protector())?.metadata.ownerReferences?.map((owner) => owner.uid);
      await bench.becomes("the owner", owners, [uid]);
      assert.equal(await bench.floor(), floor);
    },
  },
  {
    name: "a PodProtector that is erased is made again, with its source and without",
    isAlone: true,
    async play(bench) {
      const { kind, floor } = bench.sample;
      await protect(bench);
      await bench.eraseProtectors();
      await bench.becomes("the floor after the first loss", bench.floor, floor, "late");
      await bench.eraseProtectors();
      // Of these a generator that was away knows nothing, when both are gone.
      if (kind.isNeverWritten) await bench.becomes("the floor after the second loss", bench.floor, floor, "late");
      await bench.eraseSources();
      await bench.becomes("the floor when the source is lost too", bench.floor, floor, "late");
      await bench.stays("the floor that is left", bench.floor, floor);
    },
  },
  {
    name: "drift is repaired, also what happened while no generator ran",
    isAlone: true,
    async play(bench) {
      await protect(bench);
      const { metadata, spec } = (await bench.protector())!;
      const { labels, ownerReferences } = metadata;
      const state = async () => {
        const now = (await bench.protector())!;
        return { labels: now.metadata.labels, owners: now.metadata.ownerReferences, spec: now.spec };
      };
      const before = { labels, owners: ownerReferences, spec };
      const drifted = { labels: null, ownerReferences: null, finalizers: [finalizer] };
      await bench.patchProtector({ metadata: drifted, spec: { minAvailable: 1 } });
      await bench.becomes("the PodProtector that was changed", state, before);
      await bench.target.whileAway(async () => {
        await bench.patchProtector({ metadata: { ownerReferences: null }, spec: { minAvailable: 99 } });
      });
      await bench.becomes("the PodProtector that was changed meanwhile", state, before, "late");
    },
  },
  {
    name: "many sources all get their PodProtectors, and an unchanged one costs a new leader no write",
    isAlone: true,
    async play(bench) {
      const names = await createMany(bench, bench.target.manyCount);
      await haveAll(bench, names);
      await staysUnwritten([bench]);
    },
  },
  ...scopeCases,
];

/** Resolves to their names. */
export async function createMany(bench: Bench, count: number): Promise<readonly string[]> {
  const names = Array.from({ length: count }, (_, index) => `${bench.sample.kind.resource.resource}-${index}`);
  await bench.createAll(names);
  return names;
}

export async function haveAll(bench: Bench, names: readonly string[]): Promise<void> {
  const lacking = async () => {
    const floors = await bench.floors(names);
    return names.filter((_, index) => floors[index] !== bench.sample.floor);
  };
  await bench.becomes("those without their floor", lacking, [], "late");
  const unguarded = async () => {
    const isNeverWritten = bench.sample.kind.isNeverWritten ?? false;
    const sources = await bench.list(bench.sample.kind.resource);
    return sources.filter((source) => hasFinalizer(source) === isNeverWritten).map(({ metadata }) => metadata.name);
  };
  await bench.becomes("those without their finalizer", unguarded, [], "late");
}

/** A new leader, on the one target that all of these have, writes none of their objects. */
export async function staysUnwritten(benches: readonly [Bench, ...Bench[]]): Promise<void> {
  const versions = () => Promise.all(benches.map((bench) => bench.versions()));
  const [first] = benches;
  let before = await versions();
  // The leader may still write the condition of what it has just made.
  const isQuiet = async (): Promise<boolean> => {
    const former = before;
    for (let waits = 0; waits < first.target.waits.unchanged; waits++) await first.target.wait();
    before = await versions();
    return isDeepStrictEqual(before, former);
  };
  await first.becomes("the end of the first leader's writes", isQuiet, true, "late");
  await first.target.whileAway(async () => {});
  await first.stays("the versions of all objects after a restart", versions, before);
}

function contains(whole: unknown, part: JsonObject): boolean {
  return Object.entries(part).every(([key, value]) => {
    const found = (whole as JsonObject | undefined)?.[key];
    return typeof value === "object" && value !== null ? contains(found, value as JsonObject) : found === value;
  });
}

/** The merge patch that takes back another one. */
function unset(patch: JsonObject): JsonObject {
  const entries = Object.entries(patch).map(([key, value]) => {
    return [key, typeof value === "object" && value !== null ? unset(value as JsonObject) : null];
  });
  return Object.fromEntries(entries) as JsonObject;
}
