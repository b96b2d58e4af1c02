import assert from "node:assert/strict";
import { test } from "node:test";
import { objectKey } from "../../../../../src/api/object-key.ts";
import { type CoreFacts } from "../../../../../src/commands/check/facts.ts";
import { protectorFindings, tombstoneFindings } from "../../../../../src/commands/check/findings/protectors.ts";
import { type ProtectorEvent } from "../../../../../src/commands/fleet/refusals.ts";
import { before, core, now, protector, read, unread } from "../sound-facts.ts";

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
    "note 8 deletions refused in the last hour, of 2 workloads, most of them by runaway (6)",
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
  assert.match(found?.text ?? "", /^shop\/lost is gone without having been released.*said 1 m 00 s ago/);
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
