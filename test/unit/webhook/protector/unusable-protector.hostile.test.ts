/**
 * Hostile PodProtectors neither crash nor disable the others, and are judged on the safe side
 * (docs/webhook.md#invalid-podprotectors).
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { cell, deleteReview, evictReview, type Json, pod, protector, type ProtectorParts } from "../support/objects.ts";
import { world } from "../support/replica.ts";
import { workerOf } from "../support/worker.ts";

/**
 * One replica over a hostile object named `bad`, which may mean the pods with app=bad, and a good one for app=web with
 * one deletion to spare.
 */
function beside(bad: Json, options: Parameters<typeof world>[1] = {}) {
  const made = world([bad, protector({ cells: [cell("c1", 81)] })], options);
  const deletion = (name: string, app: string) => deleteReview(pod(name, { labels: { app } }));
  return { ...made, badPod: deletion("b", "bad"), goodPod: deletion("g", "web"), otherPod: deletion("o", "other") };
}

const bad = (parts: ProtectorParts = {}): Json =>
  protector({ name: "bad", selector: { matchLabels: { app: "bad" } }, cells: [cell("c1", 100)], ...parts });

function withStatus(status: unknown): Json {
  return { ...bad(), status };
}

/** What is invalid: its own pods are refused, the others are not affected. */
const unusable: Readonly<Record<string, Json>> = {
  "an unknown operator": bad({
    selector: { matchLabels: { app: "bad" }, matchExpressions: [{ key: "tier", operator: "Gt", values: ["1"] }] },
  }),
  "an operator that is a hostile text": bad({
    selector: {
      matchLabels: { app: "bad" },
      matchExpressions: [{ key: "tier", operator: `\u001b[2J\n${"x".repeat(1_000_000)}` }],
    },
  }),
  "In without values": bad({
    selector: { matchLabels: { app: "bad" }, matchExpressions: [{ key: "tier", operator: "In" }] },
  }),
  "values of the wrong type": bad({
    selector: { matchLabels: { app: "bad" }, matchExpressions: [{ key: "tier", operator: "In", values: [7] }] },
  }),
  "cells of the wrong type": withStatus({ cells: "c1", summary: {} }),
  "a cell that is a number": withStatus({ cells: [7], summary: {} }),
  "a cell ID that is a number": withStatus({ cells: [{ cellID: 7 }], summary: {} }),
  "buckets that are no list": withStatus({ cells: [{ cellID: "c1", admissionHistory: { buckets: {} } }], summary: {} }),
  "a bucket without a start": bad({ cells: [cell("c1", 100, {}, [{ podUID: "x" }])] }),
  "a negative count of pods": bad({ cells: [cell("c1", -3)] }),
  "a count of pods that is a text": bad({ cells: [cell("c1", 100, { availableReplicas: "100" })] }),
  "a minAvailable that is a percentage": { ...bad(), spec: { ...(bad()["spec"] as Json), minAvailable: "50%" } },
  "a minAvailable that is no whole number": { ...bad(), spec: { ...(bad()["spec"] as Json), minAvailable: 0.5 } },
  "the same cell twice": bad({ cells: [cell("c1", 100), cell("c1", 100)] }),
  "10 MB of buckets": bad({
    cells: [
      cell(
        "c1",
        100,
        {},
        Array.from({ length: 100_000 }, (_, index) => ({
          startTime: "2026-01-01T00:00:00.000000Z",
          podUID: `01234567-89ab-cdef-0123-${String(index).padStart(12, "0")}`,
        })),
      ),
    ],
  }),
  "10 MB of digests": bad({
    cells: [
      cell("c1", 100, {}, [
        {
          startTime: "2026-01-01T00:00:00Z",
          counter: 900_000,
          podResourceVersion: "1",
          podUIDDigests: "A".repeat(10_000_000),
        },
      ]),
    ],
  }),
};

for (const [name, object] of Object.entries(unusable)) {
  test(`an invalid PodProtector admits nothing and does not affect the others: ${name}`, async () => {
    const events: string[] = [];
    const recorder = {
      record: (
        regarding: { readonly name: string; readonly uid?: string | undefined },
        _type: string,
        reason: string,
      ) => void events.push(`${regarding.name} ${regarding.uid} ${reason}`),
      close() {},
    };
    const { replica, badPod, goodPod, otherPod } = beside(object, { events: new Map([["core", recorder]]) });
    assert.deepEqual(events, ["bad uid-of-bad UnusablePodProtector"]);

    const refused = await replica.review(badPod);
    assert.equal(refused.code, 503);
    assert.match(refused.message, /^PodProtector core\/ns\/bad is invalid, so pod deletions are denied: /);
    assert.ok(refused.message.length < 700, refused.message);
    assert.doesNotMatch(refused.message, /\p{Cc}/u);
    assert.equal((await replica.review(goodPod)).allowed, true);
    assert.equal((await replica.review(otherPod)).allowed, true);

    assert.equal(replica.metrics.values.get('webhook_unusable_podprotector{podprotector="core/ns/bad"}')?.at(-1), 1);
    assert.equal(replica.metrics.count('ppr_index_error{error="Invalid"}'), 1);
    const lines = replica.log.lines.filter(({ level }) => level === "error");
    assert.deepEqual(
      lines.map(({ fields }) => fields["podProtector"]),
      ["ns/bad"],
    );
  });
}

const odd = unusable["an unknown operator"]!;

test("an invalid PodProtector without any selector refuses every pod of its namespace, and of no other", async () => {
  const { replica, otherPod } = beside({ ...bad(), spec: null });
  assert.equal((await replica.review(otherPod)).code, 503);
  const elsewhere = deleteReview(pod("p", { namespace: "elsewhere" }));
  assert.equal((await replica.review(elsewhere)).allowed, true);
});

test("an invalid PodProtector lets go of NotReady and terminating pods, as every PodProtector does", async () => {
  const { replica } = beside(odd);
  const labels = { app: "bad" };
  assert.equal((await replica.review(deleteReview(pod("p", { labels, ready: false })))).allowed, true);
  assert.equal((await replica.review(deleteReview(pod("p", { labels, terminating: true })))).allowed, true);
});

test("an invalid PodProtector gives way to force-delete, with a warning and a metric", async () => {
  const { replica } = beside(odd);
  const forced = pod("p", { labels: { app: "bad" }, annotations: { "podseidon.kubewharf.io/force-delete": "" } });
  const answer = await replica.review(deleteReview(forced));
  assert.equal(answer.allowed, true);
  assert.match(answer.warnings[0] ?? "", /is invalid/);
  assert.equal(replica.metrics.count('webhook_record_failure{error="Unusable"}'), 1);
});

test("an invalid PodProtector refuses evictions and dry runs too", async () => {
  const { replica } = beside(odd, workerOf(pod("e", { labels: { app: "bad" } })));
  assert.equal((await replica.review(evictReview("e"))).code, 503);
  const dryRun = deleteReview(pod("p", { labels: { app: "bad" } }), { dryRun: true });
  assert.equal((await replica.review(dryRun)).code, 503);
});

test("an invalid PodProtector protects what it protected before, counted and unprotected pods excepted", async () => {
  const aggregationSelector = { matchExpressions: [{ key: "app", operator: "In", values: ["bad", "counted"] }] };
  const { core, replica, badPod, otherPod } = beside(bad({ aggregationSelector }));
  core.put({ ...bad(), spec: null });
  assert.equal((await replica.review(badPod)).code, 503);
  assert.equal((await replica.review(deleteReview(pod("c", { labels: { app: "counted" } })))).allowed, true);
  assert.equal(replica.metrics.count('webhook_record_failure{error="Unusable"}'), 1);
  assert.equal((await replica.review(otherPod)).allowed, true);
});

test("an invalid PodProtector is in force as it says as soon as it is fixed, and is said to be valid", async () => {
  const { core, replica, badPod } = beside(odd);
  core.put(bad());
  assert.equal((await replica.review(badPod)).allowed, true);
  assert.equal(replica.metrics.values.get('webhook_unusable_podprotector{podprotector="core/ns/bad"}')?.at(-1), 0);
});

test("an invalid PodProtector is in force no longer when it was deleted, or marked by the generator", async () => {
  const { clock, core, replica, badPod } = beside(odd);
  core.put({
    ...odd,
    metadata: { ...(odd["metadata"] as Json), annotations: { "podseidon.kubewharf.io/released": "" } },
  });
  assert.equal((await replica.review(badPod)).allowed, true);
  core.put(odd);
  assert.equal((await replica.review(badPod)).code, 503);
  core.remove("ns/bad");
  // The CRD is read.
  await clock.advance(20);
  assert.equal((await replica.review(badPod)).allowed, true);
  assert.equal(replica.metrics.values.get('webhook_unusable_podprotector{podprotector="core/ns/bad"}')?.at(-1), 0);
});

test("an invalid PodProtector is logged once for each reason, however often it is written", async () => {
  const { core, replica } = beside(odd);
  for (let index = 0; index < 5; index++) core.put(odd);
  assert.equal(replica.log.lines.filter(({ level }) => level === "error").length, 1);
  assert.equal(replica.metrics.count("ppr_index_error"), 6);
});

const spec = (extra: Json): Json => ({ ...bad(), spec: { ...(bad()["spec"] as Json), ...extra } });
/** Whether a pod with app=bad may be deleted. */
const judged: Readonly<Record<string, readonly [object: Json, isAllowed: boolean]>> = {
  "a huge minAvailable refuses": [spec({ minAvailable: 1e300 }), false],
  "a negative minAvailable is no floor": [spec({ minAvailable: -5 }), true],
  "a negative minReadySeconds is 0": [spec({ minReadySeconds: -5 }), true],
  "a huge minReadySeconds makes every pod too young": [spec({ minReadySeconds: 1e15 }), true],
  "duplicate In values are one": [
    spec({ selector: { matchExpressions: [{ key: "app", operator: "In", values: ["bad", "bad", "bad"] }] } }),
    true,
  ],
  "unknown fields everywhere are kept": [
    {
      ...spec({ future: { deep: [1] } }),
      status: { cells: [{ ...cell("c1", 100), future: 1 }], summary: summary(), future: {} },
      future: 1,
    },
    true,
  ],
  "buckets with neither UID nor end time count": [
    bad({ cells: [cell("c1", 81, {}, [{ startTime: "nonsense" }])] }),
    false,
  ],
  "a negative counter of a bucket counts as 1": [
    bad({ cells: [cell("c1", 81, {}, [{ startTime: "2026-01-01T00:00:00Z", podUID: "x", counter: -100 }])] }),
    false,
  ],
  "a huge counter of a bucket refuses": [
    bad({ cells: [cell("c1", 100, {}, [{ startTime: "2026-01-01T00:00:00Z", counter: 1e15 }])] }),
    false,
  ],
  "cells named like parts of JavaScript are cells": [
    bad({ cells: [cell("__proto__", 0), cell("constructor", 0), cell("c1", 100)] }),
    true,
  ],
  "a negative maxConcurrentLag is no limit": [spec({ admissionHistoryConfig: { maxConcurrentLag: -1 } }), true],
  "a history of nonsense versions": [
    bad({
      cells: [
        cell("c1", 100, { resourceVersion: "x", countedAt: "y" }, [
          { startTime: "", podUID: "", podResourceVersion: "z" },
        ]),
      ],
    }),
    true,
  ],
};

for (const [name, [object, isAllowed]] of Object.entries(judged)) {
  test(`a PodProtector with odd but valid values: ${name}`, async () => {
    const { replica, badPod, goodPod } = beside(object);
    assert.equal((await replica.review(badPod)).allowed, isAllowed);
    assert.equal((await replica.review(goodPod)).allowed, true);
    assert.equal(replica.metrics.count("ppr_index_error"), 0);
  });
}

test("a PodProtector with odd but valid values: a selector of thousands of labels selects whom it says", async () => {
  const matchLabels = Object.fromEntries(Array.from({ length: 5_000 }, (_, index) => [`key-${index}`, "x"]));
  const values = Array.from({ length: 1_000 }, (_, index) => `v${index}`);
  const matchExpressions = Array.from({ length: 50 }, (_, index) => ({ key: `in-${index}`, operator: "In", values }));
  const { replica, goodPod } = beside(bad({ minAvailable: 100, selector: { matchLabels, matchExpressions } }));
  const more = Object.fromEntries(matchExpressions.map(({ key }) => [key, "v999"]));
  assert.equal((await replica.review(deleteReview(pod("b", { labels: { ...matchLabels, ...more } })))).code, 429);
  assert.equal((await replica.review(deleteReview(pod("c", { labels: matchLabels })))).allowed, true);
  assert.equal((await replica.review(goodPod)).allowed, true);
});

test("a PodProtector with odd but valid values: labels named like parts of JavaScript are labels", async () => {
  const labels = JSON.parse('{"__proto__":"a","constructor":"b","toString":"c"}') as Record<string, string>;
  const { replica } = beside(bad({ minAvailable: 100, selector: { matchLabels: labels } }));
  assert.equal((await replica.review(deleteReview(pod("p", { labels })))).code, 429);
  assert.equal((await replica.review(deleteReview(pod("q", { labels: { app: "other" } })))).allowed, true);
});

function summary(): Json {
  return { totalReplicas: 0, aggregatedAvailableReplicas: 0, estimatedAvailableReplicas: 0 };
}
