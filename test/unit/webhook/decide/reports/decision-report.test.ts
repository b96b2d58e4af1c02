import assert from "node:assert/strict";
import { test } from "node:test";
import { annotations } from "../../../../../src/api/v1alpha1/names.ts";
import { fullWorld, ownedReview, sent, settled } from "../../support/held.ts";
import { cell, deleteReview, evictReview, type Json, pod, protector } from "../../support/objects.ts";
import { type Replica, settle, world } from "../../support/replica.ts";

const forced = { annotations: { [annotations.forceDelete]: "" } };
const shadow = { [annotations.mode]: "shadow" };
/** 80 must stay, all 80 are there. */
const atFloor = (name = "web", set: Record<string, string> = {}): Json =>
  protector({ name, annotations: set, cells: [cell("c1", 80)] });
const by = (username: string): Json => ({ userInfo: { username } });

function decisions({ metrics }: Replica): readonly (readonly [string, number])[] {
  metrics.scrape();
  return [...metrics.values].flatMap(([text, values]) => {
    const labels = /^webhook_decisions_total\{(.*)\}$/.exec(text)?.[1];
    return labels === undefined ? [] : [[labels, values.reduce((sum, value) => sum + value, 0)] as const];
  });
}

const about = ({ log }: Replica, level: string) => log.lines.filter((line) => line.level === level);

test("a refusal is a line with who asked for what, which PodProtector refuses, why, and the numbers", async () => {
  const { replica } = world([atFloor()]);
  await replica.review(deleteReview(pod("p"), by("alice")));
  assert.deepEqual(about(replica, "info"), [
    {
      level: "info",
      message: "Refused a deletion",
      fields: {
        podProtector: "core/ns/web",
        pod: "ns/p",
        cell: "c1",
        request: "DeletePod",
        user: "alice",
        reason: "TooFewReplicas",
        mustStay: 80,
        available: 80,
        promised: 0,
        free: 0,
      },
    },
  ]);
  assert.deepEqual(decisions(replica), [['result="refused",reason="TooFewReplicas",cell="c1"', 1]]);
});

test("a PodProtector that refuses again and again has a line in ten seconds, which counts the others", async () => {
  const { clock, replica } = world([atFloor("a"), protector({ name: "b", selector: { matchLabels: { app: "b" } } })]);
  for (const name of ["p", "q", "r", "s"]) await replica.review(deleteReview(pod(name), by("alice")));
  await replica.review(deleteReview(pod("other", { labels: { app: "b" } }), by("alice")));
  const lines = () => about(replica, "info").map(({ fields }) => [fields["pod"], fields["others"]]);
  assert.deepEqual(lines(), [
    ["ns/p", undefined],
    ["ns/other", undefined],
  ]);
  await clock.advance(10_000);
  assert.deepEqual(lines().slice(2), [["ns/s", 2]]);
  await clock.advance(60_000);
  assert.equal(lines().length, 3);
  assert.equal(clock.pendingTimers, 0);
});

test("a forced deletion that would have been refused is a warning, and no refusal in any counter", async () => {
  const { replica } = world([atFloor()]);
  await replica.review(deleteReview(pod("p", forced), by("bob")));
  const [line, ...others] = replica.log.lines;
  assert.deepEqual([line?.level, line?.message], ["warn", "Allowed a forced deletion that would have been refused"]);
  assert.deepEqual([line?.fields["user"], line?.fields["free"]], ["bob", 0]);
  assert.deepEqual(others, []);
  assert.deepEqual(decisions(replica), [['result="forced",reason="TooFewReplicas",cell="c1"', 1]]);
  const { metrics } = replica;
  assert.equal(metrics.count('webhook_request{cell="c1",status="Forced",cause="DeletePod"}'), 1);
  assert.equal(metrics.count('webhook_request{cell="c1",status="Rejected"'), 0);
  const handled = [...metrics.values.keys()].filter((text) => text.startsWith("webhook_handle_pod_in_ppr"));
  assert.deepEqual(
    handled.map((text) => /rejected="(\w+)"/.exec(text)?.[1]),
    ["false"],
  );
});

test("a forced deletion that would have been admitted is admitted, without a line", async () => {
  const { replica } = world([protector({ cells: [cell("c1", 100)] })]);
  await replica.review(deleteReview(pod("p", forced)));
  assert.deepEqual(replica.log.lines, []);
  assert.deepEqual(decisions(replica), [['result="admitted",reason="AdmittedAll",cell="c1"', 1]]);
});

test("what shadow and --webhook-dry-run let pass is a warning, and a forced one is forced there too", async () => {
  for (const [result, objects, options] of [
    ["shadow", [atFloor("web", shadow)], {}],
    ["dry_run", [atFloor()], { dryRun: true }],
  ] as const) {
    const { replica } = world(objects, options);
    await replica.review(deleteReview(pod("p"), by("alice")));
    await replica.review(deleteReview(pod("q", forced), by("alice")));
    const mode = result === "shadow" ? "shadow" : "dry-run";
    assert.deepEqual(
      about(replica, "warn").map(({ message, fields }) => [message, fields["podProtector"], fields["mustStay"]]),
      [
        [`Allowed a deletion in ${mode} mode that would have been refused`, "core/ns/web", 80],
        ["Allowed a forced deletion that would have been refused", "core/ns/web", 80],
      ],
    );
    assert.deepEqual(
      decisions(replica).map(([labels]) => labels),
      [`result="${result}",reason="TooFewReplicas",cell="c1"`, 'result="forced",reason="TooFewReplicas",cell="c1"'],
    );
  }
});

test("a review that was held and then admitted is counted as held", async () => {
  const { clock, core, replica } = await fullWorld();
  const { answer } = sent(replica, ownedReview("p"));
  await clock.advance(100);
  settled(core, 81);
  assert.equal((await settle(clock, answer)).allowed, true);
  assert.deepEqual(
    decisions(replica).map(([labels]) => labels),
    ['result="admitted",reason="AdmittedAll",cell="c1"', 'result="held",reason="AdmittedAll",cell="c1"'],
  );
});

test("what is refused before any PodProtector is asked has one line for each reason", async () => {
  const { clock, replica } = world([atFloor()], { unsynced: true });
  for (const name of ["p", "q"]) await replica.review(deleteReview(pod(name), by("alice")));
  assert.deepEqual(
    about(replica, "info").map(({ fields }) => [fields["podProtector"], fields["pod"], fields["reason"]]),
    [[undefined, "ns/p", "NotSynced"]],
  );
  await clock.advance(10_000);
  assert.equal(about(replica, "info").length, 2);
});

test("dry runs decide nothing, and the eviction of a pod that is gone is no news", async () => {
  const { replica } = world([atFloor()], { workers: { kind: "none" } });
  await replica.review(deleteReview(pod("p"), { dryRun: true }));
  assert.deepEqual([replica.log.lines, decisions(replica)], [[], []]);
  await replica.review(evictReview("gone", { deleteOptions: { dryRun: ["All"] } }));
  assert.deepEqual(about(replica, "info"), []);
});

test("names that others choose cannot control a terminal or fill a line", async () => {
  const { replica } = world([atFloor()]);
  await replica.review(deleteReview(pod("p"), by(`eve\u001b[2J\u202e${"x".repeat(10_000)}`)));
  const user = String(about(replica, "info")[0]?.fields["user"]);
  assert.match(user, /^eve\?\[2J\?x+…$/);
  assert.ok(user.length < 400);
});

test("what is not told when the webhook stops is told then", async () => {
  const { replica } = world([atFloor()]);
  for (const name of ["p", "q"]) await replica.review(deleteReview(pod(name), by("alice")));
  await replica.webhook.drain();
  assert.deepEqual(
    about(replica, "info").map(({ fields }) => fields["pod"]),
    ["ns/p", "ns/q"],
  );
});
