/** Objects: creation, names, versions as compare-and-swap, no-op writes, generation. */
import assert from "node:assert/strict";
import { bodies } from "../bodies.ts";
import { theme } from "../case.ts";
import { causes, ok, refused } from "../expect.ts";
import { compareVersions, meta, statusOf, type Thing, versionOf } from "../thing.ts";

const modified = "the object has been modified; please apply your changes to the latest version and try again";

function withData(object: Thing, data: Record<string, string>): object {
  return { ...object, data };
}

const creation = theme("create", {
  "gives an object a UID, a version and a creation time in whole seconds": async (t) => {
    const { configMaps } = await t.space();
    const created = await configMaps.create(bodies.configMap("a", { k: "1" }));
    assert.match(meta(created).uid ?? "", /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    assert.match(versionOf(created), /^[1-9]\d*$/);
    assert.match(meta(created).creationTimestamp ?? "", /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
    assert.deepEqual(await configMaps.read("a"), created);
  },
  "refuses a name that is taken": async (t) => {
    const { configMaps } = await t.space();
    await configMaps.create(bodies.configMap("a"));
    const status = refused(
      await configMaps.post(bodies.configMap("a")),
      409,
      "AlreadyExists",
      'configmaps "a" already exists',
    );
    assert.deepEqual(status.details, { name: "a", kind: "configmaps" });
  },
  "names the group where there is one": async (t) => {
    const leases = (await t.space()).of("leases");
    await leases.create(bodies.lease("a"));
    const message = 'leases.coordination.k8s.io "a" already exists';
    const status = refused(await leases.post(bodies.lease("a")), 409, "AlreadyExists", message);
    assert.deepEqual(status.details, { name: "a", group: "coordination.k8s.io", kind: "leases" });
  },
  "makes a name of five more characters from generateName": async (t) => {
    const { configMaps } = await t.space();
    const create = (): Promise<Thing> =>
      configMaps.create({ apiVersion: "v1", kind: "ConfigMap", metadata: { generateName: "made-" } });
    const [first, second] = [await create(), await create()];
    assert.match(meta(first).name ?? "", /^made-[bcdfghjklmnpqrstvwxz2456789]{5}$/);
    assert.equal(meta(first).generateName, "made-");
    assert.notEqual(meta(first).name, meta(second).name);
  },
  "refuses an object without a name": async (t) => {
    const { configMaps } = await t.space();
    const answer = await configMaps.post({ apiVersion: "v1", kind: "ConfigMap", metadata: {} });
    const status = refused(
      answer,
      422,
      "Invalid",
      /^ConfigMap "" is invalid: metadata\.name: Required value: name or generateName is required$/,
    );
    assert.deepEqual(status.details, {
      kind: "ConfigMap",
      causes: [
        {
          reason: "FieldValueRequired",
          message: "Required value: name or generateName is required",
          field: "metadata.name",
        },
      ],
    });
  },
  "refuses a name that is no DNS subdomain": async (t) => {
    const { configMaps } = await t.space();
    const status = refused(
      await configMaps.post(bodies.configMap("A_b")),
      422,
      "Invalid",
      new RegExp(
        String.raw`^ConfigMap "A_b" is invalid: metadata\.name: Invalid value: "A_b": a lowercase RFC ` +
          String.raw`1123 subdomain must consist of`,
      ),
    );
    assert.deepEqual(
      causes(status).map(({ reason, field }) => [reason, field]),
      [["FieldValueInvalid", "metadata.name"]],
    );
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
  "refuses a resourceVersion": async (t) => {
    const { configMaps } = await t.space();
    const body = bodies.configMap("a", {}, { resourceVersion: "5" });
    refused(await configMaps.post(body), 500, "", "resourceVersion should not be set on objects to be created");
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
  "refuses a namespace that is not that of the path": async (t) => {
    const { configMaps } = await t.space();
    const answer = await configMaps.post(bodies.configMap("a", {}, { namespace: "other" }));
    refused(
      answer,
      400,
      "BadRequest",
      "the namespace of the provided object does not match the namespace sent on the request",
    );
  },
  "refuses a namespace that does not exist": async (t) => {
    const path = `/api/v1/namespaces/${t.unique("nowhere")}/configmaps`;
    const answer = await t.target.request("POST", path, { body: bodies.configMap("a") });
    const status = refused(answer, 404, "NotFound", /^namespaces ".*nowhere-\d+" not found$/);
    assert.equal(status.details?.kind, "namespaces");
  },
  "refuses an object of another kind": async (t) => {
    const { configMaps } = await t.space();
    const answer = await configMaps.post({ ...bodies.configMap("a"), kind: "Secret" });
    refused(
      answer,
      400,
      "BadRequest",
      /Secret in version "v1" cannot be handled as a ConfigMap|does not match the expected/,
    );
  },
  "refuses labels that are no strings": async (t) => {
    const { configMaps } = await t.space();
    const answer = await configMaps.post(bodies.configMap("a", {}, { labels: { a: 1 } }));
    refused(answer, 400, "BadRequest", /cannot unmarshal number/);
  },
  "refuses label values that selectors could not name": async (t) => {
    const { configMaps } = await t.space();
    const answer = await configMaps.post(bodies.configMap("a", {}, { labels: { a: "b c" } }));
    refused(
      answer,
      422,
      "Invalid",
      new RegExp(
        String.raw`^ConfigMap "a" is invalid: metadata\.labels: Invalid value: "b c": a valid label ` +
          String.raw`must be an empty string or consist of`,
      ),
    );
  },
  "answers with the object's own version, and each write gets a higher one": async (t) => {
    const { configMaps } = await t.space();
    const first = await configMaps.create(bodies.configMap("a"));
    const other = await configMaps.create(bodies.configMap("b"));
    const second = ok(await configMaps.merge("a", { data: { k: "1" } }));
    assert.ok(compareVersions(versionOf(first), versionOf(other)) < 0);
    assert.ok(compareVersions(versionOf(other), versionOf(second)) < 0);
  },
  "shares one sequence of versions between resources": async (t) => {
    const space = await t.space();
    const configMap = await space.configMaps.create(bodies.configMap("a"));
    const lease = await space.of("leases").create(bodies.lease("a"));
    const pod = await space.pods.create(bodies.pod("a"));
    assert.ok(compareVersions(versionOf(configMap), versionOf(lease)) < 0);
    assert.ok(compareVersions(versionOf(lease), versionOf(pod)) < 0);
  },
});

const update = theme("update", {
  "at the current version is committed": async (t) => {
    const { configMaps } = await t.space();
    const created = await configMaps.create(bodies.configMap("a"));
    const updated = ok(await configMaps.put("a", withData(created, { k: "1" })), 200);
    assert.ok(compareVersions(versionOf(created), versionOf(updated)) < 0);
    assert.equal(meta(updated).uid, meta(created).uid);
    assert.deepEqual(updated.data, { k: "1" });
  },
  "at an old version is refused as a conflict": async (t) => {
    const { configMaps } = await t.space();
    const created = await configMaps.create(bodies.configMap("a"));
    await configMaps.put("a", withData(created, { k: "1" }));
    const message = `Operation cannot be fulfilled on configmaps "a": ${modified}`;
    const status = refused(await configMaps.put("a", withData(created, { k: "2" })), 409, "Conflict", message);
    assert.deepEqual(status.details, { name: "a", kind: "configmaps" });
    assert.deepEqual((await configMaps.read("a")).data, { k: "1" });
  },
  "of two at the same version exactly one wins": async (t) => {
    const { configMaps } = await t.space();
    const created = await configMaps.create(bodies.configMap("a"));
    const writes = ["1", "2", "3", "4"].map((k) => configMaps.put("a", withData(created, { k })));
    const codes = (await Promise.all(writes)).map(({ code }) => code).sort((a, b) => a - b);
    assert.deepEqual(codes, [200, 409, 409, 409]);
  },
  "without a version overwrites a ConfigMap": async (t) => {
    const { configMaps } = await t.space();
    await configMaps.create(bodies.configMap("a", { old: "1" }));
    assert.deepEqual(ok(await configMaps.put("a", bodies.configMap("a", { k: "1" }))).data, { k: "1" });
  },
  "without a version is refused for a Lease": async (t) => {
    const leases = (await t.space()).of("leases");
    await leases.create(bodies.lease("a"));
    const message =
      'leases.coordination.k8s.io "a" is invalid: metadata.resourceVersion: Invalid value: 0: must be ' +
      "specified for an update";
    refused(await leases.put("a", bodies.lease("a")), 422, "Invalid", message);
  },
  "without a version is refused for a custom resource": async (t) => {
    const protectors = (await t.space()).of("podprotectors");
    await protectors.create(bodies.podProtector("a"));
    const answer = await protectors.put("a", bodies.podProtector("a"));
    refused(answer, 422, "Invalid", /metadata\.resourceVersion: Invalid value: 0: must be specified for an update$/);
  },
  "that changes nothing keeps the version": async (t) => {
    const { configMaps } = await t.space();
    const created = await configMaps.create(bodies.configMap("a", { k: "1" }));
    assert.equal(versionOf(ok(await configMaps.put("a", created))), versionOf(created));
    assert.deepEqual(await configMaps.read("a"), created);
  },
  "that changes nothing is refused at an old version, too": async (t) => {
    const { configMaps } = await t.space();
    const created = await configMaps.create(bodies.configMap("a", { k: "1" }));
    const changed = ok(await configMaps.put("a", withData(created, { k: "2" })));
    const stale = { ...changed, metadata: { ...meta(changed), resourceVersion: versionOf(created) } };
    refused(await configMaps.put("a", stale), 409, "Conflict", /the object has been modified/);
  },
  "with another UID is a conflict": async (t) => {
    const { configMaps } = await t.space();
    await configMaps.create(bodies.configMap("a"));
    const answer = await configMaps.put("a", bodies.configMap("a", {}, { uid: "zzz" }));
    refused(
      answer,
      409,
      "Conflict",
      /Precondition failed: UID in precondition: zzz, UID in object meta: [0-9a-f-]{36}$/,
    );
  },
  "of a name that is not there is refused": async (t) => {
    const { configMaps } = await t.space();
    const created = await configMaps.create(bodies.configMap("a"));
    const body = { ...created, metadata: { ...meta(created), name: "b" } };
    refused(await configMaps.put("b", body), 404, "NotFound", 'configmaps "b" not found');
  },
  "refuses a body of another name": async (t) => {
    const { configMaps } = await t.space();
    await configMaps.create(bodies.configMap("a"));
    const message = "the name of the object (b) does not match the name on the URL (a)";
    refused(await configMaps.put("a", bodies.configMap("b")), 400, "BadRequest", message);
  },
  "keeps the creation time and UID": async (t) => {
    const { configMaps } = await t.space();
    const created = await configMaps.create(bodies.configMap("a"));
    const body = bodies.configMap("a", { k: "1" }, { creationTimestamp: "2001-01-01T00:00:00Z" });
    const updated = ok(await configMaps.put("a", body));
    assert.equal(meta(updated).creationTimestamp, meta(created).creationTimestamp);
    assert.equal(meta(updated).uid, meta(created).uid);
  },
});

/** Resources that count generations. */
const counted = [
  ["deployments", bodies.deployment("a")],
  ["replicasets", bodies.replicaSet("a")],
  ["statefulsets", bodies.statefulSet("a")],
  ["poddisruptionbudgets", bodies.budget("a")],
  ["podprotectors", bodies.podProtector("a")],
  ["pods", bodies.pod("a")],
] as const;

const generation = theme("generation", {
  "starts at 1 for workloads, pods, budgets and custom resources, and is absent elsewhere": async (t) => {
    const space = await t.space();
    for (const [resource, body] of counted) {
      assert.equal(meta(await space.of(resource).create(body)).generation, 1, resource);
    }
    assert.equal(meta(await space.configMaps.create(bodies.configMap("a"))).generation, undefined);
    assert.equal(meta(await space.of("leases").create(bodies.lease("a"))).generation, undefined);
  },
  "moves with the spec": async (t) => {
    const space = await t.space();
    const deployments = space.of("deployments");
    await deployments.create(bodies.deployment("a"));
    assert.equal(meta(ok(await deployments.merge("a", { spec: { replicas: 3 } }))).generation, 2);
    const protectors = space.of("podprotectors");
    await protectors.create(bodies.podProtector("a"));
    assert.equal(meta(ok(await protectors.merge("a", { spec: { minAvailable: 3 } }))).generation, 2);
  },
  "stays when only labels change": async (t) => {
    const space = await t.space();
    for (const [resource, body] of counted) {
      await space.of(resource).create(body);
      assert.equal(
        meta(ok(await space.of(resource).merge("a", { metadata: { labels: { l: "2" } } }))).generation,
        1,
        resource,
      );
    }
  },
  "stays when only annotations change, except for a Deployment": async (t) => {
    const space = await t.space();
    for (const [resource, body] of counted) {
      await space.of(resource).create(body);
      const patched = ok(await space.of(resource).merge("a", { metadata: { annotations: { k: "1" } } }));
      assert.equal(meta(patched).generation, resource === "deployments" ? 2 : 1, resource);
    }
  },
  "stays when only the status changes": async (t) => {
    const space = await t.space();
    await space.of("deployments").create(bodies.deployment("a"));
    const patched = ok(await space.of("deployments").merge("a/status", { status: { replicas: 1 } }));
    assert.equal(meta(patched).generation, 1);
    assert.equal(statusOf(patched).replicas, 1);
  },
  "of a client is ignored": async (t) => {
    const deployments = (await t.space()).of("deployments");
    await deployments.create({ ...bodies.deployment("a"), metadata: { name: "a", generation: 9 } });
    assert.equal(
      meta(ok(await deployments.merge("a", { metadata: { generation: 12 }, spec: { replicas: 2 } }))).generation,
      2,
    );
  },
});

export const objectCases = [...creation, ...update, ...generation];
