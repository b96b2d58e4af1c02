/** Reviews of deletions and writes by validating webhooks: what they are sent, and what their answers do. */
import assert from "node:assert/strict";
import { setTimeout as delay } from "node:timers/promises";
import { theme } from "../case.ts";
import { ok, refused } from "../expect.ts";
import { type ReviewRequest } from "../reviews.ts";
import { type Space, summary } from "../scope.ts";
import { meta, type Thing, versionOf } from "../thing.ts";

const podKind = { group: "", version: "v1", kind: "Pod" };
const podResource = { group: "", version: "v1", resource: "pods" };
const webhookName = (profile: string): string => `${profile}.conformance.podseidon.test`;
const deniedBy = `admission webhook "${webhookName("deletions")}" denied the request`;

function namesOf(reviews: readonly ReviewRequest[]): readonly string[] {
  return reviews.map(({ oldObject }) => meta(oldObject ?? {}).name ?? "");
}

const sent = theme("review of a deletion", {
  "is sent the pod as it is, and who asks for what": async (t) => {
    const space = await t.space("deletions");
    const created = await space.livePod("a");
    ok(await space.pods.delete("a", { gracePeriodSeconds: 20, propagationPolicy: "Background" }));
    assert.equal(space.reviews.length, 1);
    const { uid, userInfo, oldObject, ...review } = space.reviews[0]!;
    assert.match(uid, /^[0-9a-f-]{36}$/);
    assert.equal(userInfo.username, "admin");
    assert.deepEqual(userInfo.groups, ["system:masters", "system:authenticated"]);
    assert.deepEqual(oldObject, created);
    const options = {
      kind: "DeleteOptions",
      apiVersion: "meta.k8s.io/v1",
      gracePeriodSeconds: 20,
      propagationPolicy: "Background",
    };
    assert.deepEqual(review, {
      kind: podKind,
      resource: podResource,
      requestKind: podKind,
      requestResource: podResource,
      name: "a",
      namespace: space.name,
      operation: "DELETE",
      object: null,
      dryRun: false,
      options,
      profile: "deletions",
      timeout: "10s",
    });
  },
  "of a live pod without grace comes for the mark and for the removal": async (t) => {
    const space = await t.space("deletions");
    const created = await space.livePod("a");
    ok(await space.pods.delete("a", { gracePeriodSeconds: 0 }));
    const reviews = summary(space.reviews);
    assert.deepEqual([reviews[0], reviews.at(-1)], ["DELETE live", "DELETE terminating"]);
    // In between a stale cache may show the pod again as it was before the mark.
    for (const { oldObject } of space.reviews.slice(0, -1)) assert.equal(versionOf(oldObject!), versionOf(created));
    assert.equal(await space.pods.has("a"), false);
  },
  "of a collection comes for each item, without a name": async (t) => {
    const space = await t.space("deletions");
    for (const name of ["a", "b"]) await space.livePod(name);
    ok(await space.pods.delete("", { gracePeriodSeconds: 7 }));
    assert.deepEqual(namesOf(space.reviews).toSorted(), ["a", "b"]);
    assert.deepEqual(
      space.reviews.map(({ name }) => name),
      [undefined, undefined],
    );
    assert.deepEqual(
      space.reviews.map(({ operation }) => operation),
      ["DELETE", "DELETE"],
    );
  },
  "is repeated at the new version when the pod changed meanwhile": async (t) => {
    const space = await t.space("deletions");
    const created = await space.livePod("a");
    space.review(async () => {
      if (space.reviews.length === 1)
        ok(await space.pods.merge("a/status", { metadata: { annotations: { fence: "1" } } }));
      return { allowed: true };
    });
    ok(await space.pods.delete("a"));
    const versions = space.reviews.map(({ oldObject }) => versionOf(oldObject!));
    assert.equal(versions[0], versionOf(created));
    // The committed deletion was reviewed at the version of the fence; a stale cache may have been asked about in
    // between.
    assert.notEqual(versions.at(-1), versions[0]);
    assert.equal(meta(space.reviews.at(-1)!.oldObject!).annotations?.["fence"], "1");
  },
  "that is refused at the new version leaves the pod alone": async (t) => {
    const space = await t.space("deletions");
    await space.livePod("a");
    space.review(async ({ oldObject }) => {
      const isFenced = meta(oldObject!).annotations?.["fence"] === "1";
      if (!isFenced) ok(await space.pods.merge("a/status", { metadata: { annotations: { fence: "1" } } }));
      return { allowed: !isFenced };
    });
    refused(await space.pods.delete("a"), 400, "", /denied the request/);
    assert.equal(meta(await space.pods.read("a")).deletionTimestamp, undefined);
  },
  "of a pod that was replaced while it ran does not delete the new one": async (t) => {
    const space = await t.space("deletions");
    const first = await space.livePod("a");
    space.review(async ({ oldObject }) => {
      const isFirst = meta(oldObject!).uid === meta(first).uid;
      return { allowed: isFirst };
    });
    ok(await space.pods.delete("a", { gracePeriodSeconds: 0 }));
    const second = await space.livePod("a");
    refused(await space.pods.delete("a"), 400, "", /denied the request/);
    assert.deepEqual(await space.pods.read("a"), second);
  },
});

const answered = theme("answer to a review", {
  "passes details on, and a wait also as a header": async (t) => {
    const space = await t.space("deletions");
    await space.livePod("a");
    const details = { retryAfterSeconds: 5, causes: [{ reason: "A", message: "B" }] };
    space.review(() => ({ allowed: false, status: { code: 429, reason: "TooManyRequests", message: "no", details } }));
    const answer = await space.pods.delete("a");
    assert.deepEqual(refused(answer, 429, "TooManyRequests", `${deniedBy}: no`).details, details);
    assert.equal(answer.headers["retry-after"], "5");
  },
  "that comes too late refuses under the policy Fail": async (t) => {
    const space = await t.space("slow-fail");
    await space.livePod("a");
    space.review(async () => {
      await delay(1_500);
      return { allowed: true };
    });
    const failed = new RegExp(
      String.raw`failed calling webhook "slow-fail\.conformance\.podseidon\.test": failed to call ` +
        String.raw`webhook: Post "https:.*\/slow-fail\?timeout=1s": context deadline exceeded`,
    );
    refused(await space.pods.delete("a"), 500, "InternalError", failed);
    assert.equal(space.reviews[0]?.timeout, "1s");
    assert.equal(meta(await space.pods.read("a")).deletionTimestamp, undefined);
  },
  "that comes too late is not waited for under the policy Ignore": async (t) => {
    const space = await t.space("slow-ignore");
    await space.livePod("a");
    space.review(async () => {
      await delay(1_500);
      return { allowed: false };
    });
    assert.notEqual(meta(ok(await space.pods.delete("a"))).deletionTimestamp, undefined);
  },
  "of two webhooks must allow twice": async (t) => {
    const space = await t.space("twice");
    await space.livePod("a");
    space.review(({ profile }) => ({ allowed: profile !== "again", status: { message: "no" } }));
    const denied = 'admission webhook "again.conformance.podseidon.test" denied the request: no';
    refused(await space.pods.delete("a"), 400, "", denied);
    assert.deepEqual(space.reviews.map(({ profile }) => profile).toSorted(), ["again", "twice"]);
    assert.equal(meta(await space.pods.read("a")).deletionTimestamp, undefined);
  },
});

const matched = theme("webhook configuration", {
  "is for the namespaces that its selector matches": async (t) => {
    const [space, other] = [await t.space("deletions"), await t.space()];
    other.review();
    await other.livePod("a");
    ok(await other.pods.delete("a"));
    assert.deepEqual([space.reviews, other.reviews], [[], []]);
  },
  "shows the pod before and after a write of its status that ends it": async (t) => {
    const space = await t.space("writes");
    const created = await space.livePod("a");
    ok(await space.pods.merge("a/status", { status: { phase: "Failed" } }));
    const review = space.reviews.at(-1);
    assert.deepEqual([review?.operation, review?.resource, review?.subResource], ["UPDATE", podResource, "status"]);
    assert.deepEqual(review?.oldObject, created);
    const after = review?.object as { readonly status?: { readonly phase?: string } } | null | undefined;
    assert.equal(after?.status?.phase, "Failed");
  },
  "knows the name that generateName made": async (t) => {
    const space = await t.space("writes");
    const created = await space.configMaps.create({
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { generateName: "g-" },
    });
    assert.equal(space.reviews[0]?.name, meta(created).name);
  },
});

const evictions = theme("eviction", {
  "moves the version twice: by the condition, and by the mark": async (t) => {
    const space = await t.space();
    const created = await space.livePod("a");
    ok(await space.evict("a"), 201);
    const stream = await space.pods.watch({ resourceVersion: versionOf(created), timeoutSeconds: 1 });
    const marks = (await stream.rest()).map(({ object }) => meta(object).deletionTimestamp !== undefined);
    assert.deepEqual(marks, [false, true]);
  },
  "deletes the pod although it changed while the review ran": async (t) => {
    const space = await t.space("deletions");
    await space.livePod("a");
    space.review(async () => {
      ok(await space.pods.merge("a/status", { metadata: { annotations: { fence: "1" } } }));
      return { allowed: true };
    });
    ok(await space.evict("a"), 201);
    assert.equal(space.reviews.length, 1);
    assert.notEqual(meta(await space.pods.read("a")).deletionTimestamp, undefined);
  },
  "that names the version is stopped by a fence while the review runs": async (t) => {
    const space = await t.space("deletions");
    const created = await space.livePod("a");
    space.review(async () => {
      ok(await space.pods.merge("a/status", { metadata: { annotations: { fence: "1" } } }));
      return { allowed: true };
    });
    refused(await space.evict("a", naming(created)), 409, "Conflict", /the ResourceVersion in the precondition/);
    const { resourceVersion, deletionTimestamp } = meta(await space.pods.read("a"));
    assert.notEqual(resourceVersion, versionOf(created));
    assert.equal(deletionTimestamp, undefined);
  },
  "that names the version is stopped by a fence between its two writes": async (t) => {
    const space = await t.space();
    // Nothing holds a real server between the two writes: fences are sent beside evictions until one comes there.
    let between = 0;
    for (let round = 0; round < racesMax && between === 0; round++) between += await raceFences(space, `p${round}`);
    assert.ok(between > 0, `no fence of ${racesMax} races came between the two writes`);
  },
});

const racesMax = 300;
const fencesPerRace = 6;

function naming(pod: Thing): object {
  return { deleteOptions: { preconditions: { resourceVersion: versionOf(pod) } } };
}

/** Resolves to how many fences came between the two writes of an eviction that names the version. */
async function raceFences(space: Space, name: string): Promise<number> {
  const created = await space.livePod(name);
  const fences = Array.from({ length: fencesPerRace }, (_, index) =>
    space.pods.merge(`${name}/status`, { metadata: { annotations: { fence: String(index) } } }),
  );
  const [evicted, ...answers] = await Promise.all([space.evict(name, naming(created)), ...fences]);
  const fenced = answers.flatMap(({ code, body }) => (code === 200 ? [body] : []));
  const alive = fenced.filter((pod) => meta(pod).deletionTimestamp === undefined);
  const isTerminating = meta(await space.pods.read(name)).deletionTimestamp !== undefined;
  // A fence that left the pod alive has stopped the eviction, whatever came after it.
  assert.equal(isTerminating, alive.length === 0);
  if (alive.length === 0) ok(evicted, 201);
  else refused(evicted, 409, "Conflict", /ResourceVersion|has been modified/);
  const isMarked = ({ status }: Thing): boolean => JSON.stringify(status).includes("DisruptionTarget");
  return alive.some(isMarked) ? 1 : 0;
}

export const reviewCases = [...evictions, ...sent, ...answered, ...matched];
