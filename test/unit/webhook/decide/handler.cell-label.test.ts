/** Deletions where a label of the pod names its cell (docs/cells.md#cells-by-label). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { annotations } from "../../../../src/api/v1alpha1/names.ts";
import { type KubeClient } from "../../../../src/kube/kube-client.ts";
import { cell, deleteReview, evictReview, type Json, pod, protector } from "../support/objects.ts";
import { type ReplicaOptions, world } from "../support/replica.ts";

const key = "example.com/cell";
const byLabel = { cellLabel: key, allowedCells: new Set(["blue", "green"]) };
const url = { cellID: "by-label" };
const forced = { annotations: { [annotations.forceDelete]: "" } };
/** 80 required, 100 there, in two cells. */
const roomy = () => protector({ cells: [cell("blue", 60), cell("green", 40)] });
const labelled = (value: string | undefined, name = "p", parts = {}) =>
  pod(name, { ...parts, labels: { app: "web", ...(value !== undefined && { [key]: value }) } });

function bucketsOf(object: Json): Record<string, number> {
  const cells = (object["status"] as { cells: { cellID: string; admissionHistory?: { buckets?: object[] } }[] }).cells;
  return Object.fromEntries(
    cells.map(({ cellID, admissionHistory }) => [cellID, admissionHistory?.buckets?.length ?? 0]),
  );
}

test("a deletion is recorded in the cell that the label of its pod names", async () => {
  const { core, replica } = world([roomy()], byLabel);
  for (const [value, name] of [
    ["blue", "a"],
    ["blue", "b"],
    ["green", "c"],
  ] as const)
    assert.equal((await replica.review(deleteReview(labelled(value, name, { uid: name })), url)).allowed, true);
  assert.deepEqual(bucketsOf(core.object("ns/web")), { blue: 2, green: 1 });
  assert.equal(replica.metrics.count('webhook_request{cell="blue"'), 2);
});

for (const [what, value, expected] of [
  [
    "without the label",
    undefined,
    /^Pod ns\/p has no cell: it lacks the label example\.com\/cell \(--webhook-cell-label\)/,
  ],
  [
    "with an unknown cell",
    "red",
    /^Pod ns\/p has no cell: its label example\.com\/cell .* is "red", which is none of --w/,
  ],
] as const) {
  test(`a pod ${what} is refused where it needs quota, with a status that says no retry helps`, async () => {
    const { core, replica } = world([roomy()], byLabel);
    const answer = await replica.review(deleteReview(labelled(value)), url);
    assert.equal(answer.allowed, false);
    assert.equal(answer.code, 503);
    assert.match(answer.message, expected);
    assert.match(answer.message, /So no aggregator counts it for PodProtector core\/ns\/web\. .* "blue", "green"$/);
    const { details } = (answer.body["response"] as { status: { details: { causes: Json[] } } }).status;
    assert.deepEqual(
      details.causes.map(({ reason, field }) => [reason, field]),
      [["UnknownCell", "core/ns/web"]],
    );
    assert.equal(core.writes, 0);
    assert.equal(replica.metrics.count('webhook_request{cell="-",status="UnknownCell"'), 1);
  });

  test(`a pod ${what} passes where nothing protects it: finished, forced, no floor, no PodProtector`, async () => {
    const { core, replica } = world([roomy()], byLabel);
    const ask = (parts: object) => replica.review(deleteReview(labelled(value, "p", parts)), url);
    assert.equal((await ask({ phase: "Succeeded" })).allowed, true);
    const answer = await ask(forced);
    assert.equal(answer.allowed, true);
    assert.match(answer.warnings[0] ?? "", /^allowed by force-delete or dry-run: Pod ns\/p has no cell/);
    assert.equal(replica.metrics.count('webhook_record_failure{error="UnknownCell"}'), 1);
    assert.equal(core.writes, 0);
    const unfloored = world([protector({ minAvailable: 0, cells: [cell("blue", 60)] })], byLabel);
    assert.equal((await unfloored.replica.review(deleteReview(labelled(value)), url)).allowed, true);
    assert.equal(unfloored.core.writes, 0);
    const alone = world([], byLabel);
    assert.equal((await alone.replica.review(deleteReview(labelled(value)), url)).allowed, true);
  });
}

test("the pod of an eviction is read, and its label names the cell", async () => {
  const workers = (value: string | undefined): ReplicaOptions => {
    const client: KubeClient = {
      cluster: "worker",
      request: async () => labelled(value),
      stream: () => assert.fail("the webhook watches no worker"),
      close: async () => {},
    };
    return { ...byLabel, workers: { kind: "single", client } };
  };
  const good = world([roomy()], workers("green"));
  assert.equal((await good.replica.review(evictReview("p"), url)).allowed, true);
  assert.deepEqual(bucketsOf(good.core.object("ns/web")), { blue: 0, green: 1 });
  const bad = world([roomy()], workers(undefined));
  const answer = await bad.replica.review(evictReview("p"), url);
  assert.match(answer.message, /^Pod ns\/p has no cell/);
  assert.equal(bad.core.writes, 0);
});

test("a URL that names a cell is answered with 404, so that a configuration from before is noticed", async () => {
  const { replica } = world([roomy()], byLabel);
  const answer = await replica.review(deleteReview(labelled("blue")), { cellID: "blue" });
  assert.equal(answer.http, 404);
  assert.match(answer.message, /its URL must end with \/by-label$/);
});
