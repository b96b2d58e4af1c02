/** What a review can leave in a status: nothing in a cell that nobody counts (docs/accounting.md#what-is-recorded). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { annotations } from "../../../../src/api/v1alpha1/names.ts";
import { cell, deleteReview, type Json, pod, protector } from "../support/objects.ts";
import { world } from "../support/replica.ts";

const forced = { annotations: { [annotations.forceDelete]: "" } };
/** 80 required, 100 there. */
const roomy = () => protector({ cells: [cell("c1", 100)] });

for (const [name, options, parts] of [
  ["a forged force-delete", {}, forced],
  ["--webhook-dry-run behind a mistyped URL", { dryRun: true }, {}],
] as const) {
  test(`${name} of a cell that nobody counts leaves nothing in the status, and is counted`, async () => {
    const { core, replica } = world([roomy()], options);
    const before = JSON.stringify(core.object("ns/web"));
    for (const uid of ["a", "b"]) {
      const answer = await replica.review(deleteReview(pod("p", { uid, ...parts })), { cellID: "ghost" });
      assert.equal(answer.allowed, true);
      assert.match(answer.warnings[0] ?? "", /^allowed by force-delete or dry-run: .* has no counts of cell "ghost"/);
    }
    assert.equal(JSON.stringify(core.object("ns/web")), before);
    assert.equal(core.writes, 0);
    assert.equal(replica.metrics.count('webhook_record_failure{error="UnknownCell"}'), 2);
    assert.equal((await replica.review(deleteReview(pod("p", { uid: "real" })))).allowed, true);
  });
}

test("a UID that is too long gets into no status and no log, forced or not", async () => {
  const { core, replica } = world([roomy()]);
  const uid = "u".repeat(900_000);
  assert.equal((await replica.review(deleteReview(pod("p", { uid })))).http, 500);
  assert.equal((await replica.review(deleteReview(pod("p", { uid, ...forced })))).allowed, true);
  assert.equal(core.writes, 0);
  assert(JSON.stringify(replica.log.lines).length < 1_000);
});

test("the pod of a cell that nobody counts is refused even when it is too young to need quota", async () => {
  const { core, replica } = world([protector({ minReadySeconds: 3_600, cells: [cell("c1", 100)] })]);
  const young = pod("p", { readySince: "2030-01-01T00:00:00Z" });
  const answer = await replica.review(deleteReview(young), { cellID: "new" });
  assert.match(answer.message, /has no counts of cell "new"/);
  assert.equal(core.writes, 0);
});

test("a deletion that is only counted leaves no record in a cell that nobody counts", async () => {
  const wide = { selector: { matchLabels: { app: "api" } }, aggregationSelector: { matchLabels: { app: "web" } } };
  const { core, replica } = world([protector({ ...wide, cells: [cell("c1", 100)] })]);
  assert.equal((await replica.review(deleteReview(pod("p")), { cellID: "new" })).allowed, true);
  assert.equal(core.writes, 0);
  assert.equal(replica.metrics.count('webhook_record_failure{error="UnknownCell"}'), 1);
  assert.equal((await replica.review(deleteReview(pod("q")))).allowed, true);
  assert.equal(core.writes, 1);
});

test("a cell that loses its counts before the record is written leaves none", async () => {
  const { core, replica } = world([roomy()]);
  core.watches = false;
  core.put(protector({ cells: [] }));
  assert.equal((await replica.review(deleteReview(pod("p", forced)))).allowed, true);
  assert.deepEqual((core.object("ns/web")["status"] as Json)["cells"], []);
  assert.equal(replica.metrics.count('webhook_record_failure{error="UnknownCell"}'), 1);
});
