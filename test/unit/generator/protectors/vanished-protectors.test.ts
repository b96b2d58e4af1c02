import assert from "node:assert/strict";
import { test } from "node:test";
import { objectKey } from "../../../../src/api/object-key.ts";
import { annotations } from "../../../../src/api/v1alpha1/names.ts";
import { type Vanished, VanishedProtectors } from "../../../../src/generator/protectors/vanished-protectors.ts";
import { sourceOf } from "../../../../src/generator/sources/source-plan.ts";
import { KubeError } from "../../../../src/kube/kube-client.ts";
import { podProtectors, readProtector, type StoredProtector } from "../../../../src/kube/resources.ts";
import { createInformer } from "../../../../src/kube/watch/index.ts";
import { createCountingMetrics } from "../../kube/counting-metrics.ts";
import { createRecordingLogger } from "../../observability/recording-logger.ts";
import { createSeededRng } from "../../../support/seeded-rng.ts";
import { EngineClient } from "../../../support/engine-client.ts";
import { builtInResources, type JsonObject } from "../../../double/index.ts";
import { createCore, labelsFor } from "../core-cluster.ts";

const secondMs = 1_000;
const ours = { annotations: { [annotations.generated]: "true" } };
const web = objectKey("default", "deployment-web");

/** What a process watches of a core, and what it remembers. `letGo`: the UIDs in the list of releases. */
async function bench() {
  const core = await createCore();
  const client = new EngineClient("core", core.engine);
  const logger = createRecordingLogger();
  const common = { client, clock: core.clock, rng: createSeededRng(1), logger, metrics: createCountingMetrics() };
  const protectors = createInformer<StoredProtector>({
    ...common,
    resource: podProtectors,
    decode(raw) {
      const read = readProtector(raw);
      return read.ok ? read.stored : undefined;
    },
    name: "podprotectors",
  });
  const letGo = new Set<string>();
  const unknown = new Set<string>();
  const looks: string[][] = [];
  const state = { error: undefined as KubeError | undefined };
  const vanished = new VanishedProtectors({
    protectors,
    sourceOf,
    releases: {
      fateOf: async (uid) => {
        if (state.error !== undefined) throw state.error;
        return letGo.has(uid) ? "let-go" : unknown.has(uid) ? "unknown" : "lost";
      },
      keepUp: async () => {},
    },
    clock: core.clock,
    logger,
  });
  const life = new AbortController();
  const onLook = (seen: readonly Vanished[]): void => {
    looks.push(seen.map(({ stored }) => stored.key));
  };
  const running = [protectors.run(life.signal), vanished.observe(onLook, life.signal)];
  await core.clock.advance(secondMs);
  return {
    core,
    vanished,
    letGo,
    unknown,
    logger,
    looks,
    state,
    create: async (name: string, metadata: JsonObject = ours): Promise<string> => {
      const made = await core.createProtector(`deployment-${name}`, {
        metadata: { labels: labelsFor(name), ...metadata },
      });
      await core.clock.advance(1);
      return made.metadata.uid;
    },
    erase: async (): Promise<void> => {
      core.eraseProtectors();
      await core.clock.advance(1);
    },
    stop: async (): Promise<void> => {
      life.abort();
      await core.clock.advance(0);
      await Promise.all(running);
    },
  };
}

test("what vanishes unreleased is remembered with its last state and its source, until it is there again", async () => {
  const { core, vanished, create, erase, stop } = await bench();
  const uid = await create("web");
  await core.patchProtector("deployment-web", { spec: { minAvailable: 7 } });
  assert.equal(vanished.size, 0);
  await erase();
  const remembered = vanished.get(web);
  assert.equal(remembered?.source.name, "web");
  assert.equal(remembered?.stored.uid, uid);
  assert.equal(remembered?.stored.protector.spec.minAvailable, 7);
  await create("web", {});
  assert.equal(vanished.size, 0, "whoever has made it");
  await stop();
});

test("what was released, is not ours or hand-made is not remembered", async () => {
  const { core, vanished, create, erase, stop } = await bench();
  await create("released", { annotations: { ...ours.annotations, [annotations.released]: "" } });
  await create("other", {});
  await core.createProtector("mine", { metadata: ours });
  await core.clock.advance(1);
  await erase();
  assert.equal(vanished.size, 0);
  await stop();
});

test("what is let go later is forgotten soon, and the rest is told again, one of each namespace", async () => {
  const { core, vanished, letGo, looks, state, create, erase, stop } = await bench();
  const uid = await create("web");
  await create("other");
  await erase();
  state.error = new KubeError("serverError", "503");
  await core.clock.advance(15 * secondMs);
  assert.equal(vanished.size, 2, "while that is not known nothing is forgotten");
  state.error = undefined;
  letGo.add(uid);
  await core.clock.advance(15 * secondMs);
  assert.equal(vanished.size, 1);
  assert.deepEqual(looks, [["default/deployment-other"], ["default/deployment-other"]]);
  vanished.forget(objectKey("default", "deployment-other"));
  await core.clock.advance(60 * secondMs);
  assert.equal(looks.length, 2);
  await stop();
});

test("what may have been released unseen is forgotten, which the log says", async () => {
  const { core, vanished, unknown, logger, create, erase, stop } = await bench();
  unknown.add(await create("web"));
  await create("other");
  await erase();
  await core.clock.advance(15 * secondMs);
  assert.deepEqual(
    [...vanished.values()].map(({ stored }) => stored.key),
    ["default/deployment-other"],
  );
  assert.deepEqual(
    logger.entries.filter(({ level }) => level === "warn").map(({ fields }) => fields?.["podProtector"]),
    ["default/deployment-web"],
  );
  await stop();
});

test("when many namespaces have lost theirs, they take turns in the looks", async () => {
  const { core, vanished, looks, erase, stop } = await bench();
  const spec = { minAvailable: 3, minReadySeconds: 0, selector: { matchLabels: { app: "mine" } } };
  for (let index = 0; index < 150; index++) {
    const namespace = `n${index}`;
    await core.engine.create(builtInResources.namespaces, undefined, {
      apiVersion: "v1",
      kind: "Namespace",
      metadata: { name: namespace },
    });
    await core.engine.create(core.protectorType, namespace, {
      apiVersion: "podseidon.kubewharf.io/v1alpha1",
      kind: "PodProtector",
      metadata: { name: "deployment-web", namespace, labels: labelsFor("web"), ...ours },
      spec,
    });
  }
  await core.clock.advance(1);
  await erase();
  assert.equal(vanished.size, 150);
  await core.clock.advance(46 * secondMs);
  assert.deepEqual(
    looks.map(({ length }) => length),
    [100, 50, 100],
  );
  assert.equal(new Set(looks.slice(0, 2).flat()).size, 150);
  await stop();
});
