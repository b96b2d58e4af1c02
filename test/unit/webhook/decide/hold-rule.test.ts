import assert from "node:assert/strict";
import { test } from "node:test";
import { type QuotaFigures } from "../../../../src/accounting/reserve/quota-figures.ts";
import { readPodRecord } from "../../../../src/api/pod.ts";
import { holdabilityOf, holdReasonOf } from "../../../../src/webhook/decide/hold-rule.ts";
import { type RefusingProtector } from "../../../../src/webhook/decide/refusals/refusal.ts";
import { type Deletion } from "../../../../src/webhook/deletion.ts";
import { pod } from "../support/objects.ts";

const record = readPodRecord(pod("p"))!;
const deletion: Deletion = { operation: "delete", cellID: "c1", pod: record, criterion: undefined, isForced: false };
const eviction: Deletion = { ...deletion, operation: "evict" };
const figures = (unconfirmed: number): QuotaFigures => ({
  criterion: "Available",
  required: 2,
  aggregated: 2,
  total: 2,
  unconfirmed,
  outstanding: unconfirmed,
  cells: [],
});
const owner = { name: "Deployment ns/web", fields: "", undone: "", hasVanished: false, isUndrainable: false };

function reasonOf(verdict: RefusingProtector["verdict"], more: Partial<RefusingProtector> = {}, of = deletion) {
  return holdReasonOf([{ id: "core/ns/web", verdict, owner: undefined, ...more }], of);
}

test("promised deletions may settle within a moment, be it quota or maxConcurrentLag that they take", () => {
  for (const asked of [deletion, eviction])
    for (const cause of ["unconfirmed", "lag-limit"] as const)
      assert.equal(reasonOf({ kind: "retry", cause, figures: figures(1) }, {}, asked), "promised");
});

test("a full history, silent and uncounted cells, and what is invalid do not pass within a moment", () => {
  const verdicts: readonly RefusingProtector["verdict"][] = [
    { kind: "retry", cause: "full-buffer", figures: figures(1) },
    { kind: "retry", cause: "full-status", figures: figures(1) },
    { kind: "cell-silent", silentForMs: 1, figures: figures(1) },
    { kind: "counts-pending", awaited: ["c1"], figures: figures(0) },
    { kind: "unusable", reason: "odd" },
  ];
  for (const verdict of verdicts) assert.equal(reasonOf(verdict, { owner }), undefined, verdict.kind);
});

test("a generated floor may be about to fall: for a deletion, with nothing promised and no silent cell", () => {
  const atFloor = { kind: "rejected", figures: figures(0) } as const;
  assert.equal(reasonOf(atFloor, { owner }), "floor");
  assert.equal(reasonOf(atFloor), undefined);
  assert.equal(reasonOf(atFloor, { owner: { ...owner, hasVanished: true } }), undefined);
  assert.equal(reasonOf(atFloor, { owner }, eviction), undefined);
  assert.equal(reasonOf({ ...atFloor, figures: figures(1) }, { owner }), undefined);
  assert.equal(reasonOf({ ...atFloor, missed: ["c2"] }, { owner }), undefined);
});

test("of several that refuse, each has to pass, and the shortest hold counts", () => {
  const promised: RefusingProtector = {
    id: "core/ns/a",
    verdict: { kind: "retry", cause: "unconfirmed", figures: figures(1) },
    owner: undefined,
  };
  const floor: RefusingProtector = { id: "core/ns/b", verdict: { kind: "rejected", figures: figures(0) }, owner };
  assert.equal(holdReasonOf([], deletion), undefined);
  assert.equal(holdReasonOf([promised, promised], deletion), "promised");
  assert.equal(holdReasonOf([promised, floor], deletion), "floor");
  assert.equal(holdReasonOf([promised, { ...floor, owner: undefined }], deletion), undefined);
});

test("who is held at all, and within the limit of owners, depends on the caller", () => {
  const account = (name: string): string => `system:serviceaccount:kube-system:${name}`;
  assert.equal(holdabilityOf(deletion, account("replicaset-controller")), "by-owner");
  assert.equal(holdabilityOf(deletion, "system:kube-controller-manager"), "by-owner");
  assert.equal(holdabilityOf(deletion, account("node-controller")), "always");
  assert.equal(holdabilityOf(eviction, "somebody"), "always");
  for (const user of ["system:kube-scheduler", account("pod-garbage-collector")])
    for (const asked of [deletion, eviction]) assert.equal(holdabilityOf(asked, user), "never");
  assert.equal(holdabilityOf({ ...deletion, lostNode: "node-1" }, "system:kube-controller-manager"), "never");
});
