/** CRDs of custom kinds of sources that are missing, are being deleted, are gone, and come again. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { protectorNameOf } from "../../../src/generator/source-plan.ts";
import { sourceKindOf } from "../../../src/sources/index.ts";
import { builtInResources, type JsonObject } from "../../double/index.ts";
import { hasFinalizer, isInForce } from "./core-cluster.ts";
import { startHolding } from "./mass-changes/bursts.ts";
import { installSample, prepareSample, sampleBody, sourceSamples, type SourceSample } from "./source-samples.ts";

const secondMs = 1_000;
const minuteMs = 60_000;
const { customResourceDefinitions } = builtInResources;
const names = ["one", "two", "three"];

/** A core without the CRD, and a generator that works for Deployments and that kind, and holds mass changes. */
async function start(sample: SourceSample) {
  const bench = await startHolding({ sources: ["deployments.apps", sample.id] });
  const { engine, clock } = bench;
  const kind = sourceKindOf(sample.id);
  let type = await installSample(sample, engine);
  const crd = `${type.resource}.${type.group}`;
  await engine.delete(customResourceDefinitions, undefined, crd);
  await clock.advance(minuteMs);
  return {
    ...bench,
    crd: () => engine.find(customResourceDefinitions, undefined, crd),
    async install() {
      type = await installSample(sample, engine);
    },
    async create() {
      for (const name of names) {
        const isPrepared = engine.find(builtInResources.deployments, "default", name) !== undefined;
        if (!isPrepared) await prepareSample(sample, engine, name);
        await engine.create(type, "default", sampleBody(sample, name));
      }
      await clock.advance(2 * minuteMs);
    },
    deleteOne: (name: string) => engine.delete(type, "default", name),
    deleteCrd: () => engine.delete(customResourceDefinitions, undefined, crd),
    async letGo() {
      // What is never written had nothing that kept it.
      if (kind.isNeverWritten === true) return;
      const body: JsonObject = { metadata: { finalizers: null } };
      for (const name of names)
        await engine.patch(type, "default", name, { contentType: "application/merge-patch+json", body });
    },
    sources: () => names.map((name) => engine.find(type, "default", name)),
    floors: () =>
      names.map((name) => {
        const protector = bench.protector(protectorNameOf(kind, name));
        return isInForce(protector) ? protector?.spec?.["minAvailable"] : undefined;
      }),
  };
}

for (const sample of sourceSamples.filter(({ type }) => "crd" in type)) {
  describe(sample.id, () => {
    const { floor } = sample;
    const { kind, resource, isNeverWritten } = sourceKindOf(sample.id);

    test("while its CRD is missing other kinds are worked for, and it is as soon as the CRD is there", async () => {
      const bench = await start(sample);
      await bench.run(["web"]);
      assert.ok(isInForce(bench.protectorOf("web")));
      await bench.install();
      await bench.create();
      assert.deepEqual(bench.floors(), [floor, floor, floor]);
      await bench.generator.stop();
    });

    test("a CRD that is being deleted releases nothing, however few its objects are, until approved", async () => {
      const bench = await start(sample);
      await bench.install();
      await bench.create();
      await bench.deleteCrd();
      await bench.clock.advance(5 * minuteMs);
      const isKept = isNeverWritten !== true;
      const kept = bench.sources().filter((one) => one?.metadata.deletionTimestamp !== undefined && hasFinalizer(one));
      assert.equal(kept.length, isKept ? names.length : 0);
      assert.deepEqual(bench.floors(), [floor, floor, floor]);
      const cause = `kind/${kind}.${resource.group}`;
      assert.match(
        JSON.stringify(bench.events()),
        new RegExp(`${kind} one asks to release .* its kind is being deleted`),
      );
      assert.ok(JSON.stringify(bench.configMap()).includes(cause));
      await bench.run(["web"]);
      await bench.delete(["web"]);
      await bench.clock.advance(10 * secondMs);
      assert.equal(bench.protectorOf("web"), undefined, "others of the namespace go on");
      await bench.approve(bench.approval(cause));
      await bench.clock.advance(minuteMs);
      // Nothing has kept the CRD of what is never written. While it is gone nothing is concluded, whoever approves.
      const left = isKept ? undefined : floor;
      assert.deepEqual([...bench.floors(), bench.crd()], [left, left, left, undefined]);
      await bench.generator.stop();
    });

    test("a CRD that is gone with its objects drops nothing, also when the generator starts then", async () => {
      const bench = await start(sample);
      await bench.install();
      await bench.create();
      await bench.deleteCrd();
      await bench.clock.advance(10 * secondMs);
      await bench.letGo();
      assert.equal(bench.crd(), undefined);
      await bench.clock.advance(5 * minuteMs);
      assert.deepEqual(bench.floors(), [floor, floor, floor]);
      await bench.generator.stop();
      const next = await bench.start();
      await bench.clock.advance(5 * minuteMs);
      assert.deepEqual(bench.floors(), [floor, floor, floor]);
      await bench.install();
      await bench.create();
      assert.deepEqual(bench.floors(), [floor, floor, floor]);
      assert.ok(bench.sources().every((one) => hasFinalizer(one) === (isNeverWritten !== true)));
      await next.stop();
    });

    test("one object that a person deletes is let go as ever", async () => {
      const bench = await start(sample);
      await bench.install();
      await bench.create();
      await bench.deleteOne("one");
      await bench.clock.advance(10 * secondMs);
      assert.deepEqual(bench.floors(), [undefined, floor, floor]);
      await bench.generator.stop();
    });
  });
}
