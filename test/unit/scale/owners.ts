/** A core with custom resources that own pods, and what the owners of pods are asked with. */
import { type TestContext } from "node:test";
import { type KubeObject } from "../../double/index.ts";
import { createInformer } from "../../../src/kube/watch/index.ts";
import { Discovery } from "../../../src/scale/discovery.ts";
import { type ExpectedReplicasOptions } from "../../../src/scale/expected-replicas.ts";
import { OwnerObjects, type OwnerObjectsOptions } from "../../../src/scale/owner-objects.ts";
import { ScaleMemory } from "../../../src/scale/scale-memory.ts";
import { createSeededRng } from "../../support/seeded-rng.ts";
import { EngineClient } from "../../support/engine-client.ts";
import { databaseBody, scaledCrd } from "../../double/scaled-crd.ts";
import { createCountingMetrics } from "../kube/counting-metrics.ts";
import { createRecordingLogger } from "../observability/recording-logger.ts";
import { createCore } from "../generator/core-cluster.ts";

type OwnerReference = NonNullable<KubeObject["metadata"]["ownerReferences"]>[number];

/** A reference to the controller of an object. */
export function controlledBy({ apiVersion, kind, metadata: { name, uid } }: KubeObject): readonly [OwnerReference] {
  return [{ apiVersion, kind, name, uid, controller: true }];
}

/** Its watches end with the test. */
export async function createOwners(t: TestContext, more: Pick<OwnerObjectsOptions, "onChange"> = {}) {
  const core = await createCore();
  const { engine, clock } = core;
  const databases = await engine.installCrd(scaledCrd());
  const plain = await engine.installCrd(scaledCrd({ group: "plain.example.com", hasScale: false }));
  const client = new EngineClient("core", engine);
  const logger = createRecordingLogger();
  const common = { client, clock, rng: createSeededRng(1), logger, metrics: createCountingMetrics() };
  const life = new AbortController();
  t.after(async () => {
    life.abort();
    await clock.advance(0);
  });
  const create: OwnerObjectsOptions["create"] = (resource, decode) =>
    createInformer({ ...common, resource, decode, name: resource.resource });
  const objects = new OwnerObjects({ create, clock, signal: life.signal, ...more });
  const discovery = new Discovery({ client, clock });
  const options: ExpectedReplicasOptions = { discovery, objects, memory: new ScaleMemory(client) };
  return {
    ...core,
    client,
    databases,
    plain,
    options,
    signal: life.signal,
    createDatabase: (name: string, members: number, ownerReferences: readonly OwnerReference[] = []) =>
      engine.create(databases, "default", databaseBody(name, { members }, { ownerReferences: [...ownerReferences] })),
    createPlain: (name: string, ownerReferences: readonly OwnerReference[] = []) => {
      const body = databaseBody(name, {}, { ownerReferences: [...ownerReferences] });
      return engine.create(plain, "default", { ...body, apiVersion: "plain.example.com/v1" });
    },
    /** Awaits an answer while time passes. */
    answer: async <T>(asked: Promise<T>): Promise<T> => {
      await clock.advance(15_000);
      return await asked;
    },
  };
}
