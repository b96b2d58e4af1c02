import assert from "node:assert/strict";
import { test } from "node:test";
import { cellsOf, workerCellFindings } from "../../../../../src/commands/check/findings/worker-cell.ts";
import { type WorkerFacts } from "../../../../../src/commands/check/facts.ts";
import { cell, core, deployment, entry, read, unread, worker } from "../sound-facts.ts";

const url = (path: string) => ({ entries: read([entry({ url: `https://podseidon.example.com/${path}` })]) });
const aggregator = (cellID: string) =>
  ({ deployments: read([deployment("aggregator", { flags: new Map([["aggregator-cell-id", cellID]]) })]) }) as const;
const cores = [core()];

function texts(one: WorkerFacts, others: readonly WorkerFacts[] = []): readonly string[] {
  const named = new Map(others.map((other) => [other.name, other]));
  return workerCellFindings(one, cores, named).map(({ level, check, text }) => `${level} ${check}: ${text}`);
}

test("a worker that is the same cell in all three places is in order", () => {
  assert.deepEqual(texts(worker("worker-1")), ['ok webhook-cell: this cluster is cell "worker-1", and is called so']);
});

test("a webhook that reads cells from labels is called by no cell", () => {
  assert.deepEqual(cellsOf(worker("worker-1", url("by-label")), cores).called, []);
  assert.match(texts(worker("worker-1", url("by-label")))[0] ?? "", /^ok /);
});

test("a URL with the cell of another cluster is a wrong URL when this one reports as itself", () => {
  assert.deepEqual(texts(worker("worker-2", url("worker-1"))), [
    "fail webhook-cell: the webhook configuration calls /worker-1, but this cluster's aggregator reports as " +
      '"worker-2"',
  ]);
});

test("an aggregator that is set to the cell of another cluster is two clusters under one cell, which is named", () => {
  const one = worker("worker-2", {
    clusterUID: read("uid-new"),
    ...url("worker-1"),
    ...aggregator("worker-1"),
    isNamed: false,
  });
  assert.deepEqual(texts(one, [worker("worker-1")]), [
    'fail cell-shared: two clusters under one cell: "worker-1" is counted by another cluster, worker-1',
  ]);
  assert.match(texts(one)[0] ?? "", /counted by another cluster, with kube-system uid-worker-1/);
});

test("a URL alone tells two clusters under one cell where no aggregator is found", () => {
  const one = worker("worker-2", {
    clusterUID: read("uid-new"),
    deployments: read([]),
    ...url("worker-1"),
    isNamed: false,
  });
  assert.match(texts(one)[0] ?? "", /^fail cell-shared/);
});

test("a cluster that a person calls by another cell than it reports is a failure", () => {
  assert.match(
    texts(worker("worker-3", { clusterUID: read("uid-worker-1"), ...url("worker-1"), ...aggregator("worker-1") }))[0] ??
      "",
    /you call this cluster "worker-3"/,
  );
});

test("a cluster that no aggregator reports is a failure", () => {
  const silent = worker("new", { deployments: read([]), ...url("new") });
  assert.match(texts(silent)[0] ?? "", /^fail aggregator: no Lease in the core has the UID of this cluster/);
  assert.match(texts(worker("new"))[0] ?? "", /^fail aggregator: the aggregator of cell "new" has not reported/);
});

test("where the cluster cannot be told from others, nothing is claimed", () => {
  const unknown = worker("worker-1", { clusterUID: unread, deployments: read([]) });
  assert.match(texts(unknown)[0] ?? "", /^unchecked webhook-cell/);
  assert.deepEqual(
    cellsOf(unknown, [core({ heartbeats: read({ cells: [cell("worker-1")], observer: undefined }) })]).reported,
    [],
  );
});
