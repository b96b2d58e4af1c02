/**
 * Each step of a protector's life alone: what it writes, and that it fails when somebody changed the object since it
 * was read.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { annotations, finalizer } from "../../../../src/api/v1alpha1/names.ts";
import { planFor } from "../../../../src/generator/sources/source-plan.ts";
import { ProtectorLifecycle } from "../../../../src/generator/protectors/protector-lifecycle.ts";
import { isKubeError, type KubeErrorKind } from "../../../../src/kube/kube-client.ts";
import { type StoredProtector } from "../../../../src/kube/resources.ts";
import { deployments } from "../../../../src/sources/deployment.ts";
import { type SourceRecord } from "../../../../src/sources/source.ts";
import { silentLogger } from "../../../../src/util/logger.ts";
import { createCore, hasFinalizer, isInForce, labelsFor } from "../core-cluster.ts";
import { EngineClient } from "../../../support/engine-client.ts";

const { signal } = new AbortController();
const rule = { percentRounding: "at-least-one", singleReplica: "drainable" } as const;
const web = { kind: deployments, namespace: "default", name: "web" };
const touched = { metadata: { annotations: { touched: "yes" } } };
const sourcePath = "/apis/apps/v1/namespaces/default/deployments/web";
const protectorPath = "/apis/podseidon.kubewharf.io/v1alpha1/namespaces/default/podprotectors/deployment-web";

/** A Deployment named web, with `finalizers`, and a lifecycle in the same core. */
async function bench(finalizers: readonly string[] = []) {
  const core = await createCore();
  const client = new EngineClient("core", core.engine);
  const actions: string[] = [];
  const told: string[] = [];
  const lifecycle = new ProtectorLifecycle({
    core: client,
    onAction: (action, _, { namespace, name }) => void actions.push(`${action} ${namespace}/${name}`),
    logger: silentLogger,
    events: {
      record: (...[{ kind, name, uid }, type, reason, message]) =>
        void told.push([kind, name, uid, type, reason, message].join(" ")),
    },
  });
  await core.createDeployment("web", { metadata: { finalizers: [...finalizers] } });
  const readSource = async (): Promise<SourceRecord> => {
    const source = await lifecycle.readSource(web, signal);
    assert.ok(source !== undefined);
    return source;
  };
  const readProtector = async (): Promise<StoredProtector> => {
    const holder = await lifecycle.nameHolder(web, signal);
    assert.ok(holder.kind === "ours");
    return holder.stored;
  };
  const wanted = async () => planFor(await readSource(), rule);
  return {
    core,
    client,
    actions,
    told,
    lifecycle,
    readSource,
    readProtector,
    wanted,
    /** Runs `change` right before the write of that index, counted from 1. */
    beforeWrite: (at: number, change: () => Promise<unknown>): void => {
      let index = 0;
      client.onWrite = async () => {
        index += 1;
        if (index === at) await change();
        return undefined;
      };
    },
  };
}

/** A bench whose Deployment is guarded and has its protector; what was done so far is forgotten. */
async function protectedBench() {
  const made = await bench();
  const { lifecycle, client, actions } = made;
  assert.equal(await lifecycle.guard(await made.readSource(), false, signal), true);
  await lifecycle.create(await made.wanted(), undefined, signal);
  client.writes.length = 0;
  actions.length = 0;
  return made;
}

function ofKind(kind: KubeErrorKind): (error: unknown) => boolean {
  return (error) => isKubeError(error, kind);
}

test("guarding adds the finalizer behind those of others", async () => {
  const { core, client, lifecycle, readSource } = await bench(["a.example/x", "b.example/x"]);
  assert.equal(await lifecycle.guard(await readSource(), false, signal), true);
  assert.deepEqual(core.deployment("web")?.metadata.finalizers, ["a.example/x", "b.example/x", finalizer]);
  assert.deepEqual(client.writes, [`PATCH ${sourcePath}`]);
});

test("guarding a guarded source writes nothing, terminating or not", async () => {
  const { core, client, lifecycle, readSource } = await bench([finalizer]);
  assert.equal(await lifecycle.guard(await readSource(), false, signal), true);
  await core.deleteDeployment("web");
  assert.equal(await lifecycle.guard(await readSource(), false, signal), true);
  assert.deepEqual(client.writes, []);
});

test("a terminating source without the finalizer is worth protecting only when it has a protector", async () => {
  const { core, client, lifecycle, readSource } = await bench(["a.example/x"]);
  await core.deleteDeployment("web");
  const source = await readSource();
  assert.equal(await lifecycle.guard(source, true, signal), true);
  assert.equal(await lifecycle.guard(source, false, signal), false);
  assert.deepEqual(client.writes, [], "it would accept no finalizer");
});

test("a source that is gone is not worth protecting", async () => {
  const { core, lifecycle, readSource } = await bench();
  const source = await readSource();
  await core.deleteDeployment("web");
  assert.equal(await lifecycle.guard(source, false, signal), false);
});

test("guarding fails if the source was changed or replaced since, and others' finalizers stay", async () => {
  for (const isReplaced of [false, true]) {
    const { core, lifecycle, readSource } = await bench();
    const source = await readSource();
    if (isReplaced) {
      await core.deleteDeployment("web");
      await core.createDeployment("web", { metadata: { finalizers: ["late.example/x"] } });
    } else {
      await core.patchDeployment("web", { metadata: { finalizers: ["late.example/x"] } });
    }
    await assert.rejects(lifecycle.guard(source, false, signal), ofKind("conflict"));
    assert.deepEqual(core.deployment("web")?.metadata.finalizers, ["late.example/x"]);
  }
});

test("creating makes the wanted protector with labels, finalizer and owner", async () => {
  const { core, lifecycle, actions, readSource, wanted } = await bench();
  assert.equal(await lifecycle.create(await wanted(), undefined, signal), "created");
  const protector = core.protector("deployment-web");
  assert.ok(isInForce(protector) && hasFinalizer(protector));
  assert.deepEqual(protector?.metadata.labels, labelsFor("web"));
  assert.equal(protector?.metadata.ownerReferences?.[0]?.uid, (await readSource()).uid);
  assert.equal(protector?.spec?.["minAvailable"], 8);
  assert.deepEqual(actions, ["Create default/deployment-web"]);
});

test("creating leaves a protector of this source that is there already as it is", async () => {
  const { core, lifecycle, actions, wanted } = await protectedBench();
  const before = core.protector("deployment-web");
  assert.equal(await lifecycle.create(await wanted(), undefined, signal), "raced");
  assert.deepEqual(core.protector("deployment-web"), before);
  assert.deepEqual(actions, []);
});

test("creating says that an object of others has the name, and leaves that as it is", async () => {
  const { core, lifecycle, actions, wanted } = await bench();
  const theirs = await core.createProtector("deployment-web");
  assert.equal(await lifecycle.create(await wanted(), undefined, signal), "foreign");
  assert.deepEqual(core.protector("deployment-web"), theirs);
  assert.deepEqual(actions, []);
});

test("a name that is free again when it is looked at is tried again: a list may hide who had it", async () => {
  const { core, client, lifecycle, actions, wanted } = await bench();
  await core.createProtector("deployment-web");
  const plan = await wanted();
  client.onRequest = async ({ method }) => {
    if (method === "GET") await core.deleteProtector("deployment-web");
  };
  await assert.rejects(lifecycle.create(plan, undefined, signal), ofKind("alreadyExists"));
  assert.deepEqual(actions, []);
  assert.equal(await lifecycle.create(plan, undefined, signal), "created");
});

test("syncing repairs what differs and nothing else, and writes nothing when nothing differs", async () => {
  const { core, client, lifecycle, actions, readProtector, wanted } = await protectedBench();
  await lifecycle.sync({ stored: await readProtector(), managedFields: undefined }, await wanted(), signal);
  assert.deepEqual(client.writes, []);
  await core.patchDeployment("web", { spec: { replicas: 100 } });
  await core.patchProtector("deployment-web", touched);
  await lifecycle.sync({ stored: await readProtector(), managedFields: undefined }, await wanted(), signal);
  assert.equal(core.protector("deployment-web")?.spec?.["minAvailable"], 75);
  assert.equal(core.protector("deployment-web")?.metadata.annotations?.["touched"], "yes");
  assert.deepEqual(client.writes, [`PATCH ${protectorPath}`]);
  assert.deepEqual(actions, ["Sync default/deployment-web"]);
});

test("syncing fails when the protector was changed since it was read", async () => {
  const { core, lifecycle, actions, readProtector, wanted } = await protectedBench();
  await core.patchProtector("deployment-web", { spec: { minAvailable: 1 } });
  const stored = await readProtector();
  await core.patchProtector("deployment-web", { metadata: { finalizers: [finalizer, "late.example/x"] } });
  await assert.rejects(
    lifecycle.sync({ stored, managedFields: undefined }, await wanted(), signal),
    ofKind("conflict"),
  );
  assert.deepEqual(core.protector("deployment-web")?.metadata.finalizers, [finalizer, "late.example/x"]);
  assert.deepEqual(actions, []);
});

test("a release marks, deletes and removes the finalizer, in this order", async () => {
  const { core, client, lifecycle, actions, told, readProtector } = await protectedBench();
  const seen: unknown[] = [];
  const { uid } = await readProtector();
  client.onWrite = () => {
    const metadata = core.protector("deployment-web")?.metadata;
    seen.push([metadata?.annotations?.[annotations.released], metadata?.deletionTimestamp !== undefined]);
    return undefined;
  };
  await lifecycle.release(await readProtector(), deployments, "deleted", signal);
  assert.deepEqual(client.writes, [`PATCH ${protectorPath}`, `DELETE ${protectorPath}`, `PATCH ${protectorPath}`]);
  assert.deepEqual(seen, [
    [undefined, false],
    ["true", false],
    ["true", true],
  ]);
  assert.equal(core.protector("deployment-web"), undefined);
  assert.deepEqual(actions, ["Delete default/deployment-web"]);
  assert.deepEqual(told, [
    `PodProtector deployment-web ${uid} Normal Released Its floor of 8 is no longer in force: deleted`,
  ]);
});

test("a release fails at the step before which somebody changed the protector, and goes no further", async () => {
  for (let at = 1; at <= 3; at++) {
    const { core, client, lifecycle, actions, readProtector, beforeWrite } = await protectedBench();
    beforeWrite(at, () => core.patchProtector("deployment-web", touched));
    await assert.rejects(
      lifecycle.release(await readProtector(), deployments, "deleted", signal),
      ofKind("conflict"),
      `step ${at}`,
    );
    assert.equal(client.writes.length, at - 1);
    const { metadata } = core.protector("deployment-web")!;
    assert.equal(metadata.annotations?.[annotations.released] !== undefined, at > 1);
    assert.equal(metadata.deletionTimestamp !== undefined, at > 2);
    assert.deepEqual(actions, []);
    // What was begun is finished from where it stands, without a second mark or deletion.
    await lifecycle.release(await readProtector(), deployments, "deleted", signal);
    assert.equal(core.protector("deployment-web"), undefined);
    assert.equal(client.writes.length, 3);
  }
});

test("a release does not touch another protector that has taken the name meanwhile", async () => {
  for (let at = 1; at <= 3; at++) {
    const { core, lifecycle, readProtector, wanted, beforeWrite } = await protectedBench();
    const plan = await wanted();
    let uid: string | undefined;
    beforeWrite(at, async () => {
      await core.patchProtector("deployment-web", { metadata: { finalizers: null } });
      if (core.protector("deployment-web") !== undefined) await core.deleteProtector("deployment-web");
      const { labels, finalizer: ours } = plan;
      const made = await core.createProtector("deployment-web", { metadata: { labels, finalizers: [ours] } });
      ({ uid } = made.metadata);
    });
    await assert.rejects(
      lifecycle.release(await readProtector(), deployments, "deleted", signal),
      ofKind("conflict"),
      `step ${at}`,
    );
    assert.equal(core.protector("deployment-web")?.metadata.uid, uid);
    assert.equal(core.protector("deployment-web")?.metadata.deletionTimestamp, undefined);
    assert.ok(isInForce(core.protector("deployment-web")));
  }
});

test("a release is complete if the protector is gone at any step", async () => {
  for (let at = 1; at <= 3; at++) {
    const { core, lifecycle, actions, readProtector, beforeWrite } = await protectedBench();
    beforeWrite(at, async () => core.engine.wipe(core.protectorType));
    await lifecycle.release(await readProtector(), deployments, "deleted", signal);
    assert.equal(core.protector("deployment-web"), undefined);
    assert.deepEqual(actions, ["Delete default/deployment-web"]);
  }
});

test("a protector without the finalizer goes with the deletion, and one that others hold stays", async () => {
  const lost = await protectedBench();
  await lost.core.patchProtector("deployment-web", { metadata: { finalizers: null } });
  await lost.lifecycle.release(await lost.readProtector(), deployments, "deleted", signal);
  assert.deepEqual(lost.client.writes, [`PATCH ${protectorPath}`, `DELETE ${protectorPath}`]);
  assert.equal(lost.core.protector("deployment-web"), undefined);

  const held = await protectedBench();
  await held.core.patchProtector("deployment-web", {
    metadata: { finalizers: ["a.example/x", finalizer, "b.example/x"] },
  });
  await held.lifecycle.release(await held.readProtector(), deployments, "deleted", signal);
  assert.deepEqual(held.core.protector("deployment-web")?.metadata.finalizers, ["a.example/x", "b.example/x"]);
});

test("an invalid answer is not taken for the end of the protector", async () => {
  for (const method of ["PATCH", "DELETE"]) {
    const { client, lifecycle, actions, readProtector } = await protectedBench();
    const stored = await readProtector();
    const request = client.request.bind(client);
    client.request = async (asked) => (asked.method === method ? {} : await request(asked));
    await assert.rejects(lifecycle.release(stored, deployments, "deleted", signal), ofKind("malformed"), method);
    assert.deepEqual(actions, []);
  }
});

test("removing the source's finalizer keeps those of others in their order", async () => {
  const { core, lifecycle, actions, readSource } = await bench(["a.example/x", finalizer, "b.example/x"]);
  await core.deleteDeployment("web");
  await lifecycle.removeSourceFinalizer(await readSource(), signal);
  assert.deepEqual(core.deployment("web")?.metadata.finalizers, ["a.example/x", "b.example/x"]);
  assert.deepEqual(actions, ["CleanSourceFinalizer default/web"]);
});

test("removing the source's finalizer fails if the source was changed or replaced since it was read", async () => {
  for (const isReplaced of [false, true]) {
    const { core, lifecycle, actions, readSource } = await bench([finalizer]);
    const source = await readSource();
    if (isReplaced) {
      core.eraseDeployments();
      await core.createDeployment("web", { metadata: { finalizers: [finalizer] } });
    } else {
      await core.patchDeployment("web", touched);
    }
    await assert.rejects(lifecycle.removeSourceFinalizer(source, signal), ofKind("conflict"));
    assert.ok(hasFinalizer(core.deployment("web")));
    assert.deepEqual(actions, []);
  }
});

test("a source without our finalizer is not written when that is to be removed", async () => {
  const { client, lifecycle, actions, readSource } = await bench(["a.example/x"]);
  await lifecycle.removeSourceFinalizer(await readSource(), signal);
  assert.deepEqual([client.writes, actions], [[], []]);
});

test("a source that is gone has no finalizer to remove", async () => {
  const { core, client, lifecycle, readSource } = await bench([finalizer]);
  const source = await readSource();
  core.eraseDeployments();
  await lifecycle.removeSourceFinalizer(source, signal);
  assert.deepEqual(client.writes, []);
});

test("reading distinguishes what is absent, what belongs to others, and what is invalid", async () => {
  const { core, lifecycle } = await bench();
  assert.equal(await lifecycle.readSource({ ...web, name: "other" }, signal), undefined);
  const holder = async () => await lifecycle.nameHolder(web, signal);
  assert.deepEqual(await holder(), { kind: "none" });
  await core.createProtector("deployment-web");
  assert.deepEqual(await holder(), { kind: "foreign" });
  await core.patchProtector("deployment-web", { metadata: { labels: labelsFor("web") } });
  assert.partialDeepStrictEqual(await holder(), { kind: "ours", stored: { key: "default/deployment-web" } });
  await core.patchProtector("deployment-web", { spec: { selector: "none" } });
  await core.patchDeployment("web", { spec: { minReadySeconds: "soon" } });
  await assert.rejects(holder(), ofKind("malformed"));
  await assert.rejects(lifecycle.readSource(web, signal), ofKind("malformed"));
});
