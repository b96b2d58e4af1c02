import assert from "node:assert/strict";
import { test } from "node:test";
import { objectKey } from "../../../../src/api/object-key.ts";
import { SourceCaches } from "../../../../src/generator/sources/source-caches.ts";
import { protectorNameOf } from "../../../../src/generator/sources/source-plan.ts";
import { KubeError } from "../../../../src/kube/kube-client.ts";
import { createInformer } from "../../../../src/kube/watch/index.ts";
import { cloneSets } from "../../../../src/sources/clone-set.ts";
import { deployments } from "../../../../src/sources/deployment.ts";
import { readSource } from "../../../../src/sources/read-source.ts";
import { rollouts } from "../../../../src/sources/rollout.ts";
import { type SourceKind } from "../../../../src/sources/source.ts";
import { statefulSets } from "../../../../src/sources/stateful-set.ts";
import { createSeededRng } from "../../../support/seeded-rng.ts";
import { sourceCrd } from "../../../support/source-crds.ts";
import { EngineClient } from "../../../support/engine-client.ts";
import { builtInResources } from "../../../double/index.ts";
import { createCountingMetrics } from "../../kube/counting-metrics.ts";
import { createRecordingLogger } from "../../observability/recording-logger.ts";
import { createCore } from "../core-cluster.ts";

const secondMs = 1_000;
const notFound = new KubeError("notFound", "404 the server could not find the requested resource");
const forbidden = new KubeError("forbidden", "403 Forbidden");
const broken = new KubeError("serverError", "500 conversion webhook failed");

/** Caches of two kinds in a core with a Deployment and a StatefulSet. `refuse`: what lists and watches are answered. */
async function bench(kinds: readonly SourceKind[] = [deployments, statefulSets]) {
  const core = await createCore();
  const { clock, engine } = core;
  const client = new EngineClient("core", engine);
  const refusals = new Map<string, KubeError>();
  client.onRequest = (_, what) => refusals.get(what.split("/").at(-1) ?? "");
  const logger = createRecordingLogger();
  const common = { client, clock, rng: createSeededRng(1), logger, metrics: createCountingMetrics() };
  const informers = new Map(
    kinds.map((kind) => {
      const decode = (raw: unknown) => readSource(kind, raw);
      return [kind, createInformer({ ...common, resource: kind.resource, decode, name: kind.id })];
    }),
  );
  const caches = new SourceCaches({ informers, clock, logger });
  const events: string[] = [];
  caches.subscribe(({ id }) => ({ onEvent: ({ type, object }) => void events.push(`${id} ${type} ${object.name}`) }));
  let known = 0;
  caches.onKnown(() => void known++);
  await core.createDeployment("web");
  const selector = { matchLabels: { app: "db" } };
  await engine.create(builtInResources.statefulSets, "default", {
    apiVersion: "apps/v1",
    kind: "StatefulSet",
    metadata: { name: "db", namespace: "default" },
    spec: { replicas: 3, selector, template: { metadata: { labels: { app: "db" } } } },
  });
  const life = new AbortController();
  let isReady = false;
  const ready = caches.ready(life.signal).then(() => (isReady = true));
  const running: Promise<unknown>[] = [ready];
  return {
    core,
    caches,
    events,
    known: () => known,
    isReady: () => isReady,
    problems: () => kinds.map((kind) => caches.problemOf(kind)),
    errors: () => logger.entries.filter(({ level }) => level === "error").map(({ message }) => message),
    refuse: (kind: SourceKind, error: KubeError | undefined): void => {
      if (error === undefined) refusals.delete(kind.resource.resource);
      else refusals.set(kind.resource.resource, error);
      client.dropWatches();
    },
    run: async (): Promise<void> => {
      running.push(caches.run(life.signal));
      await clock.advance(secondMs);
    },
    stop: async (): Promise<void> => {
      life.abort();
      await clock.advance(0);
      await Promise.all(running);
    },
  };
}
const web = objectKey("default", "deployment-web");
const db = objectKey("default", "statefulset-db");

test("sources of all kinds are found by the keys of their PodProtectors, also where names are shortened", async () => {
  const { core, caches, events, run, isReady, problems, stop } = await bench();
  assert.ok(!isReady());
  assert.deepEqual(problems(), ["Deployments have not been listed yet", "StatefulSets have not been listed yet"]);
  await run();
  assert.ok(isReady());
  assert.deepEqual(problems(), [undefined, undefined]);
  assert.deepEqual([caches.get(web)?.name, caches.get(db)?.kind], ["web", statefulSets]);
  const long = "w".repeat(250);
  await core.createDeployment(long);
  await core.clock.advance(secondMs);
  assert.equal(caches.get(objectKey("default", protectorNameOf(deployments, long)))?.name, long);
  await core.deleteDeployment("web");
  await core.clock.advance(secondMs);
  assert.equal(caches.get(web), undefined);
  assert.equal([...caches.keys()].length, 2);
  assert.deepEqual(events.slice(-2), [`deployments.apps added ${long}`, "deployments.apps deleted web"]);
  await stop();
});

test("a PodProtector leads back to kinds that are worked for, and is told apart from those of others", async () => {
  const { core, caches, stop } = await bench([deployments]);
  const finalizers = ["podseidon.kubewharf.io/generator"];
  const metadata = (name: string) => ({ name, namespace: "default", uid: "p", resourceVersion: "1", finalizers });
  const protector = (name: string) => ({ ...core, metadata: metadata(name) }) as never;
  assert.equal(caches.refOf(protector("deployment-web"))?.name, "web");
  assert.equal(caches.refOf(protector("statefulset-db")), undefined);
  const stored = ["deployment-web", "statefulset-db", "mine"].map((name) => ({ protector: protector(name) }));
  assert.equal(caches.countIgnored(stored), 1);
  await stop();
});

for (const [what, refusal] of [
  ["not served", notFound],
  ["forbidden", forbidden],
] as const) {
  test(`a kind that is ${what} keeps nobody waiting, is told of once, and is known when that has ended`, async () => {
    const { core, caches, refuse, run, isReady, problems, known, errors, stop } = await bench();
    refuse(statefulSets, refusal);
    await run();
    assert.ok(isReady());
    assert.deepEqual(problems(), [undefined, undefined]);
    await core.clock.advance(600 * secondMs);
    assert.deepEqual(
      caches.kinds().map(({ isKnown }) => isKnown),
      [true, false],
    );
    assert.deepEqual(
      errors().map((message) => message.slice(0, 30)),
      ["Cannot watch a kind of sources"],
    );
    assert.equal(known(), 1);
    refuse(statefulSets, undefined);
    await core.clock.advance(60 * secondMs);
    assert.ok(caches.isKnown(statefulSets));
    assert.equal(caches.get(db)?.name, "db");
    assert.equal(known(), 2);
    await stop();
  });
}

test("where only custom resources are named and none is served, an error names them, and nobody waits", async () => {
  const kinds = [cloneSets, rollouts];
  const { core, run, isReady, problems, known, errors, stop } = await bench(kinds);
  await run();
  assert.ok(isReady());
  assert.deepEqual(problems(), [undefined, undefined]);
  const none = errors().filter((message) => message.startsWith("None of --generator-sources is served"));
  assert.equal(none.length, 1);
  assert.match(none.join(), /: clonesets\.apps\.kruise\.io, rollouts\.argoproj\.io\./);
  assert.equal(known(), 0);
  await core.engine.installCrd(sourceCrd("rollouts.yaml"));
  await core.clock.advance(120 * secondMs);
  assert.equal(known(), 1);
  await stop();
});

test("while no kind is there that every core has the generator waits for one, and says why", async () => {
  const { core, refuse, run, isReady, problems, stop } = await bench();
  refuse(statefulSets, notFound);
  refuse(deployments, forbidden);
  await run();
  await core.clock.advance(600 * secondMs);
  assert.ok(!isReady());
  assert.match(problems().join("\n"), /Deployments have not been listed yet: .*403.*\nStatefulSets .*404/);
  refuse(deployments, undefined);
  await core.clock.advance(60 * secondMs);
  assert.ok(isReady());
  await stop();
});

test("a kind that fails otherwise is waited for, but not for ever", async () => {
  const { core, caches, refuse, run, isReady, problems, stop } = await bench();
  refuse(statefulSets, broken);
  await run();
  await core.clock.advance(50 * secondMs);
  assert.ok(!isReady());
  assert.match(problems().join(), /StatefulSets have not been listed yet: .*500/);
  await core.clock.advance(20 * secondMs);
  assert.ok(isReady());
  assert.deepEqual(problems(), [undefined, undefined]);
  assert.ok(!caches.isKnown(statefulSets));
  await stop();
});

test("a resource that disappears keeps its objects, but is not known; one that is forbidden later is", async () => {
  const { core, caches, refuse, run, events, stop } = await bench();
  await run();
  refuse(statefulSets, notFound);
  refuse(deployments, forbidden);
  await core.clock.advance(60 * secondMs);
  assert.ok(!caches.isKnown(statefulSets));
  assert.equal(caches.get(db)?.name, "db");
  assert.ok(caches.isKnown(deployments));
  assert.ok(!events.some((event) => event.includes("deleted")));
  await stop();
});

test("whoever waits is let go when the process stops", async () => {
  const { refuse, run, isReady, stop } = await bench();
  refuse(deployments, notFound);
  refuse(statefulSets, notFound);
  await run();
  await stop();
  assert.ok(isReady());
});
