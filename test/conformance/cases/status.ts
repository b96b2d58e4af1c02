/** The status subresource: what each side of an object lets a write change, and the fence through pods/status. */
import assert from "node:assert/strict";
import { bodies, cellStatus } from "../bodies.ts";
import { theme } from "../case.ts";
import { ok, refused } from "../expect.ts";
import { compareVersions, meta, statusOf, versionOf } from "../thing.ts";

const builtIn = theme("status of a built-in type", {
  "is Pending for a new pod, whatever the client sends": async (t) => {
    const { pods } = await t.space();
    const created = await pods.create({ ...bodies.pod("a"), status: { phase: "Running", podIP: "10.0.0.1" } });
    assert.equal(statusOf(created).phase, "Pending");
    assert.equal(statusOf(created).podIP, undefined);
  },
  "is not touched by a write of the object": async (t) => {
    const { pods } = await t.space();
    const created = await pods.create(bodies.pod("a"));
    const patched = ok(await pods.merge("a", { status: { phase: "Running" } }));
    assert.equal(statusOf(patched).phase, "Pending");
    assert.equal(versionOf(patched), versionOf(created), "so nothing changed at all");
  },
  "is written through pods/status, which leaves the spec alone": async (t) => {
    const { pods } = await t.space();
    await pods.create(bodies.pod("a"));
    const patched = ok(
      await pods.merge("a/status", { spec: { activeDeadlineSeconds: 5 }, status: { phase: "Running" } }),
    );
    assert.equal(statusOf(patched).phase, "Running");
    assert.equal("activeDeadlineSeconds" in (patched.spec ?? {}), false);
    assert.deepEqual(await pods.read("a"), patched);
  },
  "takes labels and annotations of a pod along, but no owner references": async (t) => {
    const { pods } = await t.space();
    await pods.create(bodies.pod("a"));
    const owner = { apiVersion: "v1", kind: "ConfigMap", name: "x", uid: "y" };
    const patched = ok(
      await pods.merge("a/status", {
        metadata: { labels: { l: "1" }, annotations: { k: "1" }, ownerReferences: [owner] },
      }),
    );
    assert.deepEqual(meta(patched).labels, { app: "web", l: "1" });
    assert.deepEqual(meta(patched).annotations, { k: "1" });
    assert.equal(meta(patched).ownerReferences, undefined);
  },
  "takes annotations of a Deployment along, but no labels": async (t) => {
    const deployments = (await t.space()).of("deployments");
    await deployments.create(bodies.deployment("a"));
    const patched = ok(
      await deployments.merge("a/status", { metadata: { labels: { l: "1" }, annotations: { k: "1" } } }),
    );
    assert.equal(meta(patched).labels, undefined);
    assert.deepEqual(meta(patched).annotations, { k: "1" });
  },
  "is a compare-and-swap with PUT": async (t) => {
    const { pods } = await t.space();
    const created = await pods.create(bodies.pod("a"));
    ok(await pods.put("a/status", { ...created, status: { phase: "Running" } }), 200);
    const message = /^Operation cannot be fulfilled on pods "a": the object has been modified/;
    refused(await pods.put("a/status", { ...created, status: { phase: "Failed" } }), 409, "Conflict", message);
  },
  "is read through the subresource as the whole object": async (t) => {
    const { pods } = await t.space();
    const created = await pods.create(bodies.pod("a"));
    assert.deepEqual(ok(await pods.get("a/status")), created);
  },
  "keeps conditions as they are sent": async (t) => {
    const { pods } = await t.space();
    await pods.create(bodies.pod("a"));
    const conditions = [{ type: "Ready", status: "True", lastTransitionTime: "2026-01-01T00:00:00Z" }];
    const [ready] = statusOf(ok(await pods.merge("a/status", { status: { conditions } }))).conditions ?? [];
    assert.deepEqual(
      [ready?.type, ready?.status, ready?.lastTransitionTime],
      ["Ready", "True", "2026-01-01T00:00:00Z"],
    );
  },
});

const custom = theme("status of a custom resource", {
  "is dropped at creation": async (t) => {
    const protectors = (await t.space()).of("podprotectors");
    const created = await protectors.create({ ...bodies.podProtector("a"), status: cellStatus("cell-1") });
    assert.equal(created.status, undefined);
  },
  "is not touched by a write of the object": async (t) => {
    const protectors = (await t.space()).of("podprotectors");
    await protectors.create(bodies.podProtector("a"));
    const written = ok(await protectors.merge("a/status", { status: cellStatus("cell-1") }));
    const updated = ok(await protectors.put("a", { ...written, status: cellStatus("cell-2") }));
    assert.deepEqual(statusOf(updated).cells, [{ cellID: "cell-1" }]);
    assert.equal(versionOf(updated), versionOf(written), "so nothing changed at all");
  },
  "is all that a write of it changes: no spec, no labels, no annotations, no finalizers": async (t) => {
    const protectors = (await t.space()).of("podprotectors");
    await protectors.create(bodies.podProtector("a"));
    const metadata = { labels: { l: "1" }, annotations: { k: "1" }, finalizers: ["a.b/c"] };
    const patched = ok(
      await protectors.merge("a/status", { metadata, spec: { minAvailable: 9 }, status: cellStatus("cell-1") }),
    );
    assert.equal(patched.spec?.minAvailable, 1);
    assert.deepEqual(
      [meta(patched).labels, meta(patched).annotations, meta(patched).finalizers],
      [undefined, undefined, undefined],
    );
    assert.deepEqual(statusOf(patched).cells, [{ cellID: "cell-1" }]);
    assert.equal(meta(patched).generation, 1);
  },
  "is a compare-and-swap with PUT, shared with writes of the object": async (t) => {
    const protectors = (await t.space()).of("podprotectors");
    const created = await protectors.create(bodies.podProtector("a"));
    ok(await protectors.merge("a", { metadata: { labels: { l: "1" } } }));
    const message =
      'Operation cannot be fulfilled on podprotectors.podseidon.kubewharf.io "a": the object has been ' +
      "modified; please apply your changes to the latest version and try again";
    const answer = await protectors.put("a/status", { ...created, status: cellStatus("cell-1") });
    const status = refused(answer, 409, "Conflict", message);
    assert.deepEqual(status.details, { name: "a", group: "podseidon.kubewharf.io", kind: "podprotectors" });
  },
  "of eight writers at once lets one win at each version": async (t) => {
    const protectors = (await t.space()).of("podprotectors");
    const created = await protectors.create(bodies.podProtector("a"));
    const writes = Array.from({ length: 8 }, (_, index) =>
      protectors.put("a/status", { ...created, status: cellStatus(`cell-${index}`) }),
    );
    const codes = (await Promise.all(writes)).map(({ code }) => code).sort((a, b) => a - b);
    assert.deepEqual(codes, [200, 409, 409, 409, 409, 409, 409, 409]);
  },
  "that does not change keeps the version": async (t) => {
    const protectors = (await t.space()).of("podprotectors");
    await protectors.create(bodies.podProtector("a"));
    const written = ok(await protectors.merge("a/status", { status: cellStatus("cell-1") }));
    assert.equal(versionOf(ok(await protectors.put("a/status", written))), versionOf(written));
  },
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
  "without a version is refused with PUT": async (t) => {
    const protectors = (await t.space()).of("podprotectors");
    await protectors.create(bodies.podProtector("a"));
    const answer = await protectors.put("a/status", { ...bodies.podProtector("a"), status: cellStatus("cell-1") });
    refused(answer, 422, "Invalid", /metadata\.resourceVersion: Invalid value: 0: must be specified for an update$/);
  },
});

const annotation = "podseidon.kubewharf.io/fence";

const fence = theme("fence through pods/status", {
  "moves the pod's version and needs no other right than patch pods/status": async (t) => {
    const { pods } = await t.space();
    const created = await pods.create(bodies.pod("a", { nodeName: "node-0" }));
    const options = { contentType: "application/merge-patch+json", user: "fencer" } as const;
    const patch = { metadata: { uid: meta(created).uid, annotations: { [annotation]: "1" } } };
    const fenced = ok(await pods.request("PATCH", "a/status", { ...options, body: patch }), 200);
    assert.ok(compareVersions(versionOf(created), versionOf(fenced)) < 0);
    assert.deepEqual(meta(fenced).annotations, { [annotation]: "1" });
    const message =
      /^pods "a" is forbidden: User "fencer" cannot patch resource "pods" in API group "" in the namespace "/;
    refused(await pods.request("PATCH", "a", { ...options, body: patch }), 403, "Forbidden", message);
  },
  "with the same value moves nothing": async (t) => {
    const { pods } = await t.space();
    const { metadata } = await pods.create(bodies.pod("a"));
    const patch = { metadata: { uid: metadata?.uid, annotations: { [annotation]: "1" } } };
    const first = ok(await pods.merge("a/status", patch));
    assert.equal(versionOf(ok(await pods.merge("a/status", patch))), versionOf(first));
  },
  "of another UID is refused as a change of the UID, and the pod stays": async (t) => {
    const { pods } = await t.space();
    const created = await pods.create(bodies.pod("a"));
    const answer = await pods.merge("a/status", {
      metadata: { uid: "00000000-0000-4000-8000-000000000000", annotations: { [annotation]: "1" } },
    });
    const message =
      'Pod "a" is invalid: metadata.uid: Invalid value: "00000000-0000-4000-8000-000000000000": field is immutable';
    refused(answer, 422, "Invalid", message);
    assert.deepEqual(await pods.read("a"), created);
  },
  "of a pod that was replaced under its name is refused": async (t) => {
    const { pods } = await t.space();
    const first = await pods.create(bodies.pod("a"));
    ok(await pods.delete("a"));
    const second = await pods.create(bodies.pod("a"));
    const answer = await pods.merge("a/status", {
      metadata: { uid: meta(first).uid, annotations: { [annotation]: "1" } },
    });
    refused(answer, 422, "Invalid", /metadata\.uid: Invalid value: "[0-9a-f-]{36}": field is immutable$/);
    assert.deepEqual(await pods.read("a"), second);
  },
  "of a pod that is gone is refused": async (t) => {
    const { pods } = await t.space();
    const answer = await pods.merge("a/status", { metadata: { uid: "x", annotations: { [annotation]: "1" } } });
    refused(answer, 404, "NotFound", 'pods "a" not found');
  },
  "also reaches a terminating pod": async (t) => {
    const space = await t.space();
    await space.livePod("a");
    const marked = ok(await space.pods.delete("a"));
    const fenced = ok(await space.pods.merge("a/status", { metadata: { annotations: { [annotation]: "1" } } }));
    assert.ok(compareVersions(versionOf(marked), versionOf(fenced)) < 0);
    assert.equal(meta(fenced).deletionTimestamp, meta(marked).deletionTimestamp);
  },
});

export const statusCases = [...builtIn, ...custom, ...fence];
