import assert from "node:assert/strict";
import { test } from "node:test";
import { type EntryFacts, type WorkerFacts } from "../../../../../src/commands/check/facts.ts";
import { clockFindings } from "../../../../../src/commands/check/findings/clocks.ts";
import { configurationFindings } from "../../../../../src/commands/check/findings/configuration.ts";
import { gateFindings } from "../../../../../src/commands/check/findings/gate.ts";
import { cellsOf, workerCellFindings } from "../../../../../src/commands/check/findings/worker-cell.ts";
import { before, cell, core, deployment, entry, now, read, unread, worker } from "../sound-facts.ts";

type Answer = WorkerFacts["gates"] extends ReadonlyMap<string, infer T> ? T : never;

function found(answer: Answer, own: readonly string[] = ["a"]): string {
  const [finding] = gateFindings({ gates: new Map([["ns/dummy", answer]]) }, own);
  return `${finding?.level} ${finding?.check}: ${finding?.text}`;
}

test("a webhook that answers for this cell is in order, for another one it is a failure", () => {
  assert.match(found({ kind: "other-cell", cell: "a" }), /^ok gate/);
  assert.match(found({ kind: "ok" }), /^ok gate/);
  assert.match(
    found({ kind: "other-cell", cell: "b" }),
    /^fail gate: deletions are reviewed as those of cell "b", not of "a"/,
  );
  assert.match(
    found({ kind: "other-cell", cell: "-" }),
    /^fail gate: the webhook finds no cell in the labels of ns\/dummy/,
  );
});

test("where nobody knows the cell, the webhook that answers is only named", () => {
  assert.equal(found({ kind: "other-cell", cell: "b" }, []), 'ok gate: the API server asks the webhook, as cell "b"');
});

test("a deletion that passes without our answer is a failure", () => {
  assert.match(found({ kind: "missing" }), /^fail gate: a dry-run deletion of ns\/dummy passed/);
});

for (const [words, check] of [
  ["tls: failed to verify certificate: x509: certificate has expired or is not yet valid: current time", "certificate"],
  ["tls: failed to verify certificate: x509: certificate signed by unknown authority", "ca-bundle"],
  ["x509: certificate is valid for podseidon, not for other", "ca-bundle"],
  ["dial tcp 127.0.0.1:1: connect: connection refused", "gate"],
] as const) {
  test(`an API server that fails with "${words}" is a failure of ${check}`, () => {
    assert.match(
      found({ kind: "unreachable", why: `failed calling webhook: ${words}` }),
      new RegExp(`^fail ${check}: `),
    );
  });
}

test("of what the API server says only what happened is shown", () => {
  const call = 'failed to call webhook: Post "https://a/b?timeout=10s"';
  const why = `500: failed calling webhook "podseidon.kubewharf.io": ${call}: EOF`;
  assert.match(found({ kind: "unreachable", why }), /so every deletion is refused: EOF$/);
  const other = 'failed calling webhook "podseidon.kubewharf.io": context deadline exceeded';
  assert.match(found({ kind: "unreachable", why: other }), /so every deletion is refused: context deadline exceeded$/);
});

test("what was not found out is not checked, with the reason", () => {
  assert.match(found("no pod"), /^unchecked gate: .*there is no pod ns\/dummy/);
  assert.match(found({ kind: "unknown", why: "no answer", isForbidden: false }), /^unchecked gate: .*no answer/);
  assert.match(
    found({ kind: "unknown", why: "", isForbidden: true }),
    /^unchecked gate: .*you may not delete pod ns\/dummy/,
  );
  assert.equal(gateFindings({ gates: new Map() }, [])[0]?.level, "unchecked");
});

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

const textsOfConfiguration = (...entries: readonly EntryFacts[]): readonly string[] =>
  configurationFindings({ entries: read(entries) }).map(({ level, text }) => `${level} ${text}`);
const secondary = entry({ name: "scheduler.podseidon.kubewharf.io", failurePolicy: "Ignore", isMain: false });

test("the configuration of the manifests is in order, with its entry for preemption that ignores failures", () => {
  assert.deepEqual(textsOfConfiguration(entry(), secondary), [
    "ok webhook configuration calls https://podseidon.example.com/worker-1",
  ]);
});

test("without a main entry every pod can be deleted", () => {
  assert.match(textsOfConfiguration(secondary)[0] ?? "", /^fail there is no webhook configuration of Podseidon/);
  assert.match(textsOfConfiguration()[0] ?? "", /^fail there is no webhook configuration of Podseidon/);
});

test("a main entry that ignores failures, or chooses by labels of pods, is a warning", () => {
  assert.match(
    textsOfConfiguration(entry({ failurePolicy: "Ignore" }))[0] ?? "",
    /^warn podseidon: failurePolicy of .* is Ignore/,
  );
  assert.match(textsOfConfiguration(entry({ hasObjectSelector: true }))[0] ?? "", /^warn .*objectSelector/);
});

test("a configuration that does not ask about evictions is a failure, whatever others ask", () => {
  const half = entry({ configuration: "half", rules: ["DELETE pods"] });
  assert.deepEqual(textsOfConfiguration(entry(), half), [
    "fail webhook configuration half does not ask about CREATE pods/eviction",
  ]);
});

test("entries of one configuration that call different addresses are a failure, those of two are not", () => {
  const other = entry({ url: "https://other.example.com/worker-1" });
  assert.match(
    textsOfConfiguration(entry(), other)[0] ?? "",
    /^fail entries of webhook configuration podseidon call different addresses/,
  );
  assert.match(textsOfConfiguration(entry(), { ...other, configuration: "team-b" })[0] ?? "", /^ok /);
});

test("configurations that cannot be read are not checked", () => {
  assert.equal(configurationFindings({ entries: unread })[0]?.level, "unchecked");
});

const clock = (aheadSeconds: number) => read({ server: before(-aheadSeconds), own: now });
const textsOfClocks = (facts: Parameters<typeof clockFindings>[0]): readonly string[] =>
  clockFindings(facts).map(({ level, text }) => `${level} ${text}`);

test("clocks that differ by less than requests take agree", () => {
  const facts = { cores: [core({ clock: clock(3) })], workers: [worker("worker-1", { clock: clock(-3) })] };
  assert.deepEqual(textsOfClocks(facts), ["ok clocks of this machine, core, worker-1 agree"]);
});

test("where all API servers agree, it is this machine's clock that is off", () => {
  const facts = { cores: [core({ clock: clock(120) })], workers: [worker("worker-1", { clock: clock(121) })] };
  assert.deepEqual(textsOfClocks(facts), ["warn the clock of this machine is 2 m 00 s behind that of the API servers"]);
});

test("an API server that alone is off is named", () => {
  const facts = { cores: [core({ clock: clock(0) })], workers: [worker("worker-1", { clock: clock(90) })] };
  assert.deepEqual(textsOfClocks(facts), [
    "warn the clock of the API server of worker-1 is 1 m 30 s ahead of that of this machine",
  ]);
});

test("an aggregator's clock is compared with the API server's time of the same write", () => {
  const behind = cell("a", { renewedSecondsAgo: 302, writtenSecondsAgo: 2 });
  const heartbeats = read({ cells: [behind, cell("b")], observer: undefined });
  assert.deepEqual(textsOfClocks({ cores: [core({ heartbeats })], workers: [] }), [
    'warn the clock of the aggregator of cell "a" is 5 m 00 s behind that of the API server of core',
  ]);
});

test("where the API server does not tell when it wrote, only a clock that is ahead is seen", () => {
  const ahead = cell("a", { renewedSecondsAgo: -60, writtenSecondsAgo: undefined });
  const old = cell("b", { renewedSecondsAgo: 3_600, writtenSecondsAgo: undefined });
  const heartbeats = read({ cells: [ahead, old], observer: undefined });
  assert.deepEqual(textsOfClocks({ cores: [core({ heartbeats })], workers: [] }), [
    'warn the clock of the aggregator of cell "a" is 1 m 00 s ahead of that of the API server of core',
  ]);
});

test("nodes whose clocks differ from the API server's are named, the worst first and at most five", () => {
  const node = (name: string, ahead: number, writtenAt: ReturnType<typeof before> | undefined = before(5)) => {
    return { name, holder: name, renewedAt: before(5 - ahead), writtenAt };
  };
  const textsOf = (...nodes: readonly ReturnType<typeof node>[]) =>
    textsOfClocks({ cores: [], workers: [worker("worker-1", { nodes: read(nodes) })] });
  assert.deepEqual(textsOf(node("a", 3), node("b", -4)), ["ok clocks of this machine, worker-1 agree"]);
  // A node that is gone: its Lease is old by both clocks.
  assert.deepEqual(textsOf({ ...node("a", 0), renewedAt: before(9_000), writtenAt: before(9_000) }), [
    "ok clocks of this machine, worker-1 agree",
  ]);
  assert.deepEqual(textsOf(node("a", 3), node("b", 28_800)), [
    "warn clocks of 1 node differs from that of the API server of worker-1: b (8 h 00 m ahead of it)",
  ]);
  assert.match(
    textsOf(...[20, -30, 40, 50, 60, 70, 80].map((ahead) => node(`by${ahead}`, ahead)))[0] ?? "",
    /^warn clocks of 7 nodes differ .*: by80 \(.*, by40 \(40 s ahead of it\), and 2 others$/,
  );
  assert.match(textsOf(node("a", 60, undefined))[0] ?? "", /a \(.* ahead of it\)$/);
});

test("clocks of nodes that cannot be read are not checked", () => {
  const [text = ""] = textsOfClocks({ cores: [], workers: [worker("worker-1", { nodes: unread })] });
  assert.match(text, /the clocks of the nodes of worker-1/);
});

test("a clock that cannot be read is not checked", () => {
  assert.match(
    textsOfClocks({ cores: [core({ clock: unread })], workers: [] })[0] ?? "",
    /^unchecked the clock of core/,
  );
});
