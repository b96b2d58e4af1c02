/** A generator that works for several kinds of sources, some of which are not enabled, or not served. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { annotations, finalizer, sourceLabels } from "../../../src/api/v1alpha1/names.ts";
import { KubeError } from "../../../src/kube/kube-client.ts";
import { builtInResources, type JsonObject } from "../../double/index.ts";
import { type Core, type GeneratorProcess, hasFinalizer, isInForce, startLeading } from "./core-cluster.ts";
import { namesOf, startHolding } from "./mass-changes/bursts.ts";

const secondMs = 1_000;
const both = { sources: ["deployments.apps", "statefulsets.apps"] } as const;
const { statefulSets } = builtInResources;
const notFound = new KubeError("notFound", "404 the server could not find the requested resource");

function body(name: string, replicas = 5): JsonObject {
  const labels = { app: name };
  const template = { metadata: { labels }, spec: { containers: [{ name: "a", image: "a" }] } };
  return {
    apiVersion: "apps/v1",
    kind: "StatefulSet",
    metadata: { name, namespace: "default" },
    spec: { replicas, selector: { matchLabels: labels }, template },
  };
}

/** A core with a Deployment called web and a StatefulSet called db, and a generator that leads. */
async function start(options: Parameters<Core["startGenerator"]>[1] = both) {
  const { core, generator } = await startLeading({}, options);
  const { engine, clock } = core;
  await core.createDeployment("web");
  await engine.create(statefulSets, "default", body("db"));
  await clock.advance(secondMs);
  const patch = (name: string, change: JsonObject) =>
    engine.patch(statefulSets, "default", name, { contentType: "application/merge-patch+json", body: change });
  return {
    core,
    generator,
    patch,
    db: () => engine.find(statefulSets, "default", "db"),
    protector: () => core.protector("statefulset-db"),
    reasons: () => core.events().map((event) => String(event["reason"])),
  };
}

const refusing = (error: KubeError | undefined) => (_: unknown, what: string) =>
  what.includes("/statefulsets") ? error : undefined;

/** Whatever the process asks of StatefulSets is answered like that; undefined = as usual. */
function refuse(generator: GeneratorProcess, error: KubeError | undefined): void {
  generator.client.onRequest = refusing(error);
  generator.client.dropWatches();
}

test("a StatefulSet gets a PodProtector of its own name, which follows it to its end", async () => {
  const { core, generator, patch, db, protector } = await start();
  const { metadata, spec } = protector()!;
  assert.partialDeepStrictEqual(metadata, {
    labels: {
      [sourceLabels.name]: "db",
      [sourceLabels.group]: "apps",
      [sourceLabels.kind]: "StatefulSet",
      [sourceLabels.resource]: "statefulsets",
    },
    finalizers: [finalizer],
  });
  assert.partialDeepStrictEqual(metadata.ownerReferences, [{ apiVersion: "apps/v1", kind: "StatefulSet", name: "db" }]);
  assert.deepEqual(spec, {
    minAvailable: 4,
    minReadySeconds: 0,
    selector: { matchLabels: { app: "db" } },
    foreignOwners: ["DaemonSet.apps", "Job.batch", "Node"],
  });
  assert.ok(hasFinalizer(db()));
  await patch("db", { spec: { replicas: 9 } });
  await core.clock.advance(secondMs);
  assert.equal(protector()?.spec?.["minAvailable"], 8);
  await core.patchProtector("statefulset-db", { spec: { minAvailable: 1 } });
  await core.clock.advance(secondMs);
  assert.equal(protector()?.spec?.["minAvailable"], 8);
  await core.engine.delete(statefulSets, "default", "db");
  await core.clock.advance(3 * secondMs);
  assert.deepEqual([protector(), db()], [undefined, undefined]);
  assert.equal(generator.actions("Create", "default", "statefulsets"), 1);
  assert.equal(generator.actions("Delete", "default", "statefulsets"), 1);
  assert.equal(generator.actions("Create"), 1);
  assert.deepEqual(generator.errors(), []);
});

test("sources of one name and different kinds have a PodProtector each, and end each by itself", async () => {
  const { core } = await start();
  await core.engine.create(statefulSets, "default", body("web"));
  await core.clock.advance(secondMs);
  assert.ok(isInForce(core.protector("deployment-web")) && isInForce(core.protector("statefulset-web")));
  await core.deleteDeployment("web");
  await core.clock.advance(3 * secondMs);
  assert.equal(core.protector("deployment-web"), undefined);
  assert.ok(isInForce(core.protector("statefulset-web")));
});

test("a StatefulSet that vanishes leaves its PodProtector dangling, and people are told its kind", async () => {
  const { core, generator, protector } = await start();
  generator.writeConditions();
  core.engine.wipe(statefulSets);
  await core.clock.advance(60 * secondMs);
  assert.ok(isInForce(protector()));
  assert.match(JSON.stringify(core.events()), /The source StatefulSet vanished without being deleted/);
  assert.match(JSON.stringify(protector()?.status), /StatefulSet db vanished without being deleted/);
  await core.patchProtector("statefulset-db", { metadata: { annotations: { [annotations.released]: "true" } } });
  await core.clock.advance(3 * secondMs);
  assert.equal(protector(), undefined);
});

test("PodProtectors of a kind that is not enabled stay exactly as they are, and are counted", async () => {
  const { core, generator, patch, db, protector, reasons } = await start();
  await generator.stop();
  const next = core.startGenerator();
  await next.ready();
  next.writeConditions();
  await patch("db", { spec: { replicas: 50 } });
  await core.patchProtector("statefulset-db", { metadata: { annotations: { [annotations.released]: "true" } } });
  const before = protector();
  assert.equal(next.troubles().ignored, 1);
  await core.engine.delete(statefulSets, "default", "db");
  await core.clock.advance(120 * secondMs);
  assert.deepEqual(protector(), before);
  assert.ok(hasFinalizer(db()), "who enables the kind again finds what is to be done");
  core.engine.wipe(statefulSets);
  core.eraseProtectors();
  await core.clock.advance(120 * secondMs);
  assert.equal(protector(), undefined, "it is not made again");
  assert.ok(isInForce(core.protector("deployment-web")));
  assert.deepEqual(
    reasons().filter((reason) => reason === "Dangling"),
    [],
  );
  assert.deepEqual(next.errors(), []);
});

test("while the resource of a kind is not served nothing is dropped, and afterwards all is repaired", async () => {
  const { core, generator, protector, reasons } = await start();
  refuse(generator, notFound);
  await core.clock.advance(5 * secondMs);
  assert.deepEqual(
    generator.kinds().map(({ isKnown }) => isKnown),
    [true, false],
  );
  await core.patchProtector("statefulset-db", { spec: { minAvailable: 1 } });
  await core.createDeployment("more");
  await core.clock.advance(300 * secondMs);
  assert.ok(isInForce(protector()) && isInForce(core.protector("deployment-more")));
  assert.ok(!reasons().includes("Dangling"));
  core.eraseProtectors();
  await core.clock.advance(60 * secondMs);
  assert.ok(isInForce(protector()), "what vanishes meanwhile is made again");
  refuse(generator, undefined);
  await core.clock.advance(60 * secondMs);
  assert.equal(protector()?.spec?.["minAvailable"], 4);
  assert.partialDeepStrictEqual(protector()?.metadata.ownerReferences, [{ kind: "StatefulSet", name: "db" }]);
  assert.ok(!reasons().includes("Dangling"));
});

test("a resource that comes back without its objects leaves the PodProtectors dangling", async () => {
  const { core, generator, protector, reasons } = await start();
  refuse(generator, notFound);
  await core.clock.advance(5 * secondMs);
  core.engine.wipe(statefulSets);
  await core.clock.advance(60 * secondMs);
  assert.ok(!reasons().includes("Dangling"));
  refuse(generator, undefined);
  await core.clock.advance(60 * secondMs);
  assert.ok(isInForce(protector()));
  assert.ok(reasons().includes("Dangling"));
});

test("what is answered with 404 while the cache has it is not taken for vanished", async () => {
  const { core, generator, protector, reasons } = await start();
  generator.client.onRequest = (_, what) => (/^GET .*\/statefulsets\/db$/.test(what) ? notFound : undefined);
  await core.patchProtector("statefulset-db", { spec: { minAvailable: 1 } });
  await core.clock.advance(10 * secondMs);
  assert.ok(isInForce(protector()));
  assert.ok(!reasons().includes("Dangling"));
});

test("a generator that starts while a kind is not served works for the others, and for it later", async () => {
  const { core, generator, protector, reasons } = await start();
  await generator.stop();
  await core.engine.create(statefulSets, "default", body("more"));
  const cases = { first: notFound, second: new KubeError("forbidden", "403 Forbidden") };
  for (const [name, error] of Object.entries(cases)) {
    const next = core.startGenerator({}, { ...both, onRequest: refusing(error) });
    await next.ready();
    next.writeConditions();
    await core.createDeployment(name);
    await core.clock.advance(120 * secondMs);
    assert.ok(isInForce(core.protector(`deployment-${name}`)));
    assert.ok(isInForce(protector()) && !reasons().includes("Dangling"));
    assert.doesNotMatch(JSON.stringify(protector()?.status ?? {}), /Dangling/);
    assert.equal(next.errors().length, 1);
    await next.stop();
  }
  const last = core.startGenerator({}, { ...both, onRequest: refusing(notFound) });
  await last.ready();
  await core.clock.advance(10 * secondMs);
  assert.equal(core.protector("statefulset-more"), undefined);
  refuse(last, undefined);
  await core.clock.advance(60 * secondMs);
  assert.ok(isInForce(core.protector("statefulset-more")));
  await last.stop();
});

test("changes of all kinds are counted together, and what is held is told of with its kind", async () => {
  const bench = await startHolding(both);
  const names = namesOf("shop", 15);
  await bench.run(names);
  for (const name of names) await bench.engine.create(statefulSets, "default", body(name));
  await bench.clock.advance(2 * secondMs);
  await bench.delete(names);
  for (const name of names) await bench.engine.delete(statefulSets, "default", name);
  await bench.clock.advance(60 * secondMs);
  for (const name of names) {
    assert.ok(isInForce(bench.protector(`deployment-${name}`)));
    assert.ok(isInForce(bench.protector(`statefulset-${name}`)));
  }
  const told = JSON.stringify(bench.events());
  assert.match(told, /StatefulSet shop-1 asks to release its floor of 4/);
  assert.match(told, /Deployment shop-1 asks to release its floor of 6/);
});

test("StatefulSets that a tool scales to 0 at once are held by the manager of the field", async () => {
  const bench = await startHolding(both);
  const names = namesOf("db", 30);
  for (const name of names) await bench.engine.create(statefulSets, "default", body(name));
  await bench.clock.advance(2 * secondMs);
  const patch = { contentType: "application/merge-patch+json", body: { spec: { replicas: 0 } } };
  for (const name of names) await bench.engine.patch(statefulSets, "default", name, patch, { fieldManager: "gitops" });
  await bench.clock.advance(60 * secondMs);
  for (const name of names) assert.equal(bench.protector(`statefulset-${name}`)?.spec?.["minAvailable"], 4);
  assert.match(JSON.stringify(bench.configMap()), /manager\/gitops/);
});
