import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { webhookPage, withDecisionOrder } from "../../../../scripts/decision-order.ts";
import { annotations } from "../../../../src/api/v1alpha1/names.ts";
import { refusedForNow } from "../../../../src/webhook/decide/decision.ts";
import { deletionOrder, judgingOrder, subjectOrder } from "../../../../src/webhook/decide/decision-order.ts";
import { InFlightLimit } from "../../../../src/webhook/http/in-flight-limit.ts";
import { cell, deleteReview, endReview, evictReview, type Json, pod, protector } from "../support/objects.ts";
import { type ReplicaOptions } from "../support/replica.ts";
import { atFloor, roomy, worldOf } from "../support/told.ts";
import { workerOf } from "../support/worker.ts";

test("docs/webhook.md has the order of decisions; if not: node scripts/n.mjs scripts/decision-order.ts", () => {
  const page = readFileSync(webhookPage, "utf8");
  assert.equal(page, withDecisionOrder(page));
});

interface Example {
  readonly of: readonly Json[];
  readonly with?: ReplicaOptions & { readonly isOverloaded?: boolean };
  readonly review: Json;
  /** All that answer, the innermost first; by default the rule alone. */
  readonly answer?: readonly string[];
}

const forced = { annotations: { [annotations.forceDelete]: "" } };
const shadow = { annotations: { [annotations.mode]: "shadow" } };
const unready = pod("p", { ready: false });
const bare = { ...unready, status: { phase: "Pending", conditions: [] } };
const overload = { isOverloaded: true };
const crowd = Array.from({ length: 51 }, (_, index) => protector({ name: `p-${index}`, cells: [cell("c1", 100)] }));
const deleted = deleteReview(pod("p"));

/** A review for each rule. */
const examples: Readonly<Record<string, Example>> = {
  "unguarded-namespace": { of: [], review: evictReview("p") },
  "eviction-in-overload": { of: [roomy()], with: overload, review: evictReview("p") },
  irrelevant: { of: [roomy()], review: deleteReview(pod("p"), { operation: "UPDATE" }) },
  "status-write": { of: [roomy()], review: endReview(pod("p"), { userInfo: { username: "system:node:n1" } }) },
  "absent-in-dry-run": { of: [roomy()], with: workerOf(undefined), review: evictReview("p", {}, { dryRun: true }) },
  "not-found": { of: [roomy()], with: workerOf(undefined), review: evictReview("p") },
  conflict: {
    of: [roomy()],
    with: workerOf(() => pod("p")),
    review: evictReview("p", { deleteOptions: { preconditions: { uid: "other" } } }),
  },
  unreadable: { of: [roomy()], review: deleteReview(null) },
  terminating: { of: [atFloor()], review: deleteReview(pod("p", { terminating: true })) },
  finished: { of: [atFloor()], review: deleteReview(pod("p", { phase: "Failed" })) },
  unready: { of: [atFloor()], with: { unsynced: true }, review: deleteReview(bare) },
  "not-synced": { of: [roomy()], with: { unsynced: true }, review: deleted },
  "unready-for-all": { of: [atFloor()], review: deleteReview(unready) },
  forced: { of: [atFloor()], review: deleteReview(pod("p", forced)) },
  unmatched: { of: [atFloor()], review: deleteReview(pod("p", { labels: { app: "other" } })) },
  "dry-run": { of: [roomy()], review: deleteReview(pod("p"), { dryRun: true }) },
  overload: { of: [roomy()], with: overload, review: deleted },
  "lost-node": {
    of: [atFloor()],
    with: { orphanedPodGraceMs: 0 },
    review: endReview(pod("p", { nodeName: "node-1" })),
    answer: ["several", "lost-node"],
  },
  judged: { of: [roomy()], review: deleted, answer: ["several", "judged"] },
  crowd: { of: crowd, review: deleted, answer: ["crowd", "judged"] },
  "no-cell": {
    of: [roomy()],
    with: { cellLabel: "cell", allowedCells: new Set(["by-label", "c1"]) },
    review: deleted,
    answer: ["no-cell", "judged"],
  },
  "shadow-in-overload": {
    of: [protector({ ...shadow, cells: [cell("c1", 100)] })],
    with: overload,
    review: deleted,
    answer: ["shadow-in-overload", "judged"],
  },
  several: { of: [roomy()], review: deleted, answer: ["several", "judged"] },
};

const rules = [...new Set([...subjectOrder, ...deletionOrder, ...judgingOrder])];
for (const { name, statuses } of rules) {
  test(`the rule ${name} decides its reviews, with the status that docs/webhook.md says`, async ({ mock }) => {
    const { of, with: options, review, answer = [name] } = examples[name]!;
    const answered: string[] = [];
    for (const rule of rules) {
      const decide: (asked: never) => unknown = rule.decide;
      mock.method(rule, "decide", (asked: never) => {
        const decision = decide(asked);
        if (decision !== undefined) answered.push(rule.name);
        return decision;
      });
    }
    if (options?.isOverloaded === true)
      mock.method(InFlightLimit.prototype, "enter", () => refusedForNow("Overloaded", "too many reviews"));
    const { replica } = worldOf({ of, do: [], ...(options && { with: options }) });
    await replica.review(review, { cellID: options?.cellLabel === undefined ? "c1" : "by-label" });
    assert.deepEqual(answered, answer);
    const told = [...replica.metrics.values.keys()].filter((text) => text.startsWith("webhook_request{"));
    const expected = statuses.some((status) => told.some((text) => text.includes(`status="${status}"`)));
    assert.ok(expected || statuses.length === 0, `${told.join()} is none of ${statuses.join()}`);
  });
}
