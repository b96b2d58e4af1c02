/** Pods: graceful deletion with the kubelet's confirmation, binding, defaults, and what may not change. */
import assert from "node:assert/strict";
import { bodies } from "../bodies.ts";
import { theme } from "../case.ts";
import { ok, refused } from "../expect.ts";
import { compareVersions, meta, statusOf, type Thing, versionOf } from "../thing.ts";

const finalizer = "conformance.podseidon.test/hold";

function epochSeconds(time: string | null | undefined): number {
  return Date.parse(time ?? "") / 1000;
}

const graceful = theme("pod deletion", {
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
  "uses the pod's own grace period": async (t) => {
    const { pods } = await t.space();
    await pods.create(bodies.pod("a", { nodeName: "node-0", spec: { terminationGracePeriodSeconds: 3 } }));
    assert.equal(meta(ok(await pods.delete("a"))).deletionGracePeriodSeconds, 3);
  },
  "uses the request's grace period, from the body or the query": async (t) => {
    const space = await t.space();
    await space.livePod("a");
    await space.livePod("b");
    assert.equal(meta(ok(await space.pods.delete("a", { gracePeriodSeconds: 5 }))).deletionGracePeriodSeconds, 5);
    assert.equal(
      meta(ok(await space.pods.delete("b", undefined, { gracePeriodSeconds: 6 }))).deletionGracePeriodSeconds,
      6,
    );
  },
  "with a negative grace period means one second": async (t) => {
    const space = await t.space();
    await space.livePod("a");
    assert.equal(meta(ok(await space.pods.delete("a", { gracePeriodSeconds: -1 }))).deletionGracePeriodSeconds, 1);
  },
  "is finished by the kubelet's grace 0": async (t) => {
    const space = await t.space();
    const created = await space.livePod("a");
    ok(await space.pods.delete("a"));
    const gone = ok(
      await space.pods.delete("a", { gracePeriodSeconds: 0, preconditions: { uid: meta(created).uid } }),
      200,
    );
    assert.equal(gone.kind, "Pod");
    assert.equal(meta(gone).uid, meta(created).uid);
    assert.equal(await space.pods.has("a"), false);
  },
  "with grace 0 of a live pod removes it at once": async (t) => {
    const space = await t.space();
    await space.livePod("a");
    const gone = ok(await space.pods.delete("a", { gracePeriodSeconds: 0 }), 200);
    assert.equal(meta(gone).deletionGracePeriodSeconds, 0);
    assert.notEqual(meta(gone).deletionTimestamp, undefined);
    assert.equal(await space.pods.has("a"), false);
  },
  "of a pod without a node removes it at once": async (t) => {
    const { pods } = await t.space();
    await pods.create(bodies.pod("a"));
    assert.equal(ok(await pods.delete("a"), 200).kind, "Pod");
    assert.equal(await pods.has("a"), false);
  },
  "of a finished pod removes it at once": async (t) => {
    const space = await t.space();
    for (const phase of ["Succeeded", "Failed"]) {
      await space.livePod("a");
      ok(await space.pods.merge("a/status", { status: { phase } }));
      ok(await space.pods.delete("a"), 200);
      assert.equal(await space.pods.has("a"), false, phase);
    }
  },
  "repeated changes nothing": async (t) => {
    const space = await t.space();
    await space.livePod("a");
    const marked = ok(await space.pods.delete("a"));
    const again = ok(await space.pods.delete("a"), 200);
    assert.equal(versionOf(again), versionOf(marked));
    assert.equal(
      versionOf(ok(await space.pods.delete("a", { gracePeriodSeconds: 60 }))),
      versionOf(marked),
      "it is not prolonged",
    );
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
  "waits for finalizers after the grace period was confirmed": async (t) => {
    const space = await t.space();
    await space.livePod("a", { finalizers: [finalizer] });
    ok(await space.pods.delete("a"));
    const confirmed = ok(await space.pods.delete("a", { gracePeriodSeconds: 0 }));
    assert.equal(meta(confirmed).deletionGracePeriodSeconds, 0);
    assert.equal(await space.pods.has("a"), true);
    ok(await space.pods.merge("a", { metadata: { finalizers: null } }));
    assert.equal(await space.pods.has("a"), false);
  },
  "waits for the kubelet when finalizers go first": async (t) => {
    const space = await t.space();
    await space.livePod("a", { finalizers: [finalizer] });
    ok(await space.pods.delete("a"));
    ok(await space.pods.merge("a", { metadata: { finalizers: null } }));
    assert.equal(await space.pods.has("a"), true);
    ok(await space.pods.delete("a", { gracePeriodSeconds: 0 }));
    assert.equal(await space.pods.has("a"), false);
  },
  "with grace 0 and finalizers marks the pod and keeps it": async (t) => {
    const space = await t.space();
    await space.livePod("a", { finalizers: [finalizer] });
    const marked = ok(await space.pods.delete("a", { gracePeriodSeconds: 0 }), 200);
    assert.equal(meta(marked).deletionGracePeriodSeconds, 0);
    assert.equal(await space.pods.has("a"), true);
  },
  "does not stop the kubelet's status updates": async (t) => {
    const space = await t.space();
    await space.livePod("a");
    const marked = ok(await space.pods.delete("a"));
    const updated = ok(await space.pods.merge("a/status", { status: { phase: "Failed" } }));
    assert.equal(meta(updated).deletionTimestamp, meta(marked).deletionTimestamp);
    assert.equal(await space.pods.has("a"), true);
  },
});

function binding(name: string, node: string): object {
  return { apiVersion: "v1", kind: "Binding", metadata: { name }, target: { kind: "Node", name: node } };
}

const rest = theme("pod", {
  "gets its defaults": async (t) => {
    const { spec } = await (await t.space()).pods.create(bodies.pod("a"));
    const { restartPolicy, terminationGracePeriodSeconds, dnsPolicy, schedulerName } = spec ?? {};
    assert.deepEqual(
      [restartPolicy, terminationGracePeriodSeconds, dnsPolicy, schedulerName],
      ["Always", 30, "ClusterFirst", "default-scheduler"],
    );
  },
  "needs a container": async (t) => {
    const { pods } = await t.space();
    const answer = await pods.post({ ...bodies.pod("a"), spec: {} });
    refused(answer, 422, "Invalid", 'Pod "a" is invalid: spec.containers: Required value');
  },
  "is bound to a node once": async (t) => {
    const { pods } = await t.space();
    await pods.create(bodies.pod("a"));
    const bind = (node: string) => pods.request("POST", "a/binding", { body: binding("a", node) });
    const status = ok(await bind("node-0"), 201);
    assert.deepEqual([status.kind, status.status], ["Status", "Success"]);
    const bound = await pods.read("a");
    assert.equal(bound.spec?.nodeName, "node-0");
    const scheduled = statusOf(bound).conditions?.find(({ type }) => type === "PodScheduled");
    assert.equal(scheduled?.status, "True");
    const message = 'Operation cannot be fulfilled on pods/binding "a": pod a is already assigned to node "node-0"';
    refused(await bind("node-1"), 409, "Conflict", message);
  },
  "that is not there cannot be bound": async (t) => {
    const { pods } = await t.space();
    const answer = await pods.request("POST", "a/binding", { body: binding("a", "node-0") });
    refused(answer, 404, "NotFound", 'pods "a" not found');
  },
  "cannot be bound to no node": async (t) => {
    const { pods } = await t.space();
    await pods.create(bodies.pod("a"));
    refused(
      await pods.request("POST", "a/binding", { body: binding("a", "") }),
      500,
      "",
      "target.name: Required value",
    );
  },
  "may change its image, but not its containers or node": async (t) => {
    const space = await t.space();
    await space.livePod("a");
    const image = ok(await space.pods.merge("a", { spec: { containers: [{ name: "main", image: "web:2" }] } }));
    assert.equal(image.spec?.containers?.[0]?.image, "web:2");
    assert.equal(meta(image).generation, 2);
    for (const spec of [{ nodeName: "node-1" }, { terminationGracePeriodSeconds: 5 }, { hostNetwork: true }]) {
      const answer = await space.pods.merge("a", { spec });
      refused(
        answer,
        422,
        "Invalid",
        new RegExp(
          '^Pod "a" is invalid: spec: Forbidden: pod updates may not change fields other than ' +
            "`spec\\.containers\\[\\*\\]\\.image`,",
        ),
      );
    }
  },
  "may change labels and annotations": async (t) => {
    const space = await t.space();
    await space.livePod("a");
    const patched: Thing = ok(
      await space.pods.merge("a", { metadata: { labels: { app: "other" }, annotations: { k: "1" } } }),
    );
    assert.deepEqual([meta(patched).labels, meta(patched).annotations], [{ app: "other" }, { k: "1" }]);
    assert.equal(meta(patched).generation, 1);
  },
});

export const podCases = [...graceful, ...rest];
