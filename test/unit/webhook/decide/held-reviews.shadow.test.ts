/** Held reviews and PodProtectors in shadow: a trial delays nobody, and is reported once. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { annotations } from "../../../../src/api/v1alpha1/names.ts";
import { type EventRecorder } from "../../../../src/kube/event-recorder.ts";
import { cell, deleteReview, type Json, pod, protector } from "../support/objects.ts";
import { type Replica, settle, world } from "../support/replica.ts";
import { fullWorld, heldOf, ownedReview, sent, settled, timeOf } from "../support/held.ts";

function inShadow(object: Json): Json {
  return {
    ...object,
    metadata: { ...(object["metadata"] as Json), annotations: { [annotations.mode]: "shadow" } },
  };
}

/** In shadow, with 80 of 80 that must stay. */
const trial = () => inShadow(protector({ name: "trial", cells: [cell("c1", 80)] }));

/** Deletions that were reported to be refused in shadow. */
function reportedOf({ metrics }: Replica, name = "trial"): number {
  return metrics.count(`webhook_would_refuse_total{podprotector="core/ns/${name}"`);
}

/** Notes the reasons of all Events. */
function recorder(reasons: string[]): EventRecorder {
  return { record: (_regarding, _type, reason) => void reasons.push(reason), close() {} };
}

test("what only PodProtectors in shadow would refuse is not held, whatever they wait for", async () => {
  const promised = () => inShadow(protector({ cells: [cell("c1", 81)] }));
  for (const [what, objects, options] of [
    ["one in shadow", [promised()], {}],
    ["besides one in force with room", [promised(), protector({ name: "zone", cells: [cell("c1", 100)] })], {}],
    ["with --webhook-dry-run", [protector({ cells: [cell("c1", 81)] })], { dryRun: true }],
  ] as const) {
    const made = world(objects, options);
    await made.replica.review(deleteReview(pod("first")));
    const { allowed, elapsedMs, warnings } = await settle(made.clock, made.replica.send(ownedReview("p")));
    assert.equal(allowed, true, what);
    // Two writes at most.
    assert.ok(elapsedMs <= 20, `${what}: ${elapsedMs}`);
    assert.match(warnings[0] ?? "", /promised 1, free 0/, what);
    assert.equal(made.replica.metrics.count("webhook_held_review"), 0, what);
    assert.equal(reportedOf(made.replica, "web"), 1, what);
  }
});

test("where one in force and one in shadow have nothing left, the one in force alone is waited for", async () => {
  const reasons: string[] = [];
  const made = await fullWorld({ events: new Map([["core", recorder(reasons)]]) }, [trial()]);
  const { clock, core, replica } = made;
  assert.equal(reportedOf(replica), 1);
  const { answer, state } = sent(replica, ownedReview("p"));
  await clock.advance(100);
  assert.equal(state.done, undefined);
  assert.equal(reportedOf(replica), 1);
  settled(core, 81);
  const { allowed, elapsedMs, warnings } = await settle(clock, answer);
  assert.equal(allowed, true);
  // Half a millisecond for who met a conflict.
  assert.ok(elapsedMs <= 121, `${elapsedMs}`);
  assert.equal(warnings.length, 1);
  assert.match(warnings[0] ?? "", /^allowed in shadow mode: PodProtector core\/ns\/trial/);
  assert.equal(heldOf(replica, "promised", "admitted"), 1);
  // Both have a report: of the first deletion, and of this one.
  assert.equal(reportedOf(replica), 2);
  assert.deepEqual(reasons, ["WouldRefuse", "WouldRefuse"]);
  assert.deepEqual(
    core.buckets("ns/trial").map((bucket) => bucket["podUID"]),
    ["uid-first", "uid-p"],
  );
});

test("a held review that is refused in the end leaves no report of a trial, and no record in it", async () => {
  const made = await fullWorld({}, [trial()]);
  assert.deepEqual(await timeOf(made, ownedReview("p")), { allowed: false, elapsedMs: 1_000 });
  assert.equal(reportedOf(made.replica), 1);
  assert.equal(made.core.buckets("ns/trial").length, 1);
});

test("a refusal in force that does not pass is answered at once, whatever one in shadow waits for", async () => {
  const waiting = inShadow(protector({ name: "trial", cells: [cell("c1", 81)] }));
  const roomy = protector({ cells: [cell("c1", 100)] });
  const made = world([roomy, waiting]);
  await made.replica.review(deleteReview(pod("first")));
  settled(made.core, 80);
  assert.deepEqual(await timeOf(made, ownedReview("p")), { allowed: false, elapsedMs: 0 });
});

test("a change of one in shadow wakes nobody", async () => {
  const { clock, core, replica } = await fullWorld({}, [trial()]);
  const { answer, state } = sent(replica, ownedReview("p"));
  await clock.advance(100);
  const evaluated = replica.metrics.count("webhook_handle_pod_in_ppr");
  settled(core, 90, "trial");
  await clock.advance(100);
  assert.equal(state.done, undefined);
  assert.equal(replica.metrics.count("webhook_handle_pod_in_ppr"), evaluated);
  assert.equal((await settle(clock, answer)).elapsedMs, 1_000);
});

test("a held review goes at once when its PodProtector is put in shadow, and is reported once", async () => {
  const { clock, core, replica } = await fullWorld();
  const { answer, state } = sent(replica, ownedReview("p"));
  await clock.advance(100);
  assert.equal(state.done, undefined);
  core.put(inShadow(core.object("ns/web")));
  const { allowed, elapsedMs, audit } = await settle(clock, answer);
  assert.equal(allowed, true);
  // Half a millisecond for who met a conflict.
  assert.ok(elapsedMs <= 121, `${elapsedMs}`);
  assert.equal(audit["shadow"], "1");
  assert.equal(reportedOf(replica, "web"), 1);
  assert.equal(heldOf(replica, "promised", "admitted"), 1);
});
