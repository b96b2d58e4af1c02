/** What every kind of source keeps to: one suite, played with each. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { annotations, apiGroup, finalizer } from "../../../src/api/v1alpha1/names.ts";
import { sourceIDs } from "../../../src/config/generator-rules.ts";
import { protectorNameOf } from "../../../src/generator/source-plan.ts";
import { sourceKindOf } from "../../../src/sources/index.ts";
import { builtInResources, type JsonObject } from "../../double/index.ts";
import { createCore, hasFinalizer, isInForce } from "./core-cluster.ts";
import { installSample, prepareSample, sampleBody, sourceSamples, type SourceSample } from "./source-samples.ts";

const secondMs = 1_000;
const isGuarded = { matchExpressions: [{ key: "guard", operator: "NotIn", values: ["no"] }] } as const;
const rule = { sourceSelector: isGuarded };
/** As many as a large namespace has. */
const manyCount = 300;

async function start(sample: SourceSample) {
  const core = await createCore();
  const { engine, clock } = core;
  const type = await installSample(sample, engine);
  const kind = sourceKindOf(sample.id);
  const startGenerator = () => core.startGenerator({ protectionSelector: isGuarded }, { sources: [sample.id], rule });
  const generator = startGenerator();
  await generator.ready();
  const act = async (action: Promise<unknown>): Promise<void> => {
    await action;
    await clock.advance(3 * secondMs);
  };
  const nameOf = (name: string): string => protectorNameOf(kind, name);
  const create = async (name: string): Promise<void> => {
    await prepareSample(sample, engine, name);
    await engine.create(type, "default", sampleBody(sample, name));
  };
  const mergePatch = (body: JsonObject) => ({ contentType: "application/merge-patch+json", body });
  await act(create("web"));
  return {
    core,
    generator,
    startGenerator,
    kind,
    type,
    nameOf,
    /** The finalizer is there, where the kind has one at all. */
    isGuarded: (name = "web") => hasFinalizer(engine.find(type, "default", name)) === !kind.isNeverWritten,
    create: (name: string) => act(create(name)),
    /** Of the source alone. */
    createAgain: () => act(engine.create(type, "default", sampleBody(sample, "web"))),
    patch: (body: JsonObject) => act(engine.patch(type, "default", "web", mergePatch(body))),
    scale: (replicas: number) => {
      const scaled = sample.isAboutDeployment ? builtInResources.deployments : type;
      return act(engine.patch(scaled, "default", "web", mergePatch({ spec: { replicas } })));
    },
    /** Of the names of overrides. */
    annotate: (values: Readonly<Record<string, string | null>>) => {
      const entries = Object.entries(values).map(([name, value]) => [`${apiGroup}/${name}`, value]);
      const body = { metadata: { annotations: Object.fromEntries(entries) } };
      return act(engine.patch(type, "default", "web", mergePatch(body)));
    },
    delete: (name = "web") => act(engine.delete(type, "default", name)),
    erase: async () => {
      // Of a kind without finalizers, whoever watches cannot tell it from a deletion.
      if (kind.isNeverWritten) generator.client.dropWatches();
      engine.wipe(type);
      engine.forgetHistory();
      await clock.advance(30 * secondMs);
    },
    source: (name = "web") => engine.find(type, "default", name),
    floor: (name = "web") => {
      const protector = core.protector(nameOf(name));
      return isInForce(protector) ? protector?.spec?.["minAvailable"] : undefined;
    },
    protector: () => core.protector(nameOf("web")),
  };
}

test("there is a sample of every kind of source that is built in", () => {
  assert.deepEqual(
    sourceSamples.map(({ id }) => id),
    sourceIDs,
  );
});

for (const sample of sourceSamples) {
  describe(sample.id, () => {
    test("a source gets its finalizer and a PodProtector that leads back to it", async () => {
      const { generator, kind, isGuarded, source, protector, floor } = await start(sample);
      assert.ok(isGuarded() && hasFinalizer(protector()));
      assert.equal(floor(), sample.floor);
      const { apiVersion } = kind;
      const owner = { apiVersion, kind: kind.kind, name: "web", uid: source()?.metadata.uid, controller: true };
      assert.deepEqual(protector()?.metadata.ownerReferences, [owner]);
      assert.deepEqual(protector()?.spec?.["selector"], { matchLabels: { app: "web" } });
      assert.equal(protector()?.metadata.annotations?.[annotations.generated], "true");
      assert.deepEqual(generator.errors(), []);
      await generator.stop();
    });

    test("the floor follows replicas up and down, to zero and back", async () => {
      const { generator, scale, floor } = await start(sample);
      const floors: unknown[] = [];
      for (const replicas of [20, 10, 0, 10]) {
        await scale(replicas);
        floors.push(floor());
      }
      assert.ok(Number(floors[0]) > sample.floor);
      assert.deepEqual(floors.slice(1), [sample.floor, 0, sample.floor]);
      await generator.stop();
    });

    test("the floor follows the strategy, where there is one, and minReadySeconds is taken over", async () => {
      const { generator, patch, floor, protector } = await start(sample);
      await patch({ spec: { paused: true, ...sample.strategy?.spec } });
      if (sample.readyAfter !== undefined) await patch({ spec: sample.readyAfter(7) });
      assert.equal(floor(), sample.strategy?.floor ?? sample.floor);
      assert.equal(protector()?.spec?.["minReadySeconds"], sample.readyAfter === undefined ? 0 : 7);
      await generator.stop();
    });

    test("a source that is deleted takes its PodProtector with it, and keeps no finalizer", async () => {
      const { generator, delete: remove, source, protector } = await start(sample);
      await remove();
      assert.deepEqual([source(), protector()], [undefined, undefined]);
      assert.deepEqual(generator.errors(), []);
      await generator.stop();
    });

    test("a source that is erased leaves its PodProtector in force, and takes it again when it is back", async () => {
      const { generator, kind, createAgain, isGuarded, erase, source, floor, protector, core } = await start(sample);
      await erase();
      assert.equal(floor(), sample.floor);
      assert.match(JSON.stringify(core.events()), new RegExp(`The source ${kind.kind} vanished`));
      await createAgain();
      assert.ok(isGuarded());
      assert.deepEqual(
        protector()?.metadata.ownerReferences?.map(({ uid }) => uid),
        [source()?.metadata.uid],
      );
      await generator.stop();
    });

    test("a PodProtector that is erased is made again, with its source and without", async () => {
      const { generator, core, erase, floor } = await start(sample);
      core.eraseProtectors();
      await core.clock.advance(3 * secondMs);
      assert.equal(floor(), sample.floor);
      core.eraseProtectors();
      await erase();
      assert.equal(floor(), sample.floor);
      await generator.stop();
    });

    test("a source that is opted out is let go, and protected again when it is opted in", async () => {
      const { generator, patch, source, protector, floor } = await start(sample);
      await patch({ metadata: { labels: { guard: "no" } } });
      assert.ok(protector() === undefined && !hasFinalizer(source()));
      await patch({ metadata: { labels: { guard: null } } });
      assert.equal(floor(), sample.floor);
      await generator.stop();
    });

    test("overrides replace what is derived, and go with the annotations; what people have tuned stays", async () => {
      const { generator, core, nameOf, annotate, protector, floor } = await start(sample);
      await core.patchProtector(nameOf("web"), { spec: { admissionHistoryConfig: { compactThreshold: 50 } } });
      const own = { "min-ready-seconds": "9", "health-criterion": "Running", "max-concurrent-lag": "3" };
      await annotate({ "min-available": "95%", ...own });
      const { minReadySeconds, healthCriterion, admissionHistoryConfig } = protector()?.spec ?? {};
      assert.deepEqual([floor(), minReadySeconds, healthCriterion], [10, 9, "Running"]);
      assert.deepEqual(admissionHistoryConfig, { compactThreshold: 50, maxConcurrentLag: 3 });
      await core.patchProtector(nameOf("web"), { spec: { healthCriterion: "Ready", minAvailable: 0 } });
      await core.clock.advance(3 * secondMs);
      assert.deepEqual([floor(), protector()?.spec?.["healthCriterion"]], [10, "Running"]);
      await annotate({ "min-available": null, "max-unavailable": "40%" });
      assert.equal(floor(), 6);
      const gone = Object.fromEntries([...Object.keys(own), "max-unavailable"].map((name) => [name, null]));
      await annotate(gone);
      const selector = { matchLabels: { app: "web" } };
      const derived = { minAvailable: sample.floor, minReadySeconds: 0, selector };
      assert.deepEqual(protector()?.spec, { ...derived, admissionHistoryConfig: { compactThreshold: 50 } });
      assert.equal(protector()?.metadata.annotations?.[annotations.overridden], undefined);
      await generator.stop();
    });

    test("an override above the replicas is held at these, so that scaling down passes", async () => {
      const { generator, annotate, scale, floor } = await start(sample);
      await annotate({ "min-available": "12" });
      assert.equal(floor(), 10);
      await scale(4);
      assert.equal(floor(), 4);
      assert.equal(generator.sources().undrainable, 1);
      await generator.stop();
    });

    test("an override that cannot be read is told, and what is derived holds", async () => {
      const { generator, core, kind, annotate, floor } = await start(sample);
      for (const wrong of ["-1", "x", "101%", "", "0.5", "1e3", "3 "]) {
        await annotate({ "min-available": wrong });
        assert.equal(floor(), sample.floor, wrong);
      }
      await annotate({ "min-available": "0", "max-unavailable": "100%" });
      assert.equal(floor(), sample.floor);
      await core.clock.advance(10 * secondMs);
      const warnings = core.events().filter((event) => event["reason"] === "AnnotationIgnored");
      assert.match(JSON.stringify(warnings), /only one of them may be there/);
      assert.equal((warnings[0]!["involvedObject"] as JsonObject)["kind"], kind.kind);
      assert.equal(generator.gauge("generator_ignored_override_sources"), 1);
      await annotate({ "min-available": null, "max-unavailable": null });
      await core.clock.advance(10 * secondMs);
      assert.equal(generator.gauge("generator_ignored_override_sources"), 0);
      await generator.stop();
    });

    test("a source that is opted out by annotation is let go, and protected again without it", async () => {
      const { generator, annotate, source, protector, floor } = await start(sample);
      await annotate({ protect: "false" });
      assert.ok(protector() === undefined && !hasFinalizer(source()));
      await annotate({ protect: null });
      assert.equal(floor(), sample.floor);
      await generator.stop();
    });

    test("drift is repaired, also what happened while no generator ran", async () => {
      const { generator, startGenerator, core, nameOf, protector } = await start(sample);
      const before = protector()!;
      const drift = { metadata: { labels: null, finalizers: null, ownerReferences: null }, spec: { minAvailable: 1 } };
      await core.patchProtector(nameOf("web"), { ...drift, metadata: { ...drift.metadata, finalizers: [finalizer] } });
      await core.clock.advance(secondMs);
      assert.deepEqual(protector()?.metadata.labels, before.metadata.labels);
      assert.deepEqual(protector()?.spec, before.spec);
      await generator.stop();
      await core.patchProtector(nameOf("web"), { metadata: { ownerReferences: null }, spec: { minAvailable: 99 } });
      const next = startGenerator();
      await next.ready();
      assert.deepEqual(protector()?.metadata.ownerReferences, before.metadata.ownerReferences);
      assert.deepEqual(protector()?.spec, before.spec);
      await next.stop();
    });

    test("a source that is made anew under another name has another PodProtector", async () => {
      const { generator, create, delete: remove, floor } = await start(sample);
      await create("web-2");
      await remove();
      assert.deepEqual([floor(), floor("web-2")], [undefined, sample.floor]);
      await generator.stop();
    });

    test("long names that differ only at their end have a PodProtector each, and it ends with its own", async () => {
      const { generator, create, delete: remove, floor, nameOf } = await start(sample);
      const [one, two] = ["a", "b"].map((end) => `${"w".repeat(252)}${end}`) as [string, string];
      await create(one);
      await create(two);
      assert.ok(nameOf(one).length <= 253 && nameOf(one) !== nameOf(two));
      assert.deepEqual([floor(one), floor(two)], [sample.floor, sample.floor]);
      await remove(one);
      assert.deepEqual([floor(one), floor(two)], [undefined, sample.floor]);
      assert.deepEqual(generator.errors(), []);
      await generator.stop();
    });

    test("somebody else's PodProtector under the name stays, and people are told what is not protected", async () => {
      const { generator, core, kind, create, nameOf, source, floor } = await start(sample);
      await core.createProtector(nameOf("taken"));
      await create("taken");
      assert.equal(floor("taken"), 3);
      assert.ok(!hasFinalizer(source("taken")));
      assert.match(JSON.stringify(core.events()), new RegExp(`This ${kind.kind} is not protected`));
      assert.equal(generator.sources().unprotectable.get("ForeignPodProtector"), 1);
      await core.deleteProtector(nameOf("taken"));
      await core.clock.advance(3 * secondMs);
      assert.equal(floor("taken"), sample.floor);
      await generator.stop();
    });

    test("many sources all get their PodProtectors, and an unchanged one costs a new leader nothing", async () => {
      const { generator, startGenerator, core, type, floor } = await start(sample);
      const names = Array.from({ length: manyCount }, (_, index) => `many-${index}`);
      for (const name of names) {
        await prepareSample(sample, core.engine, name);
        await core.engine.create(type, "default", sampleBody(sample, name));
      }
      await core.clock.advance(60 * secondMs);
      assert.ok(names.every((name) => floor(name) === sample.floor));
      await generator.stop();
      const next = startGenerator();
      await next.ready();
      await core.clock.advance(30 * secondMs);
      assert.deepEqual(next.client.writes, []);
      assert.equal(next.client.count(new RegExp(`GET .*/${type.resource}/`)), 0);
      await next.stop();
    });
  });
}
