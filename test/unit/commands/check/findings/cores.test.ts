import assert from "node:assert/strict";
import { test } from "node:test";
import { cellLeaseAnnotations } from "../../../../../src/api/cell-lease.ts";
import { formatMicroTime } from "../../../../../src/api/micro-time.ts";
import { objectKey } from "../../../../../src/api/object-key.ts";
import { finalizer } from "../../../../../src/api/v1alpha1/names.ts";
import { ownDefinition } from "../../../../../src/carried/definition.ts";
import { type CellFacts, type CoreFacts, type LeaseFacts } from "../../../../../src/commands/check/facts.ts";
import { type Finding } from "../../../../../src/commands/check/finding.ts";
import { cellFindings } from "../../../../../src/commands/check/findings/cells.ts";
import { definitionFindings } from "../../../../../src/commands/check/findings/definition.ts";
import { generatorFindings, isAway } from "../../../../../src/commands/check/findings/generator.ts";
import { protectorFindings, tombstoneFindings } from "../../../../../src/commands/check/findings/protectors.ts";
import {
  certificateEventFindings,
  releaseFindings,
  rightFindings,
  webhookReplicaFindings,
} from "../../../../../src/commands/check/findings/roles.ts";
import { type ProtectorEvent } from "../../../../../src/commands/fleet/refusals.ts";
import { before, cell, core, deployment, now, productVersion, protector, read, unread } from "../sound-facts.ts";

const { silentSince, keepUntil, gate, behind, forget } = cellLeaseAnnotations;
const silent = { [silentSince]: formatMicroTime(before(600)) };

function found(one: CellFacts, checked: readonly string[] = []): readonly string[] {
  const heartbeats = read({ cells: [one], observer: undefined });
  const findings = cellFindings(core({ heartbeats }), now, new Set(checked));
  return findings.map(({ level, check, text }) => `${level} ${check}: ${text}`);
}

test("a cell that is heard is in order", () => {
  assert.deepEqual(found(cell("a")), ['ok cell-silent: cell "a" was last heard 2.0 s ago']);
});

test("a cell that the generator has marked is silent since then", () => {
  const text = 'cell "a" has been silent for 10 m 00 s: its pods count for nothing';
  assert.deepEqual(found(cell("a", { annotations: silent })), [`fail cell-silent: ${text}`]);
});

test("where nobody marks, a Lease that was not renewed for its time is silent, and before that late", () => {
  assert.match(found(cell("a", { renewedSecondsAgo: 400 }))[0] ?? "", /^fail cell-silent/);
  assert.match(found(cell("a", { renewedSecondsAgo: 170 }))[0] ?? "", /^warn cell-silent/);
  assert.match(found(cell("a", { renewedSecondsAgo: 40 }))[0] ?? "", /^ok /);
});

test("a cell whose clock is behind is not silent while the API server sees its writes", () => {
  assert.match(found(cell("a", { renewedSecondsAgo: 900, writtenSecondsAgo: 2 }))[0] ?? "", /^ok /);
});

test("a silent cell whose counts a person keeps is a note", () => {
  const annotations = { ...silent, [keepUntil]: formatMicroTime(before(-600)) };
  assert.match(found(cell("a", { annotations }))[0] ?? "", /^note cell-keep/);
  assert.match(
    found(cell("a", { annotations: { ...silent, [keepUntil]: formatMicroTime(before(60)) } }))[0] ?? "",
    /^fail /,
  );
});

test("a cell that is being retired is a note, whether it is silent or not", () => {
  assert.deepEqual(found(cell("a", { annotations: { ...silent, [forget]: "true" } })), [
    'note cell-retiring: cell "a" is being retired',
  ]);
});

test("what its aggregator says of the webhook is told, unless its worker is looked at", () => {
  const one = cell("a", { annotations: { [gate]: "missing" } });
  assert.match(found(one)[1] ?? "", /^fail gate: .*pod deletions there are not reviewed/);
  assert.equal(found(one, ["a"]).length, 1);
  const open = cell("a", { annotations: { [gate]: "not-guarded pay,shop" } });
  assert.match(found(open)[1] ?? "", /^fail gate: .*finds that deletions in pay, shop are not sent to the webhook/);
});

test("PodProtectors that an aggregator cannot count, and annotations that nobody can read, are warnings", () => {
  assert.match(found(cell("a", { annotations: { [behind]: "AAAAAAAAAAA=" } }))[1] ?? "", /^warn cell-behind/);
  const unreadable = cell("a", { annotations: { [keepUntil]: "tomorrow" } });
  assert.match(found(unreadable)[1] ?? "", /^warn annotation-ignored: .*keep-until=tomorrow/);
});

const aggregation = { totalReplicas: 1, availableReplicas: 1 };

test("a counted cell without a Lease may be dead, and a cell with promises alone is a ghost", () => {
  const bucket = { startTime: "2026-01-01T00:00:00Z", podUID: "u", podName: "p" };
  const cells = [
    { cellID: "a", aggregation },
    { cellID: "old", aggregation },
    { cellID: "ghost", admissionHistory: { buckets: [bucket] } },
  ];
  const facts = core({
    heartbeats: read({ cells: [cell("a")], observer: undefined }),
    protectors: read({ valid: [protector("x", { cells }), protector("y", { cells })], invalid: [] }),
  });
  const texts = cellFindings(facts, now, new Set()).map(({ level, text }) => `${level} ${text}`);
  assert.equal(texts.length, 3);
  assert.match(texts[1] ?? "", /^warn cell "ghost" is a ghost: 2 PodProtectors have promised deletions there/);
  assert.match(texts[2] ?? "", /^warn cell "old" counts in 2 PodProtectors and has no Lease/);
});

const foundOfDefinition = (definition: unknown, release: string | undefined = "0.1.0"): readonly string[] =>
  definitionFindings({ definition: read(definition) }, release, "0.1.0").map(({ level, text }) => `${level} ${text}`);
const own = ownDefinition();
const without = (annotations: object): object => ({ ...own, metadata: { annotations } });

test("a CRD that is gone, and one that somebody has deleted, are failures with the way back", () => {
  assert.match(foundOfDefinition(undefined)[0] ?? "", /^fail there is no CRD/);
  assert.match(
    foundOfDefinition({ ...own, metadata: { deletionTimestamp: "x" } })[0] ?? "",
    /^fail somebody has deleted the CRD/,
  );
});

test("the CRD of this release is in order, whoever runs", () => {
  assert.deepEqual(foundOfDefinition(own), ["ok the CRD of PodProtectors keeps all fields"]);
  assert.deepEqual(foundOfDefinition(own, undefined), ["ok the CRD of PodProtectors keeps all fields"]);
  assert.deepEqual(foundOfDefinition(without({})), ["ok the CRD of PodProtectors keeps all fields"]);
});

test("a generator of another release than the CRD is told with both", () => {
  assert.deepEqual(foundOfDefinition(own, "0.2.0"), ["warn the CRD is of release 0.1.0, the generator of 0.2.0"]);
});

test("a CRD that says no release is judged by its schema", () => {
  const text = JSON.stringify(without({})).replaceAll('"minimum":1', '"minimum":2');
  assert.ok(text !== JSON.stringify(without({})));
  assert.deepEqual(foundOfDefinition(JSON.parse(text)), ["warn the CRD is of another release, the generator of 0.1.0"]);
  assert.deepEqual(foundOfDefinition(JSON.parse(text), "0.2.0"), ["ok the CRD of PodProtectors keeps all fields"]);
});

const lease = (seconds: number, fields: Partial<LeaseFacts> = {}): LeaseFacts => ({
  holder: "generator-a",
  renewedAt: before(seconds),
  writtenAt: before(seconds),
  ...fields,
});
const foundOfGenerator = (generator: LeaseFacts | undefined, metadata = {}): readonly string[] =>
  generatorFindings(
    { ...core(), generator: read(generator), protectors: read({ valid: [protector("a", { metadata })], invalid: [] }) },
    now,
    "podseidon-system",
  ).map(({ level, text }) => `${level} ${text}`);

test("a generator that renews its Lease leads", () => {
  assert.deepEqual(foundOfGenerator(lease(3)), ["ok generator leads: generator-a, renewed 3.0 s ago"]);
});

test("a generator that is away is a failure, whether it released its Lease, lost it, or never had one", () => {
  const text = "floors no longer follow the workloads";
  assert.deepEqual(foundOfGenerator(lease(3_600)), [
    `fail no generator leads (the last one renewed its Lease 1 h 00 m ago): ${text}`,
  ]);
  assert.match(foundOfGenerator(lease(3, { holder: "" }))[0] ?? "", /^fail no generator leads/);
  assert.deepEqual(foundOfGenerator(undefined), [`fail no generator leads: ${text}`]);
});

test("finalizers that it has left are told, since deletions of workloads hang", () => {
  assert.match(
    foundOfGenerator(undefined, { finalizers: [finalizer] })[0] ?? "",
    /its finalizer is on 1 PodProtector and its workload: deleting such a workload hangs/,
  );
});

test("while the CRD is lost nobody is told to start the generator, which would make objects without status", () => {
  const terminating = { metadata: { deletionTimestamp: "2026-01-01T00:00:00Z" } };
  for (const definition of [read(terminating), read(undefined)]) {
    const [finding] = generatorFindings({ ...core(), generator: read(undefined), definition }, now, "podseidon-system");
    assert.equal(finding?.level, "fail");
    assert.match(finding?.cure ?? "", /^leave it stopped until the CRD is back/);
    assert.equal(finding?.command, undefined);
  }
});

test("a generator whose own clock is behind is not away: the API server says when it wrote", () => {
  assert.equal(isAway({ holder: "g", renewedAt: before(900), writtenAt: before(2) }, now), false);
  assert.equal(isAway({ holder: "g", renewedAt: before(900), writtenAt: undefined }, now), true);
});

const texts = (fields: Partial<CoreFacts>): readonly string[] =>
  protectorFindings(core(fields)).map(({ level, text }) => `${level} ${text}`);
const valid = (...all: readonly ReturnType<typeof protector>[]) => ({ protectors: read({ valid: all, invalid: [] }) });

test("PodProtectors without conditions are in order", () => {
  assert.deepEqual(texts(valid(protector("a"), protector("b"))), ["ok 2 PodProtectors, none with a fault of its own"]);
});

test("a condition is told once, with the first few objects that have it", () => {
  const all = ["a", "b", "c", "d", "e", "f"].map((name) => protector(name, { conditions: ["Undrainable"] }));
  assert.deepEqual(texts(valid(...all)), [
    "warn 6 workloads can never be drained, since all pods must stay: shop/a, shop/b, shop/c, shop/d, shop/e " +
      "and 1 more",
  ]);
});

test("each condition that a person has to do something about is told", () => {
  const conditions = ["Undrainable", "Dangling", "ChangeHeld", "CountsPending", "CellSilent", "AtFloor"];
  assert.equal(texts(valid(protector("a", { conditions }))).length, 5);
});

test("objects that no webhook can use are a failure", () => {
  const protectors = read({ valid: [], invalid: [{ namespace: "shop", name: "a", reason: "no spec" }] });
  assert.deepEqual(texts({ protectors }), ["fail 1 PodProtector invalid: shop/a (no spec)"]);
});

test("namespaces in shadow or off are notes", () => {
  const modes = read(
    new Map([
      ["shadow", ["shop"]],
      ["off", ["lab", "test"]],
    ]),
  );
  assert.deepEqual(texts({ modes }), [
    "ok 1 PodProtector, none with a fault of its own",
    "note 1 namespace in shadow, nothing is refused there: shop",
    "note 2 namespaces in off, their workloads have no PodProtector: lab, test",
  ]);
});

test("what cannot be read is not checked", () => {
  assert.match(texts({ protectors: unread })[0] ?? "", /^unchecked PodProtectors/);
});

test("who was refused lately is a note, with the caller that asked most", () => {
  const event = (name: string, message: string, count: number): ProtectorEvent => ({
    protector: objectKey("shop", name),
    uid: `uid-${name}`,
    component: "podseidon-webhook",
    reason: "TooFewReplicas",
    message,
    count,
    lastAt: undefined,
  });
  const events = [
    event("a", "Refused 7 deletions in 3 s (by runaway 6, alice 1); last: ...", 7),
    event("b", "Refused 1 deletion in 1 s (by alice 1); last: ...", 1),
  ];
  assert.deepEqual(texts({ ...valid(protector("a"), protector("b")), protectorEvents: read(events) }), [
    "ok 2 PodProtectors, none with a fault of its own",
    "note 8 deletions refused in the last hour, Events say, of 2 workloads, most of them by runaway (6)",
  ]);
});

const event = (name: string, message = "It is gone") => ({
  protector: objectKey("shop", name),
  uid: `former-${name}`,
  reason: "PodProtectorLost",
  message,
  count: 1,
  lastAt: before(60),
  component: "podseidon-webhook",
});

test("a PodProtector that webhooks keep in force is told with the way out", () => {
  const [found, ...more] = tombstoneFindings(core({ protectorEvents: read([event("lost")]) }), now);
  assert.match(found?.text ?? "", /^shop\/lost is gone without having been released.*an Event says \(1 m 00 s ago\)/);
  assert.equal(found?.command, "podseidon release shop/lost");
  assert.deepEqual(more, []);
});

test("one that was made again, or is no longer in force, is not told", () => {
  const protectors = read({ valid: [protector("lost")], invalid: [] });
  assert.deepEqual(tombstoneFindings(core({ protectorEvents: read([event("lost")]), protectors }), now), []);
  const over = event("lost", "It was gone, and is no longer in force: it was deleted");
  assert.deepEqual(tombstoneFindings(core({ protectorEvents: read([over]) }), now), []);
});

test("without Events nothing is claimed", () => {
  assert.equal(tombstoneFindings(core({ protectorEvents: unread }), now)[0]?.level, "unchecked");
});

const levels = (findings: readonly Finding[]): readonly string[] =>
  findings.map(({ level, text }) => `${level} ${text}`);

test("a webhook without ready replicas is a failure, with one it is a warning", () => {
  const replicas = (ready: number, wanted: number): readonly string[] =>
    levels(webhookReplicaFindings(read([deployment("webhook", { ready, wanted })])));
  assert.deepEqual(replicas(0, 3), ["fail podseidon-webhook: 0 of 3 replicas are ready"]);
  assert.deepEqual(replicas(1, 3), ["warn podseidon-webhook: 1 of 3 replicas are ready"]);
  assert.deepEqual(replicas(1, 1), ["warn podseidon-webhook: 1 of 1 replicas are ready"]);
  assert.deepEqual(replicas(3, 3), ["ok podseidon-webhook: 3 of 3 replicas are ready"]);
});

test("where webhooks run in another way, their replicas are not checked", () => {
  assert.match(levels(webhookReplicaFindings(read([])))[0] ?? "", /^unchecked /);
  assert.match(levels(webhookReplicaFindings(unread))[0] ?? "", /^unchecked .*you may not look/);
});

test("what webhooks say of a certificate is a warning, with how long ago", () => {
  const event = { message: "A certificate of the webhook https expires at noon", at: before(7_200) };
  assert.deepEqual(levels(certificateEventFindings(read([event]), now)), [`warn ${event.message} (said 2 h 00 m ago)`]);
  assert.deepEqual(certificateEventFindings(read([]), now), []);
});

test("roles of different releases are named with them", () => {
  const old = cell("worker-2", { annotations: { [cellLeaseAnnotations.productVersion]: "0.0.9 (x)" } });
  const heartbeats = read({ cells: [cell("worker-1"), old], observer: undefined });
  const [text = "", ...more] = levels(releaseFindings(core({ heartbeats }), [], productVersion));
  assert.equal(
    text,
    "warn roles are of different releases: aggregator of worker-1 0.1.0 (abc), aggregator of worker-2 0.0.9 (x)",
  );
  assert.deepEqual(more, []);
});

test("webhooks of another release than the rest are named by the workers that ask them", () => {
  const workers = [
    { name: "worker-1", webhookReleases: [productVersion] },
    { name: "worker-2", webhookReleases: ["0.0.9 (x)"] },
    { name: "worker-3", webhookReleases: [] },
  ];
  const [finding] = releaseFindings(core(), workers, productVersion);
  assert.match(
    finding?.text ?? "",
    /^roles are of different releases: generator 0\.1\.0 \(abc\), .*, webhook asked by worker-2 0\.0\.9 \(x\)$/,
  );
  assert.match(finding?.cure ?? "", /in this order: CRD, policies, webhooks, aggregators, generator$/);
});

test("Deployments that run different images are told", () => {
  const deployments = read([deployment("webhook", { image: "x:1" }), deployment("generator", { image: "x:2" })]);
  const [text = ""] = levels(releaseFindings(core({ deployments }), [], productVersion));
  assert.equal(text, "warn Deployments run different images: webhook x:1, generator x:2");
});

test("a program of another release than the roles is only a note", () => {
  assert.match(
    levels(releaseFindings(core(), [], "0.2.0 (def)"))[0] ?? "",
    /^note roles are of release 0\.1\.0 \(abc\), this program of 0\.2\.0/,
  );
});

const right = (account: string, name: string, isGranted: boolean) => ({ account, right: name, isGranted });

test("accounts that have all rights are one line", () => {
  const rights = read([right("a", "get pods", true), right("b", "list pods", true)]);
  assert.deepEqual(
    rightFindings(rights).map(({ level, text }) => `${level} ${text}`),
    ["ok rights of a, b"],
  );
});

test("what an account lacks is named, account by account", () => {
  const rights = read([right("a", "get pods", false), right("a", "list pods", false), right("b", "get pods", true)]);
  assert.deepEqual(
    rightFindings(rights).map(({ level, text }) => `${level} ${text}`),
    ["fail a may not get pods, list pods"],
  );
});

test("without the right to ask, or without an account, nothing is claimed", () => {
  assert.equal(rightFindings(unread)[0]?.level, "unchecked");
  assert.equal(rightFindings(read([]))[0]?.level, "unchecked");
});
