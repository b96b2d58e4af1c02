import assert from "node:assert/strict";
import { test } from "node:test";
import { digestOfUID } from "../../../../src/accounting/history/uid-digest.ts";
import { annotations } from "../../../../src/api/v1alpha1/names.ts";
import { KubeError } from "../../../../src/kube/kube-client.ts";
import { type Core, type GeneratorProcess, hasFinalizer, isInForce, startLeading } from "../core-cluster.ts";

const secondMs = 1_000;
const name = "deployment-web";
const creation = /^POST .*\/podprotectors$/;

/** A core with the protector of a Deployment, and a generator that leads. */
async function start(
  options: Parameters<Core["startGenerator"]>[1] = {},
): Promise<{ core: Core; generator: GeneratorProcess; uid: string }> {
  const { core, generator } = await startLeading({}, options);
  await core.createDeployment("web");
  await core.clock.advance(secondMs);
  const uid = core.protector(name)!.metadata.uid;
  generator.client.log.length = 0;
  return { core, generator, uid };
}

function reasonsOf(core: Core): readonly string[] {
  return core
    .events()
    .map((event) => String(event["reason"]))
    .toSorted();
}

/** All storage of the core is lost. */
function wipe(core: Core): void {
  core.eraseProtectors();
  core.eraseDeployments();
}

/** What happens next is only seen as absence in a list. */
async function hideFromWatches(generator: GeneratorProcess, happening: () => unknown): Promise<void> {
  generator.client.lagMs = 30 * secondMs;
  await happening();
  let isLost = true;
  generator.client.onRequest = (_, what) => {
    if (!isLost || !what.startsWith("WATCH") || !what.endsWith("podprotectors")) return undefined;
    isLost = false;
    generator.client.lagMs = 0;
    return new KubeError("gone", "410 Expired");
  };
  generator.client.dropWatches();
}

test("a protector that vanishes with its Deployment is made again, dangling and without an owner", async () => {
  for (const isListed of [false, true]) {
    const { core, generator, uid } = await start();
    await core.patchProtector(name, {
      metadata: { labels: { team: "shop" }, annotations: { note: "b" } },
      spec: { admissionHistoryConfig: { compactThreshold: 7 } },
    });
    await core.clock.advance(secondMs);
    const former = core.protector(name)!;
    if (isListed) await hideFromWatches(generator, () => wipe(core));
    else wipe(core);
    await core.clock.advance(60 * secondMs);
    const made = core.protector(name);
    assert.ok(isInForce(made) && hasFinalizer(made));
    assert.notEqual(made?.metadata.uid, uid);
    assert.deepEqual(made?.spec, former.spec);
    assert.deepEqual(made?.metadata.labels, former.metadata.labels);
    assert.deepEqual(made?.metadata.annotations, { [annotations.generated]: "true", note: "b" });
    assert.equal(made?.metadata.ownerReferences, undefined, "the garbage collector would delete it");
    assert.deepEqual(reasonsOf(core), ["Dangling", "Recreated"]);
    assert.equal(generator.actions("Recreate"), 1);
    assert.equal(generator.troubles().vanished, 0);
    await generator.stop();
  }
});

test("a protector that was made again is made again when it vanishes once more", async () => {
  const { core, generator } = await start();
  wipe(core);
  await core.clock.advance(secondMs);
  core.eraseProtectors();
  await core.clock.advance(secondMs);
  assert.ok(isInForce(core.protector(name)));
  assert.equal(generator.actions("Recreate"), 2);
  const reborn = await core.createDeployment("web", { replicas: 100 });
  await core.clock.advance(secondMs);
  assert.equal(core.protector(name)?.spec?.["minAvailable"], 75);
  assert.equal(core.protector(name)?.metadata.ownerReferences?.[0]?.uid, reborn.metadata.uid);
});

test("a protector that vanishes while its Deployment stays is made again with what people had tuned", async () => {
  const { core } = await start();
  await core.patchProtector(name, { spec: { admissionHistoryConfig: { compactThreshold: 7 } } });
  await core.clock.advance(secondMs);
  core.eraseProtectors();
  await core.patchDeployment("web", { spec: { replicas: 100 } });
  await core.clock.advance(secondMs);
  const made = core.protector(name);
  assert.equal(made?.spec?.["minAvailable"], 75);
  assert.deepEqual(made?.spec?.["admissionHistoryConfig"], { compactThreshold: 7 });
  assert.equal(made?.metadata.ownerReferences?.length, 1);
});

/** What happens is seen in a list of Deployments, while the watch of PodProtectors does not come back. */
async function hideFromProtectorWatch(generator: GeneratorProcess, happening: () => unknown): Promise<void> {
  let isExpired = true;
  generator.client.onRequest = (_, what) => {
    if (what.endsWith("/podprotectors") && !what.startsWith("POST")) return new KubeError("network", "ECONNREFUSED");
    if (!isExpired || !what.startsWith("WATCH") || !what.endsWith("/deployments")) return undefined;
    isExpired = false;
    return new KubeError("gone", "410 Expired");
  };
  generator.client.dropWatches();
  await happening();
}

test("one that is made again before its loss was watched has what people had tuned, and the loss is told", async () => {
  const { core, generator, uid } = await start();
  await core.patchProtector(name, { metadata: { annotations: { note: "b" } } });
  await core.clock.advance(secondMs);
  await hideFromProtectorWatch(generator, async () => {
    core.eraseProtectors();
    await core.patchDeployment("web", { spec: { replicas: 100 } });
  });
  await core.clock.advance(10 * secondMs);
  const made = core.protector(name);
  assert.notEqual(made?.metadata.uid, uid);
  assert.equal(made?.spec?.["minAvailable"], 75);
  assert.equal(made?.metadata.annotations?.["note"], "b");
  assert.deepEqual(reasonsOf(core), ["Recreated"]);
});

test("floors that sink as their protectors are lost are a mass change, also before the loss was watched", async () => {
  const { core, generator } = await start({ massChanges: { policy: "hold", allow: [] } });
  const names = Array.from({ length: 60 }, (_, index) => `many-${index}`);
  for (const one of names) await core.createDeployment(one);
  await core.clock.advance(60 * secondMs);
  const floors = (): readonly unknown[] =>
    names.map((one) => core.protector(`deployment-${one}`)?.spec?.["minAvailable"]);
  const before = floors();
  await hideFromProtectorWatch(generator, async () => {
    core.eraseProtectors();
    for (const one of names) await core.patchDeployment(one, { spec: { replicas: 0 } });
  });
  await core.clock.advance(25 * secondMs);
  assert.deepEqual(floors(), before);
});

test("a protector whose mark of release nobody saw is not made again, since it is in the list", async () => {
  const { core, generator, uid } = await start();
  const standby = core.startGenerator({}, { standby: true });
  await standby.ready();
  await hideFromWatches(standby, async () => {
    await core.deleteDeployment("web");
    await core.clock.advance(secondMs);
  });
  await core.clock.advance(secondMs);
  assert.equal(core.protector(name), undefined);
  assert.deepEqual(
    core.state().releases.map(({ digest, cause }) => [digest, cause]),
    [[digestOfUID(uid), "deleted in default"]],
  );
  await generator.stop();
  await standby.lead();
  await core.clock.advance(60 * secondMs);
  assert.equal(core.protector(name), undefined);
  assert.equal(standby.client.count(creation), 0);
});

test("a standby forgets within a minute what was released, also when it leads only after the list has", async () => {
  const { core, generator } = await start();
  const standby = core.startGenerator({}, { standby: true });
  await standby.ready();
  await hideFromWatches(standby, async () => {
    await core.deleteDeployment("web");
    await core.clock.advance(secondMs);
  });
  await core.clock.advance(7_200 * secondMs);
  await generator.stop();
  await standby.lead();
  await core.clock.advance(60 * secondMs);
  assert.equal(core.protector(name), undefined);
});

test("a standby that takes over in a wiped core makes again what it has watched", async () => {
  const { core, generator } = await start();
  const standby = core.startGenerator({}, { standby: true });
  await standby.ready();
  generator.kill();
  wipe(core);
  await core.clock.advance(60 * secondMs);
  assert.equal(core.protector(name), undefined);
  await standby.lead();
  await core.clock.advance(secondMs);
  assert.ok(isInForce(core.protector(name)));
});

test("a dangling protector that a person deletes and strips of its finalizer is gone for good", async () => {
  const { core, generator } = await start();
  core.eraseDeployments();
  await core.writeDangling(name);
  await core.clock.advance(secondMs);
  await core.deleteProtector(name);
  await core.patchProtector(name, { metadata: { finalizers: null } });
  await core.clock.advance(60 * secondMs);
  assert.equal(core.protector(name), undefined);
  assert.equal(generator.troubles().vanished, 0);
});

test("a protector whose UID a person has put into the ConfigMap is not made again", async () => {
  const { core, generator, uid } = await start();
  await core.letGo(uid);
  wipe(core);
  await core.clock.advance(60 * secondMs);
  assert.equal(core.protector(name), undefined);
  assert.equal(generator.client.count(creation), 0);
});

test("a Deployment that is deleted while its protector is absent puts that into the list of releases", async () => {
  const { core, generator, uid } = await start();
  generator.client.onRequest = (_, what) => (creation.test(what) ? new KubeError("forbidden", "403") : undefined);
  core.eraseProtectors();
  await core.clock.advance(secondMs);
  await core.deleteDeployment("web");
  await core.clock.advance(60 * secondMs);
  assert.equal(core.deployment("web"), undefined);
  assert.deepEqual(
    core.state().releases.map(({ digest }) => digest),
    [digestOfUID(uid)],
  );
  generator.client.onRequest = () => undefined;
  await core.clock.advance(60 * secondMs);
  assert.equal(core.protector(name), undefined);
  assert.equal(generator.troubles().vanished, 0);
});

test("while nothing can be created it is tried at a trickle, and all is made again as soon as it can", async () => {
  for (const kind of ["notFound", "forbidden"] as const) {
    const { core, generator } = await start();
    const names = Array.from({ length: 30 }, (_, index) => `w${index}`);
    for (const one of names) await core.createDeployment(one);
    await core.clock.advance(10 * secondMs);
    generator.client.log.length = 0;
    generator.client.onRequest = (_, what) => (creation.test(what) ? new KubeError(kind, "no namespace") : undefined);
    wipe(core);
    await core.clock.advance(3_600 * secondMs);
    assert.equal(generator.troubles().vanished, 31);
    const tries = generator.client.count(creation);
    assert.ok(tries < 31 * 100, `${tries} tries in an hour`);
    generator.client.onRequest = () => undefined;
    await core.clock.advance(20 * secondMs);
    for (const one of names) assert.ok(isInForce(core.protector(`deployment-${one}`)), one);
    assert.equal(generator.troubles().vanished, 0);
    await generator.stop();
  }
});

test("hundreds that cannot be made again do not keep the core busy, and the log says it once", async () => {
  const { core, generator } = await start();
  for (let index = 0; index < 300; index++) await core.createDeployment(`w${index}`);
  await core.clock.advance(60 * secondMs);
  generator.client.onRequest = (_, what) =>
    creation.test(what) ? new KubeError("notFound", "no namespace") : undefined;
  wipe(core);
  await core.clock.advance(600 * secondMs);
  assert.equal(generator.errors().length, 1);
  generator.client.log.length = 0;
  await core.clock.advance(600 * secondMs);
  assert.ok(generator.client.log.length < 1_500, `${generator.client.log.length} requests in ten minutes`);
});

test("while the list of releases cannot be read nothing is made again; without the right all is", async () => {
  for (const kind of ["serverError", "forbidden"] as const) {
    const { core, generator } = await start();
    let isBroken = true;
    generator.client.onRequest = (_, what) =>
      isBroken && what.includes("/configmaps/") ? new KubeError(kind, "scripted") : undefined;
    wipe(core);
    await core.clock.advance(60 * secondMs);
    assert.equal(isInForce(core.protector(name)), kind === "forbidden");
    isBroken = false;
    await core.clock.advance(60 * secondMs);
    assert.ok(isInForce(core.protector(name)));
    await generator.stop();
  }
});

test("an object of others that takes the name stays, and the protector is made again when it goes", async () => {
  const { core, generator } = await start();
  generator.client.onRequest = (_, what) => (creation.test(what) ? new KubeError("serverError", "503") : undefined);
  wipe(core);
  await core.clock.advance(secondMs);
  const theirs = await core.createProtector(name);
  generator.client.onRequest = () => undefined;
  await core.clock.advance(60 * secondMs);
  assert.deepEqual(core.protector(name), theirs);
  await core.deleteProtector(name);
  await core.clock.advance(60 * secondMs);
  assert.equal(core.protector(name)?.metadata.annotations?.[annotations.generated], "true");
});

test("a dangling protector that goes with its CRD is made again as soon as the CRD is back", async () => {
  const { core, generator } = await start();
  core.eraseDeployments();
  await core.writeDangling(name);
  await core.clock.advance(secondMs);
  const request = generator.client.request.bind(generator.client);
  const deletionTimestamp = new Date(core.clock.epochMicros() / 1_000).toISOString();
  let isLost = true;
  let definition: object = { uid: "crd-1", deletionTimestamp };
  generator.client.request = async (asked) => {
    if (asked.path.includes("customresourcedefinitions")) return { metadata: definition };
    if (!isLost || !asked.path.includes("podprotectors")) return await request(asked);
    if (asked.method === "POST") throw new KubeError("forbidden", "create not allowed while CRD is terminating");
    return await request(asked);
  };
  await core.clock.advance(15 * secondMs);
  await core.deleteProtector(name);
  await core.patchProtector(name, { metadata: { finalizers: null } });
  await core.clock.advance(600 * secondMs);
  assert.equal(core.protector(name), undefined);
  assert.deepEqual([generator.troubles().isCrdLost, generator.troubles().vanished], [true, 1]);
  isLost = false;
  definition = { uid: "crd-2", creationTimestamp: new Date(core.clock.epochMicros() / 1_000).toISOString() };
  await core.clock.advance(15 * secondMs);
  const made = core.protector(name);
  assert.ok(isInForce(made) && hasFinalizer(made));
  assert.equal(made?.metadata.deletionTimestamp, undefined);
});

test("one that the garbage collector deletes for its vanished owner is made again when the core loses it", async () => {
  const { core, generator } = await start();
  core.eraseDeployments();
  await core.deleteProtector(name);
  await core.clock.advance(secondMs);
  assert.ok(core.protector(name)?.metadata.deletionTimestamp !== undefined, "its finalizer keeps it");
  core.eraseProtectors();
  await core.clock.advance(60 * secondMs);
  assert.ok(isInForce(core.protector(name)));
  assert.equal(generator.troubles().vanished, 0);
});

test("a dangling one that was being deleted is made again in a wiped core, whose CRD is another one", async () => {
  const { core, generator } = await start();
  core.eraseDeployments();
  await core.writeDangling(name);
  await core.deleteProtector(name);
  await core.clock.advance(10 * secondMs);
  const request = generator.client.request.bind(generator.client);
  const creationTimestamp = new Date(core.clock.epochMicros() / 1_000).toISOString();
  generator.client.request = async (asked) =>
    asked.path.includes("customresourcedefinitions") ? { metadata: { creationTimestamp } } : await request(asked);
  core.eraseProtectors();
  await core.clock.advance(60 * secondMs);
  assert.ok(isInForce(core.protector(name)));
});
