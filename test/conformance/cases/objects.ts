/** Objects: what `*.yaml` cannot say of their names, times, sizes and namespaces. */
import assert from "node:assert/strict";
import { bodies, cellStatus } from "../bodies.ts";
import { theme } from "../case.ts";
import { ok, refused } from "../expect.ts";
import { compareVersions, meta, names, type Thing, versionOf } from "../thing.ts";

function epochSeconds(time: string | null | undefined): number {
  return Date.parse(time ?? "") / 1000;
}

const creation = theme("create", {
  "makes a name of five more characters from generateName": async (t) => {
    const { configMaps } = await t.space();
    const create = (): Promise<Thing> =>
      configMaps.create({ apiVersion: "v1", kind: "ConfigMap", metadata: { generateName: "made-" } });
    const [first, second] = [await create(), await create()];
    assert.match(meta(first).name ?? "", /^made-[bcdfghjklmnpqrstvwxz2456789]{5}$/);
    assert.equal(meta(first).generateName, "made-");
    assert.notEqual(meta(first).name, meta(second).name);
  },
  "refuses a name that is too long": async (t) => {
    const { configMaps } = await t.space();
    const name = "w".repeat(254);
    const text = /metadata\.name: Invalid value: "w+": must be no more than 253 characters$/;
    refused(await configMaps.post(bodies.configMap(name)), 422, "Invalid", text);
    ok(await configMaps.post(bodies.configMap(name.slice(1))));
  },
  "refuses a StatefulSet whose name is no DNS label": async (t) => {
    const statefulSets = (await t.space()).of("statefulsets");
    const { spec } = bodies.statefulSet("web");
    // Else the server finds the same fault with the name of its Service.
    const post = (name: string) => statefulSets.post({ ...bodies.statefulSet(name), spec });
    const tooLong = /metadata\.name: Invalid value: "w+": must be no more than 63 characters$/;
    refused(await post("w".repeat(64)), 422, "Invalid", tooLong);
    refused(await post("a.b"), 422, "Invalid", /metadata\.name: Invalid value: "a\.b": must not contain dots$/);
    refused(await post("A"), 422, "Invalid", /: Invalid value: "A": a lowercase RFC 1123 label must consist of/);
    ok(await post("w".repeat(63)));
  },
  "ignores the UID and times that a client sends": async (t) => {
    const { configMaps } = await t.space();
    const uid = "11111111-2222-4333-8444-555555555555";
    const created = await configMaps.create(
      bodies.configMap(
        "a",
        {},
        { uid, creationTimestamp: "2001-01-01T00:00:00Z", deletionTimestamp: "2001-01-01T00:00:00Z", generation: 7 },
      ),
    );
    assert.notEqual(meta(created).uid, uid);
    assert.ok((meta(created).creationTimestamp ?? "") > "2002");
    assert.equal(meta(created).deletionTimestamp, undefined);
  },
  "refuses a namespace that does not exist": async (t) => {
    const path = `/api/v1/namespaces/${t.unique("nowhere")}/configmaps`;
    const answer = await t.target.request("POST", path, { body: bodies.configMap("a") });
    const status = refused(answer, 404, "NotFound", /^namespaces ".*nowhere-\d+" not found$/);
    assert.equal(status.details?.kind, "namespaces");
  },
});

const deletion = [
  ...theme("delete", {
    "lets the name be used again, with a new UID": async (t) => {
      const { configMaps } = await t.space();
      const first = await configMaps.create(bodies.configMap("a"));
      ok(await configMaps.delete("a"));
      const second = await configMaps.create(bodies.configMap("a"));
      assert.notEqual(meta(first).uid, meta(second).uid);
      assert.ok(compareVersions(versionOf(first), versionOf(second)) < 0);
    },
  }),
  ...theme("deletecollection", {
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
  }),
];

const pods = theme("pod deletion", {
  "of a scheduled pod sets a deletionTimestamp in the future and keeps the pod": async (t) => {
    const space = await t.space();
    await space.livePod("a");
    const beforeSeconds = Math.floor(Date.now() / 1000);
    const marked = ok(await space.pods.delete("a"), 200);
    assert.equal(marked.kind, "Pod");
    assert.equal(meta(marked).deletionGracePeriodSeconds, 30);
    const requestedSeconds = epochSeconds(meta(marked).deletionTimestamp) - 30;
    assert.ok(
      requestedSeconds >= beforeSeconds - 1 && requestedSeconds <= Date.now() / 1000 + 1,
      "the time of the request",
    );
    assert.equal(meta(marked).generation, 2);
    assert.deepEqual(await space.pods.read("a"), marked);
  },
  "repeated with a shorter grace period brings the end forward": async (t) => {
    const space = await t.space();
    await space.livePod("a");
    const marked = ok(await space.pods.delete("a"));
    const sooner = ok(await space.pods.delete("a", { gracePeriodSeconds: 10 }));
    assert.equal(meta(sooner).deletionGracePeriodSeconds, 10);
    assert.equal(epochSeconds(meta(marked).deletionTimestamp) - epochSeconds(meta(sooner).deletionTimestamp), 20);
    assert.ok(compareVersions(versionOf(marked), versionOf(sooner)) < 0);
  },
});

const status = theme("status of a custom resource", {
  "is refused when the object becomes too large for etcd": async (t) => {
    const protectors = (await t.space()).of("podprotectors");
    await protectors.create(bodies.podProtector("a"));
    const sized = (characters: number): object => {
      const bucket = { startTime: "2026-01-01T00:00:00Z", podUIDDigests: "A".repeat(characters) };
      return { status: cellStatus("cell-1", { admissionHistory: { buckets: [bucket] } }) };
    };
    const written = ok(await protectors.merge("a/status", sized(1_500_000)));
    refused(await protectors.merge("a/status", sized(1_600_000)), 500, "", "etcdserver: request is too large");
    assert.equal(versionOf(ok(await protectors.get("a"))), versionOf(written));
    ok(await protectors.merge("a/status", sized(1_000)));
  },
});

const nodes = theme("strategic patch of a list", {
  "merges the taints of a node as a whole, and marks it unschedulable": async (t) => {
    const nodes = t.cluster("/api/v1", "nodes");
    const name = t.unique("node");
    const taint = (key: string): object => ({ key, effect: "NoSchedule" });
    await nodes.create({ apiVersion: "v1", kind: "Node", metadata: { name }, spec: { taints: [taint("a")] } });
    const patched = ok(await nodes.strategic(name, { spec: { unschedulable: true, taints: [taint("b")] } }));
    const { unschedulable, taints = [] } = patched.spec as { unschedulable?: boolean; taints?: readonly object[] };
    ok(await nodes.delete(name));
    assert.deepEqual([unschedulable, taints.filter((item) => JSON.stringify(item).includes('"a"'))], [true, []]);
  },
});

const namespaces = theme("namespace", {
  "is labelled with its name and active": async (t) => {
    const name = t.unique("space");
    const created = await t.cluster("/api/v1", "namespaces").create(bodies.namespace(name));
    assert.deepEqual(meta(created).labels, { "kubernetes.io/metadata.name": name });
    assert.deepEqual([created.spec, created.status], [{ finalizers: ["kubernetes"] }, { phase: "Active" }]);
  },
  "that is deleted waits to be emptied, and takes nothing new in": async (t) => {
    const space = await t.space();
    const deleted = ok(await t.cluster("/api/v1", "namespaces").delete(space.name));
    assert.notEqual(meta(deleted).deletionTimestamp, undefined);
    assert.deepEqual(deleted.status, { phase: "Terminating" });
    const answer = await space.configMaps.post(bodies.configMap("a"));
    const message =
      `configmaps "a" is forbidden: unable to create new content in namespace ${space.name} because it is ` +
      "being terminated";
    const status = refused(answer, 403, "Forbidden", message);
    assert.equal(status.details?.causes?.[0]?.reason, "NamespaceTerminating");
  },
  "that every cluster has cannot be deleted": async (t) => {
    const answer = await t.cluster("/api/v1", "namespaces").delete("default");
    refused(answer, 403, "Forbidden", 'namespaces "default" is forbidden: this namespace may not be deleted');
  },
});

export const objectCases = [...creation, ...deletion, ...pods, ...status, ...nodes, ...namespaces];
