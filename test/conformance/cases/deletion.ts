/** Deletion: finalizers, preconditions, propagation, deletecollection. Pods have a file of their own. */
import assert from "node:assert/strict";
import { bodies } from "../bodies.ts";
import { theme } from "../case.ts";
import { ok, refused } from "../expect.ts";
import { compareVersions, meta, names, versionOf } from "../thing.ts";

const finalizer = "conformance.podseidon.test/hold";

const plain = theme("delete", {
  "removes an object and answers with its UID": async (t) => {
    const { configMaps } = await t.space();
    const created = await configMaps.create(bodies.configMap("a"));
    const status = ok(await configMaps.delete("a"), 200);
    assert.deepEqual([status.kind, status.status], ["Status", "Success"]);
    assert.deepEqual(status.details, { name: "a", kind: "configmaps", uid: meta(created).uid });
    refused(await configMaps.get("a"), 404, "NotFound", 'configmaps "a" not found');
  },
  "names the group in its answer": async (t) => {
    const protectors = (await t.space()).of("podprotectors");
    const created = await protectors.create(bodies.podProtector("a"));
    assert.deepEqual(ok(await protectors.delete("a")).details, {
      name: "a",
      group: "podseidon.kubewharf.io",
      kind: "podprotectors",
      uid: meta(created).uid,
    });
  },
  "of a name that is not there is refused": async (t) => {
    const { configMaps } = await t.space();
    const status = refused(await configMaps.delete("a"), 404, "NotFound", 'configmaps "a" not found');
    assert.deepEqual(status.details, { name: "a", kind: "configmaps" });
  },
  "lets the name be used again, with a new UID": async (t) => {
    const { configMaps } = await t.space();
    const first = await configMaps.create(bodies.configMap("a"));
    ok(await configMaps.delete("a"));
    const second = await configMaps.create(bodies.configMap("a"));
    assert.notEqual(meta(first).uid, meta(second).uid);
    assert.ok(compareVersions(versionOf(first), versionOf(second)) < 0);
  },
  "of eight callers at once succeeds for one": async (t) => {
    const { configMaps } = await t.space();
    await configMaps.create(bodies.configMap("a"));
    const codes = (await Promise.all(Array.from({ length: 8 }, () => configMaps.delete("a")))).map(({ code }) => code);
    assert.deepEqual(
      codes.sort((a, b) => a - b),
      [200, 404, 404, 404, 404, 404, 404, 404],
    );
  },
});

const held = theme("finalizers", {
  "keep a deleted object, marked with the time and a grace of 0": async (t) => {
    const { configMaps } = await t.space();
    const created = await configMaps.create(bodies.configMap("a", {}, { finalizers: [finalizer] }));
    const marked = ok(await configMaps.delete("a"), 200);
    assert.equal(marked.kind, "ConfigMap");
    assert.match(meta(marked).deletionTimestamp ?? "", /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
    assert.equal(meta(marked).deletionGracePeriodSeconds, 0);
    assert.ok(compareVersions(versionOf(created), versionOf(marked)) < 0);
    assert.deepEqual(await configMaps.read("a"), marked);
  },
  "move the generation when the deletion is marked": async (t) => {
    const protectors = (await t.space()).of("podprotectors");
    await protectors.create({ ...bodies.podProtector("a"), metadata: { name: "a", finalizers: [finalizer] } });
    assert.equal(meta(ok(await protectors.delete("a"))).generation, 2);
  },
  "are not asked twice: a second delete changes nothing": async (t) => {
    const { configMaps } = await t.space();
    await configMaps.create(bodies.configMap("a", {}, { finalizers: [finalizer] }));
    const marked = ok(await configMaps.delete("a"));
    assert.deepEqual(ok(await configMaps.delete("a"), 200), marked);
  },
  "let the object go when the last one is removed": async (t) => {
    const { configMaps } = await t.space();
    await configMaps.create(bodies.configMap("a", {}, { finalizers: [finalizer, "a.b/c"] }));
    ok(await configMaps.delete("a"));
    ok(await configMaps.merge("a", { metadata: { finalizers: [finalizer] } }));
    assert.equal(await configMaps.has("a"), true);
    ok(await configMaps.merge("a", { metadata: { finalizers: null } }), 200);
    assert.equal(await configMaps.has("a"), false);
  },
  "cannot be added to an object that is being deleted": async (t) => {
    const { configMaps } = await t.space();
    await configMaps.create(bodies.configMap("a", {}, { finalizers: [finalizer] }));
    ok(await configMaps.delete("a"));
    const answer = await configMaps.merge("a", { metadata: { finalizers: [finalizer, "a.b/c"] } });
    refused(
      answer,
      422,
      "Invalid",
      new RegExp(
        String.raw`^ConfigMap "a" is invalid: metadata\.finalizers: Forbidden: no new finalizers can ` +
          String.raw`be added if the object is being deleted, found new finalizers ` +
          String.raw`\[\]string\{"a\.b\/c"\}$`,
      ),
    );
  },
  "must be qualified names on built-in types": async (t) => {
    const { configMaps } = await t.space();
    const answer = await configMaps.post(bodies.configMap("a", {}, { finalizers: ["plain"] }));
    refused(
      answer,
      422,
      "Invalid",
      new RegExp(
        String.raw`metadata\.finalizers\[0\]: Invalid value: "plain": name is neither a standard ` +
          String.raw`finalizer name nor is it fully qualified`,
      ),
    );
  },
  "do not stop other writes of an object that is being deleted": async (t) => {
    const { configMaps } = await t.space();
    await configMaps.create(bodies.configMap("a", {}, { finalizers: [finalizer] }));
    const marked = ok(await configMaps.delete("a"));
    const patched = ok(await configMaps.merge("a", { data: { k: "1" } }));
    assert.equal(meta(patched).deletionTimestamp, meta(marked).deletionTimestamp);
  },
  "of a custom resource work the same": async (t) => {
    const protectors = (await t.space()).of("podprotectors");
    await protectors.create({ ...bodies.podProtector("a"), metadata: { name: "a", finalizers: [finalizer] } });
    assert.notEqual(meta(ok(await protectors.delete("a"))).deletionTimestamp, undefined);
    refused(await protectors.post(bodies.podProtector("a")), 409, "AlreadyExists", /already exists$/);
    ok(await protectors.jsonPatch("a", [{ op: "remove", path: "/metadata/finalizers" }]));
    assert.equal(await protectors.has("a"), false);
  },
});

const guarded = theme("delete preconditions", {
  "on the UID refuse another object of the name": async (t) => {
    const { configMaps } = await t.space();
    const created = await configMaps.create(bodies.configMap("a"));
    const message =
      `Operation cannot be fulfilled on ConfigMap "a": the UID in the precondition (zzz) does not match ` +
      `the UID in record (${meta(created).uid}). The object might have been deleted and then recreated`;
    refused(await configMaps.delete("a", { preconditions: { uid: "zzz" } }), 409, "Conflict", message);
    assert.equal(await configMaps.has("a"), true);
  },
  "on the version refuse a changed object": async (t) => {
    const { configMaps } = await t.space();
    const created = await configMaps.create(bodies.configMap("a"));
    const changed = ok(await configMaps.merge("a", { data: { k: "1" } }));
    const message =
      `Operation cannot be fulfilled on ConfigMap "a": the ResourceVersion in the precondition ` +
      `(${versionOf(created)}) does not match the ResourceVersion in record (${versionOf(changed)}). The ` +
      "object might have been modified";
    const answer = await configMaps.delete("a", { preconditions: { resourceVersion: versionOf(created) } });
    refused(answer, 409, "Conflict", message);
  },
  "that hold let the deletion through": async (t) => {
    const { configMaps } = await t.space();
    const created = await configMaps.create(bodies.configMap("a"));
    ok(
      await configMaps.delete("a", { preconditions: { uid: meta(created).uid, resourceVersion: versionOf(created) } }),
    );
    assert.equal(await configMaps.has("a"), false);
  },
  "of a pod name it by its kind": async (t) => {
    const space = await t.space();
    await space.livePod("a");
    const answer = await space.pods.delete("a", { preconditions: { uid: "zzz" } });
    refused(answer, 409, "Conflict", /^Operation cannot be fulfilled on Pod "a": the UID in the precondition \(zzz\)/);
  },
  "of a grace-0 deletion of a live pod hold for its first step": async (t) => {
    const space = await t.space();
    const created = await space.livePod("a");
    const preconditions = { uid: meta(created).uid, resourceVersion: versionOf(created) };
    ok(await space.pods.delete("a", { gracePeriodSeconds: 0, preconditions }), 200);
    assert.equal(await space.pods.has("a"), false);
  },
});

const propagation = theme("propagation policy", {
  "Orphan and Foreground mark the object with a finalizer of the garbage collector": async (t) => {
    const deployments = (await t.space()).of("deployments");
    for (const [policy, name] of [
      ["Orphan", "orphan"],
      ["Foreground", "foregroundDeletion"],
    ] as const) {
      await deployments.create(bodies.deployment("a"));
      const marked = ok(await deployments.delete("a", { propagationPolicy: policy }), 200);
      assert.deepEqual(meta(marked).finalizers, [name]);
      assert.notEqual(meta(marked).deletionTimestamp, undefined);
      ok(await deployments.merge("a", { metadata: { finalizers: null } }));
      assert.equal(await deployments.has("a"), false);
    }
  },
  "in the query means the same": async (t) => {
    const deployments = (await t.space()).of("deployments");
    await deployments.create(bodies.deployment("a"));
    const marked = ok(await deployments.delete("a", undefined, { propagationPolicy: "Orphan" }));
    assert.deepEqual(meta(marked).finalizers, ["orphan"]);
  },
  "Background removes at once": async (t) => {
    const deployments = (await t.space()).of("deployments");
    await deployments.create(bodies.deployment("a"));
    assert.equal(ok(await deployments.delete("a", { propagationPolicy: "Background" })).status, "Success");
    assert.equal(await deployments.has("a"), false);
  },
  "of another name is refused": async (t) => {
    const { configMaps } = await t.space();
    await configMaps.create(bodies.configMap("a"));
    const answer = await configMaps.delete("a", { propagationPolicy: "Sideways" });
    refused(
      answer,
      422,
      "Invalid",
      /propagationPolicy: Unsupported value: "Sideways": supported values: "Foreground", "Background", "Orphan", "nil"/,
    );
  },
});

const collection = theme("deletecollection", {
  "removes everything of the namespace and answers with the list": async (t) => {
    const [space, other] = [await t.space(), await t.space()];
    for (const name of ["a", "b"]) await space.configMaps.create(bodies.configMap(name));
    await other.configMaps.create(bodies.configMap("c"));
    const list = ok(await space.configMaps.delete(""), 200);
    assert.equal(list.kind, "ConfigMapList");
    assert.deepEqual(names(list), ["a", "b"]);
    assert.deepEqual(names(ok(await space.configMaps.list())), []);
    assert.deepEqual(names(ok(await other.configMaps.list())), ["c"]);
  },
  "removes what labels select": async (t) => {
    const { configMaps } = await t.space();
    await configMaps.create(bodies.configMap("a", {}, { labels: { app: "web" } }));
    await configMaps.create(bodies.configMap("b", {}, { labels: { app: "db" } }));
    assert.deepEqual(names(ok(await configMaps.delete("", undefined, { labelSelector: "app=web" }))), ["a"]);
    assert.deepEqual(names(ok(await configMaps.list())), ["b"]);
  },
  "removes what fields select": async (t) => {
    const { configMaps } = await t.space();
    for (const name of ["a", "b"]) await configMaps.create(bodies.configMap(name));
    ok(await configMaps.delete("", undefined, { fieldSelector: "metadata.name!=a" }));
    assert.deepEqual(names(ok(await configMaps.list())), ["a"]);
  },
  "of nothing succeeds": async (t) => {
    const { configMaps } = await t.space();
    assert.deepEqual(names(ok(await configMaps.delete(""), 200)), []);
  },
  "marks live pods with their grace period": async (t) => {
    const space = await t.space();
    for (const name of ["a", "b"]) await space.livePod(name);
    ok(await space.pods.delete("", { gracePeriodSeconds: 7 }));
    const list = ok(await space.pods.list());
    assert.deepEqual(
      (list.items ?? []).map((pod) => meta(pod).deletionGracePeriodSeconds),
      [7, 7],
    );
  },
});

export const deletionCases = [...plain, ...held, ...guarded, ...propagation, ...collection];
