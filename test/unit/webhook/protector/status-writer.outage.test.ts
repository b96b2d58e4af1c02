/**
 * What a replica answers while the core takes no writes, under each policy, and what it records afterwards
 * (docs/webhook.md#core-unavailable).
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type KubeErrorKind } from "../../../../src/kube/kube-client.ts";
import { type FakeCore } from "../support/fake-core.ts";
import { cell, deleteReview, type Json, pod, protector } from "../support/objects.ts";
import { createReplica, settle, world } from "../support/replica.ts";

const lastKnown = (replicas = 1) => ({
  coreUnavailable: { isLastKnownAllowed: () => true, isUnreadyWhenSilent: () => false, replicas },
});
const roomy = (count = 100) => protector({ cells: [cell("c1", count)] });
const unreachable = ["network", "timeout", "serverError"] as const;

/**
 * The core refuses everything in this way from now on; like a dead host, or with a quick answer. Until now it took
 * writes.
 */
function cut(core: FakeCore, kind: KubeErrorKind = "network"): void {
  core.touch();
  core.script = () => ({ refuse: kind });
}

function heal(core: FakeCore): void {
  core.script = () => "none";
}

const uids = (core: FakeCore) => core.buckets("ns/web").map((bucket) => bucket["podUID"]);
const review = (name: string) => deleteReview(pod(name));

for (const kind of [...unreachable, "tooManyRequests"] as const) {
  test(`policy refuse refuses what needs quota before the caller gives up, and admits nothing (${kind})`, async () => {
    const { core, replica } = world([roomy()]);
    cut(core, kind);
    const answer = await replica.review(review("p"));
    assert.equal(answer.code, 429);
    assert.match(answer.message, /its core cluster takes no writes .*Nothing was deleted; try again$/);
    assert.ok(answer.elapsedMs <= 9_001, `${answer.elapsedMs}`);
    assert.equal(core.buckets("ns/web").length, 0);
    heal(core);
    assert.equal((await replica.review(review("p"))).allowed, true);
  });
}

for (const kind of unreachable) {
  test(`policy last-known admits no more than that quota, and records it when the core is back (${kind})`, async () => {
    const { clock, core, replica } = world([roomy()], lastKnown());
    cut(core, kind);
    const answers = Array.from({ length: 50 }, (_, index) => replica.send(review(`p${index}`)));
    const settled = await settle(clock, Promise.all(answers));
    assert.equal(settled.filter(({ allowed }) => allowed).length, 20);
    const refused = settled.find(({ allowed }) => !allowed);
    assert.equal(refused?.code, 429);
    assert.match(refused?.message ?? "", /this webhook replica has used up its share of the last known quota/);
    assert.equal((await replica.review(review("late"))).allowed, false);
    assert.equal(replica.metrics.count('webhook_last_known_admission_total{core="core"}'), 20);
    assert.equal(core.buckets("ns/web").length, 0);

    heal(core);
    await clock.advance(6_000);
    assert.equal(core.buckets("ns/web").length, 20);
    assert.equal((await replica.review(review("later"))).allowed, false);
    assert.equal(core.buckets("ns/web").length, 20);
  });
}

for (const kind of ["conflict", "notFound", "forbidden", "tooManyRequests"] as const) {
  test(`policy last-known admits nothing when the core answers ${kind}: it is there`, async () => {
    const { core, replica } = world([roomy()], lastKnown());
    core.script = (request) => (request.method === "PUT" ? { refuse: kind } : "none");
    assert.equal((await replica.review(review("p"))).allowed, false);
    assert.equal(core.buckets("ns/web").length, 0);
    assert.equal(replica.metrics.count("webhook_last_known_admission_total"), 0);
  });
}

test("policy last-known waits three seconds for the core before it admits anything", async () => {
  const { clock, core, replica } = world([roomy()], lastKnown());
  cut(core);
  const answer = replica.send(review("p"));
  await clock.advance(2_000);
  heal(core);
  assert.equal((await settle(clock, answer)).allowed, true);
  assert.equal(core.buckets("ns/web").length, 1);
  assert.equal(replica.metrics.count("webhook_last_known_admission_total"), 0);
});

test("policy last-known takes a single failure hours after another for no outage", async () => {
  const { clock, core, replica } = world([roomy()], lastKnown());
  core.script = () => ({ refuse: "serverError" });
  await replica.review(review("p"), { query: "?timeout=2s" });
  await clock.advance(3_600_000);
  let failures = 0;
  core.script = () => (failures++ === 0 ? { refuse: "serverError" } : "none");
  assert.equal((await replica.review(review("q"))).allowed, true);
  assert.equal(replica.metrics.count("webhook_last_known_admission_total"), 0);
});

test("policy last-known never admits more than that quota with as many replicas as the flag says", async () => {
  const { clock, core } = world([roomy()]);
  const replicas = [1, 2, 3].map((seed) => createReplica(clock, core, { seed, ...lastKnown(3) }));
  cut(core);
  const answers = replicas.flatMap((replica, which) =>
    Array.from({ length: 40 }, (_, index) => replica.send(review(`p${which}-${index}`))),
  );
  const settled = await settle(clock, Promise.all(answers));
  assert.equal(settled.filter(({ allowed }) => allowed).length, 18, "three times a third of 20, rounded down");
  heal(core);
  await clock.advance(12_000);
  assert.equal(core.buckets("ns/web").length, 18);
});

test("policy last-known admits nothing in a replica started during the outage: its share may be used up", async () => {
  const { clock, core } = world([roomy()]);
  cut(core);
  const started = createReplica(clock, core, lastKnown());
  assert.equal((await started.review(review("p"))).allowed, false);
  heal(core);
  assert.equal((await started.review(review("p"))).allowed, true);
  cut(core);
  assert.equal((await started.review(review("q"))).allowed, true, "it has seen writes now");
});

test("policy last-known admits nothing on a state that somebody else has changed since", async () => {
  const { core, replica } = world([roomy(81)], lastKnown());
  core.touch();
  core.watches = false;
  core.update("ns/web", (status) => void (status.cells = [cell("c1", 80)]));
  let requests = 0;
  core.script = () => (requests++ === 0 ? "none" : { refuse: "network" });
  const answer = await replica.review(review("p"));
  assert.equal(answer.allowed, false);
  assert.ok(requests > 10, "one conflict, and then nothing but failures");
  assert.equal(replica.metrics.count("webhook_last_known_admission_total"), 0);
});

test("policy last-known counts a write whose answer was lost once", async () => {
  const { clock, core, replica } = world([roomy(82)], lastKnown());
  core.script = (request) => (request.method === "PUT" ? { loseAnswer: "network" } : { refuse: "network" });
  assert.equal((await replica.review(review("p"))).allowed, true);
  cut(core);
  assert.equal((await replica.review(review("q"))).allowed, true);
  assert.equal((await replica.review(review("r"))).allowed, false);
  heal(core);
  await clock.advance(6_000);
  assert.deepEqual(new Set(uids(core)), new Set(["uid-p", "uid-q"]));
});

test("policy last-known records what it admitted before it judges anything else by the core", async () => {
  const { core, replica } = world([roomy(81)], lastKnown());
  cut(core);
  assert.equal((await replica.review(review("p"))).allowed, true);
  heal(core);
  assert.equal((await replica.review(review("q"))).allowed, false);
  assert.deepEqual(uids(core), ["uid-p"]);
});

test("policy last-known answers by the floor itself when that is why: too few replicas", async () => {
  const { core, replica } = world([roomy()], lastKnown());
  core.watches = true;
  cut(core);
  await replica.review(review("p"));
  core.update("ns/web", (status) => void (status.cells = [cell("c1", 80)]));
  const answer = await replica.review(review("q"));
  assert.equal(answer.code, 429);
  assert.match(answer.message, /too few available replicas/);
});

test("policy last-known holds for the namespaces that ask for it only", async () => {
  const elsewhere: Json = protector({ namespace: "other", cells: [cell("c1", 100)] });
  const { clock, core, replica } = world([roomy(), elsewhere], {
    coreUnavailable: {
      ...lastKnown().coreUnavailable,
      isLastKnownAllowed: (name, namespace) => name === "core" && namespace === "other",
    },
  });
  cut(core);
  const answers = [review("p"), deleteReview(pod("q", { namespace: "other" }))].map((one) => replica.send(one));
  const [refused, admitted] = await settle(clock, Promise.all(answers));
  assert.equal(refused?.allowed, false);
  assert.equal(admitted?.allowed, true);
});

test("policy last-known goes on when nothing has been heard from the core for long; policy refuse steps aside", () => {
  for (const [options, isReady] of [
    [lastKnown(), true],
    [{}, false],
  ] as const) {
    const { replica } = world([roomy()], options);
    replica.informers[0]!.silence = 3_600_000;
    assert.equal(replica.webhook.unreadyReasons.get("core")?.() === undefined, isReady);
  }
});

test("policy last-known forgets what it admitted when the PodProtector is gone, and stops with the drain", async () => {
  const { clock, core, replica } = world([roomy()], lastKnown());
  cut(core);
  assert.equal((await replica.review(review("p"))).allowed, true);
  core.remove("ns/web");
  heal(core);
  await clock.advance(10_000);
  assert.equal(clock.pendingTimers, 1, "the next look at the list of releases");
  core.put(roomy());
  cut(core);
  assert.equal((await replica.review(review("q"))).allowed, true);
  await settle(clock, replica.webhook.drain());
  await clock.advance(10_000);
  assert.equal(clock.pendingTimers, 0);
});
