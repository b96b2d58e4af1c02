/**
 * What single resources check and keep: custom resources, Leases, Events, workloads and their scale, namespaces, owner
 * references.
 */
import assert from "node:assert/strict";
import { bodies } from "../bodies.ts";
import { theme } from "../case.ts";
import { ok, refused } from "../expect.ts";
import { meta, versionOf } from "../thing.ts";

const protectors = theme("custom resource", {
  "loses the fields that its schema does not know": async (t) => {
    const collection = (await t.space()).of("podprotectors");
    const body = { ...bodies.podProtector("a", { unknown: 1 }), extra: { a: 1 } };
    const created = await collection.create(body);
    assert.equal(created.spec?.unknown, undefined);
    assert.equal("extra" in created, false);
  },
  "without its required fields is refused, with all of them named": async (t) => {
    const collection = (await t.space()).of("podprotectors");
    const answer = await collection.post({ ...bodies.podProtector("a"), spec: {} });
    refused(
      answer,
      422,
      "Invalid",
      new RegExp(
        String.raw`^PodProtector\.podseidon\.kubewharf\.io "a" is invalid: \[spec\.minAvailable: ` +
          String.raw`Required value, spec\.minReadySeconds: Required value, spec\.selector: Required ` +
          String.raw`value`,
      ),
    );
  },
  "with a field of another type is refused": async (t) => {
    const collection = (await t.space()).of("podprotectors");
    const answer = await collection.post(bodies.podProtector("a", { minAvailable: "x" }));
    refused(
      answer,
      422,
      "Invalid",
      /spec\.minAvailable: Invalid value: "string": spec\.minAvailable in body must be of type integer: "string"/,
    );
  },
  "with a number beyond its format is refused": async (t) => {
    const collection = (await t.space()).of("podprotectors");
    const answer = await collection.post(bodies.podProtector("a", { minAvailable: 3_000_000_000 }));
    refused(answer, 422, "Invalid", /Checked value must be of type integer with format int32 in spec\.minAvailable$/);
  },
  "is checked after a patch as well, and stays as it was": async (t) => {
    const collection = (await t.space()).of("podprotectors");
    const created = await collection.create(bodies.podProtector("a"));
    assert.equal((await collection.merge("a", { spec: { minAvailable: "x" } })).code, 422);
    assert.deepEqual(await collection.read("a"), created);
  },
  "of another kind or version is refused": async (t) => {
    const collection = (await t.space()).of("podprotectors");
    const body = bodies.podProtector("a");
    refused(
      await collection.post({ ...body, kind: "X" }),
      422,
      "Invalid",
      /kind: Invalid value: "X": must be PodProtector$/,
    );
    const message =
      "the API version in the data (podseidon.kubewharf.io/v1) does not match the expected API version " +
      "(podseidon.kubewharf.io/v1alpha1)";
    refused(await collection.post({ ...body, apiVersion: "podseidon.kubewharf.io/v1" }), 400, "BadRequest", message);
    const { kind: _, ...withoutKind } = body;
    refused(await collection.post(withoutKind), 400, "BadRequest", /Object 'Kind' is missing/);
  },
});

const time = "2026-01-01T00:00:00.123456Z";

const leases = theme("Lease", {
  "keeps its times to the microsecond": async (t) => {
    const collection = (await t.space()).of("leases");
    const spec = {
      holderIdentity: "a",
      leaseDurationSeconds: 15,
      acquireTime: time,
      renewTime: time,
      leaseTransitions: 1,
    };
    assert.deepEqual((await collection.create(bodies.lease("a", spec))).spec, spec);
  },
  "refuses times that are not in microseconds": async (t) => {
    const collection = (await t.space()).of("leases");
    for (const renewTime of ["2026-01-01T00:00:00Z", "yesterday"]) {
      const answer = await collection.post(bodies.lease("a", { renewTime }));
      refused(answer, 400, "BadRequest", /^Lease in version "v1" cannot be handled as a Lease: parsing time/);
    }
  },
  "refuses a duration of nothing": async (t) => {
    const collection = (await t.space()).of("leases");
    const answer = await collection.post(bodies.lease("a", { holderIdentity: "a", leaseDurationSeconds: 0 }));
    refused(answer, 422, "Invalid", /spec\.leaseDurationSeconds: Invalid value: 0: must be greater than 0$/);
  },
  "is taken by one of two candidates that saw the same version": async (t) => {
    const collection = (await t.space()).of("leases");
    const created = await collection.create(bodies.lease("a"));
    const take = (holderIdentity: string) =>
      collection.put("a", { ...created, spec: { holderIdentity, renewTime: time } });
    const codes = (await Promise.all([take("x"), take("y")])).map(({ code }) => code).sort((a, b) => a - b);
    assert.deepEqual(codes, [200, 409]);
  },
  "is released by an empty holder": async (t) => {
    const collection = (await t.space()).of("leases");
    await collection.create(bodies.lease("a", { holderIdentity: "x", leaseDurationSeconds: 15 }));
    const released = ok(await collection.merge("a", { spec: { holderIdentity: "", leaseDurationSeconds: 1 } }));
    assert.equal(released.spec?.holderIdentity, "");
  },
});

const events = theme("Event", {
  "is kept, and counted up by a patch": async (t) => {
    const space = await t.space();
    const collection = space.of("events");
    await collection.create(bodies.event("a", { kind: "Pod", namespace: space.name, name: "web-1" }, { count: 1 }));
    const patched = ok(await collection.merge("a", { count: 2 }));
    assert.deepEqual([patched.count, patched.reason, patched.type], [2, "Refused", "Warning"]);
  },
  "of an object in another namespace is refused": async (t) => {
    const collection = (await t.space()).of("events");
    const answer = await collection.post(bodies.event("a", { kind: "Pod", namespace: "other", name: "web-1" }));
    const message =
      'Event "a" is invalid: involvedObject.namespace: Invalid value: "other": does not match event.namespace';
    refused(answer, 422, "Invalid", message);
  },
});

const workloads = theme("workload", {
  "without a selector is refused": async (t) => {
    const answer = await (await t.space()).of("deployments").post({ ...bodies.deployment("a"), spec: {} });
    refused(answer, 422, "Invalid", /spec\.selector: Required value/);
  },
  "with an empty selector is refused": async (t) => {
    const answer = await (await t.space()).of("deployments").post(bodies.deployment("a", { selector: {} }));
    const message =
      'Deployment.apps "a" is invalid: spec.selector: Invalid value: {}: empty selector is invalid for deployment';
    refused(answer, 422, "Invalid", message);
  },
  "whose template its selector does not match is refused": async (t) => {
    const selector = { matchLabels: { other: "x" } };
    const answer = await (await t.space()).of("deployments").post(bodies.deployment("a", { selector }));
    refused(
      answer,
      422,
      "Invalid",
      /spec\.template\.metadata\.labels: Invalid value: .*`selector` does not match template `labels`$/,
    );
  },
  "with fewer than no replicas is refused": async (t) => {
    const answer = await (await t.space()).of("deployments").post(bodies.deployment("a", { replicas: -1 }));
    refused(answer, 422, "Invalid", /spec\.replicas: Invalid value: -1: must be greater than or equal to 0$/);
  },
  "cannot change its selector": async (t) => {
    const deployments = (await t.space()).of("deployments");
    await deployments.create(bodies.deployment("a"));
    const labels = { app: "other" };
    const answer = await deployments.merge("a", {
      spec: { selector: { matchLabels: labels }, template: { metadata: { labels } } },
    });
    refused(answer, 422, "Invalid", /spec\.selector: Invalid value: .*: field is immutable$/);
  },
  "gets one replica and a rolling update": async (t) => {
    const created = await (await t.space()).of("deployments").create(bodies.deployment("a"));
    assert.equal(created.spec?.replicas, 1);
    const rollingUpdate = { maxUnavailable: "25%", maxSurge: "25%" };
    assert.deepEqual(created.spec?.strategy, { type: "RollingUpdate", rollingUpdate });
  },
});

const scale = theme("scale", {
  "shows the replicas and the selector": async (t) => {
    const deployments = (await t.space()).of("deployments");
    await deployments.create(bodies.deployment("a", { replicas: 3 }));
    const read = ok(await deployments.get("a/scale"));
    assert.deepEqual([read.kind, read.apiVersion], ["Scale", "autoscaling/v1"]);
    assert.deepEqual([read.spec, read.status], [{ replicas: 3 }, { replicas: 0, selector: "app=web" }]);
  },
  "is written by a patch and moves the generation of the workload": async (t) => {
    const deployments = (await t.space()).of("deployments");
    await deployments.create(bodies.deployment("a"));
    assert.deepEqual(ok(await deployments.merge("a/scale", { spec: { replicas: 4 } })).spec, { replicas: 4 });
    const workload = await deployments.read("a");
    assert.deepEqual([workload.spec?.replicas, meta(workload).generation], [4, 2]);
  },
  "is a compare-and-swap with PUT": async (t) => {
    const deployments = (await t.space()).of("deployments");
    await deployments.create(bodies.deployment("a"));
    const read = ok(await deployments.get("a/scale"));
    const wanted = { ...read, spec: { replicas: 2 } };
    assert.deepEqual(ok(await deployments.put("a/scale", wanted)).spec, { replicas: 2 });
    refused(await deployments.put("a/scale", wanted), 409, "Conflict", /the object has been modified/);
  },
  "of fewer than no replicas is refused": async (t) => {
    const deployments = (await t.space()).of("deployments");
    await deployments.create(bodies.deployment("a"));
    const message =
      'Scale.autoscaling "a" is invalid: spec.replicas: Invalid value: -4: must be greater than or equal to 0';
    refused(await deployments.merge("a/scale", { spec: { replicas: -4 } }), 422, "Invalid", message);
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

const owner = { apiVersion: "v1", kind: "Pod", name: "x", uid: "y" };

const owners = theme("owner references", {
  "are kept as sent, whether the owner exists or not": async (t) => {
    const { configMaps } = await t.space();
    const created = await configMaps.create(bodies.configMap("a", {}, { ownerReferences: [owner] }));
    assert.deepEqual(meta(created).ownerReferences, [owner]);
  },
  "without a UID or version are refused": async (t) => {
    const { configMaps } = await t.space();
    const answer = await configMaps.post(bodies.configMap("a", {}, { ownerReferences: [{ kind: "Pod", name: "x" }] }));
    refused(
      answer,
      422,
      "Invalid",
      new RegExp(
        String.raw`metadata\.ownerReferences\.apiVersion: Invalid value: "": version must not be ` +
          String.raw`empty, metadata\.ownerReferences\.uid: Invalid value: "": must not be empty`,
      ),
    );
  },
  "name one controller at most": async (t) => {
    const { configMaps } = await t.space();
    const ownerReferences = [owner, { ...owner, uid: "z", name: "z" }].map((one) => ({ ...one, controller: true }));
    const answer = await configMaps.post(bodies.configMap("a", {}, { ownerReferences }));
    refused(
      answer,
      422,
      "Invalid",
      /Only one reference can have Controller set to true\. Found "true" in references for Pod\/x and Pod\/z$/,
    );
  },
});

const dryRuns = theme("dry run", {
  "of a creation answers with the object and keeps nothing": async (t) => {
    const { configMaps } = await t.space();
    const created = ok(await configMaps.post(bodies.configMap("a", { k: "1" }), { dryRun: "All" }), 201);
    assert.match(meta(created).uid ?? "", /^[0-9a-f-]{36}$/);
    assert.equal(meta(created).resourceVersion, undefined);
    assert.equal(await configMaps.has("a"), false);
  },
  "of an update or patch answers with the result and changes nothing": async (t) => {
    const { configMaps } = await t.space();
    const created = await configMaps.create(bodies.configMap("a"));
    const patched = ok(await configMaps.merge("a", { data: { k: "1" } }, { dryRun: "All" }));
    assert.deepEqual([patched.data, versionOf(patched)], [{ k: "1" }, versionOf(created)]);
    assert.deepEqual(ok(await configMaps.put("a", bodies.configMap("a", { k: "2" }), { dryRun: "All" })).data, {
      k: "2",
    });
    assert.deepEqual(await configMaps.read("a"), created);
  },
  "of a deletion removes nothing, of one or of all": async (t) => {
    const { configMaps } = await t.space();
    await configMaps.create(bodies.configMap("a"));
    assert.equal(ok(await configMaps.delete("a", undefined, { dryRun: "All" })).status, "Success");
    ok(await configMaps.delete("", undefined, { dryRun: "All" }));
    assert.equal(await configMaps.has("a"), true);
  },
  "is All or not at all": async (t) => {
    const { configMaps } = await t.space();
    await configMaps.create(bodies.configMap("a"));
    const why = 'dryRun: Unsupported value: ["x"]: supported values: "All"';
    const message = (kind: string): string => `${kind}.meta.k8s.io "" is invalid: ${why}`;
    const query = { dryRun: "x" };
    refused(await configMaps.post(bodies.configMap("b"), query), 422, "Invalid", message("CreateOptions"));
    refused(await configMaps.put("a", bodies.configMap("a"), query), 422, "Invalid", message("UpdateOptions"));
    refused(await configMaps.merge("a", {}, query), 422, "Invalid", message("PatchOptions"));
    refused(await configMaps.delete("a", { dryRun: ["x"] }), 422, "Invalid", message("DeleteOptions"));
  },
});

export const resourceCases = [
  ...protectors,
  ...leases,
  ...events,
  ...workloads,
  ...scale,
  ...namespaces,
  ...owners,
  ...dryRuns,
];
