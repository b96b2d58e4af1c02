import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { describe, test } from "node:test";
import { checkAnswer } from "./answer-form.ts";
import { drawEpisode } from "./draw-episode.ts";
import { type Episode } from "./episode.ts";
import { minimise } from "./minimise.ts";
import { play } from "./play.ts";
import { SteadyRules, surePodOf } from "./steady-rules.ts";
import { addOutcome, emptyTally, statusesOf } from "./tally.ts";
import { cell, type Json, pod, protector } from "../unit/webhook/support/objects.ts";

test("the fuzzer finds nothing in 3,000 inputs, half of which get as far as the quota", async () => {
  const tally = emptyTally();
  for (let index = 0; tally.inputs < 3_000; index += 1) addOutcome(tally, index, await play(drawEpisode(1, index)));
  assert.deepEqual(tally.failures, []);
  assert.ok(tally.reachedQuota >= tally.inputs / 2, `${tally.reachedQuota} of ${tally.inputs}`);
});

test("the fuzzer sends the same inputs for the same seed, and gets the same answers", async () => {
  assert.deepEqual(drawEpisode(7, 3), drawEpisode(7, 3));
  assert.notDeepEqual(drawEpisode(7, 3), drawEpisode(8, 3));
  assert.deepEqual(await play(drawEpisode(7, 3)), await play(drawEpisode(7, 3)));
});

test("an episode is made small while it still shows the same", async () => {
  const small = await minimise(drawEpisode(1, 0), ({ byStatus }) => byStatus.has("AdmittedAll"));
  assert.equal(small.steps.length, 1);
});

const folder = path.join(import.meta.dirname, "corpus");
for (const file of readdirSync(folder)) {
  test(`the corpus case ${path.basename(file, ".json")} is answered as ever`, async () => {
    const { episode, expected } = JSON.parse(readFileSync(path.join(folder, file), "utf8")) as {
      episode: Episode;
      expected: Record<string, number>;
    };
    const outcome = await play(episode);
    assert.equal(outcome.failure, undefined);
    assert.deepEqual(statusesOf(outcome), expected);
  });
}

describe("the rules for steady PodProtectors", () => {
  const steady = protector({ minAvailable: 9, cells: [cell("c1", 10)] });
  const asked = (name: string) => ({
    cellID: "c1",
    pod: surePodOf(pod(name)),
    uid: `uid-${name}`,
    isEvaluateOnly: false,
  });
  const admitted = (audit = "core/ns/web=quota") => ({
    uid: "u",
    allowed: true,
    auditAnnotations: { "admit-by-podprotectors": audit },
  });
  const after = (...names: string[]): Json => {
    const buckets = names.map((name) => ({ startTime: "", podUID: `uid-${name}` }));
    return protector({ minAvailable: 9, cells: [cell("c1", 10, {}, buckets)] });
  };
  const rules = (): SteadyRules => new SteadyRules([JSON.stringify(steady)], false);

  test("a deletion that a write holds follows the rules, and one that none holds does not", () => {
    const good = rules();
    good.asked(asked("a"));
    good.wrote({ key: "ns/web", before: steady, after: after("a") });
    good.answered(asked("a"), admitted());
    assert.deepEqual(good.problems, []);
    const bad = rules();
    bad.asked(asked("a"));
    bad.answered(asked("a"), admitted());
    assert.deepEqual(bad.problems, ["ns/web: uid-a is allowed without a write"]);
  });

  test("a write below the floor and more deletions than the quota break the rules", () => {
    const bad = rules();
    for (const name of ["a", "b"]) bad.asked(asked(name));
    bad.wrote({ key: "ns/web", before: steady, after: after("a", "b") });
    for (const name of ["a", "b"]) bad.answered(asked(name), admitted());
    assert.deepEqual(bad.problems, [
      "ns/web: a write leaves 8, required are 9",
      "ns/web: 2 pods are allowed with a quota of 1",
    ]);
  });

  test("a write that loses admissions, a deletion without quota and a false refusal break the rules", () => {
    const bad = rules();
    bad.wrote({ key: "ns/web", before: after("a"), after: steady });
    bad.answered(asked("b"), admitted(""));
    const figures = {
      "reject-by-podprotector": "core/ns/web",
      criterion: "Available",
      required: "9",
      aggregated: "10",
      unconfirmed: "0",
    };
    const status = {
      code: 429,
      reason: "TooManyRequests",
      message: "no",
      details: { causes: [{ reason: "TooFewReplicas" }] },
    };
    bad.answered(asked("c"), { uid: "u", allowed: false, auditAnnotations: figures, status });
    assert.deepEqual(
      bad.problems.map((problem) => problem.slice(0, 40)),
      [
        "ns/web: a write takes 1 admissions away",
        "ns/web: uid-b is allowed without its quo",
        "ns/web: TooFewReplicas does not follow f",
      ],
    );
  });
});

const raw = (http: number, body: unknown, contentType = "application/json") => ({
  method: "POST",
  http,
  contentType,
  allow: null,
  text: JSON.stringify(body),
});
const review = (response: unknown): unknown => ({
  kind: "AdmissionReview",
  apiVersion: "admission.k8s.io/v1",
  response,
});

test("an answer is a review with the UID of the request, or an HTTP error that says what is wrong", () => {
  assert.equal(checkAnswer(raw(200, review({ uid: "u", allowed: true })), "u").kind, "review");
  assert.equal(checkAnswer(raw(500, { kind: "Status", code: 500, message: "m" }), "u").kind, "httpError");
  for (const [http, body] of [
    [200, review({ uid: "other", allowed: true })],
    [200, review({ uid: "u", allowed: false })],
    [200, review({ uid: "u", allowed: true, auditAnnotations: { "a/b": "" } })],
    [400, review({ uid: "u", allowed: true })],
    [200, {}],
    [500, { kind: "Status", code: 500, message: "unexpected failure" }],
    [503, { kind: "Status", code: 503, message: "m" }],
  ] as const) {
    assert.equal(checkAnswer(raw(http, body), "u").kind, "bad", JSON.stringify(body));
  }
});
