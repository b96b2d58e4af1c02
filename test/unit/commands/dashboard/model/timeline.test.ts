import assert from "node:assert/strict";
import { test } from "node:test";
import { type ProtectorID } from "../../../../../src/api/object-key.ts";
import { decodeEvent, Timeline } from "../../../../../src/commands/dashboard/model/timeline.ts";
import { eventBody, type EventFields } from "../events.ts";

const web = "core/shop/web" as ProtectorID;

function event(fields: EventFields = {}) {
  const { metadata, ...others } = eventBody(fields) as { metadata: object };
  const uid = fields.name ?? "e1";
  const decoded = decodeEvent({ ...others, metadata: { ...metadata, uid, resourceVersion: "1" } });
  assert(decoded !== undefined);
  return decoded;
}

test("refusals of a PodProtector are added up over its Events, with the words of the newest", () => {
  const timeline = new Timeline();
  assert.equal(timeline.set("core", event({ name: "a", count: 3, second: 10, message: "first" })), web);
  timeline.set("core", event({ name: "b", count: 2, second: 20, message: "second" }));
  timeline.set("core", event({ name: "c", about: "other" }));
  const at = Date.UTC(2026, 0, 1, 0, 0, 20);
  assert.deepEqual(timeline.refusalsOf(web), {
    count: 5,
    lastMs: at,
    last: "second",
    series: [
      { count: 2, lastMs: at },
      { count: 3, lastMs: at - 10_000 },
    ],
  });
  assert.equal(timeline.refused, 6);
});

test("an Event that is counted again replaces what it said before", () => {
  const timeline = new Timeline();
  timeline.set("core", event({ count: 3 }));
  timeline.set("core", event({ count: 9, second: 30 }));
  assert.equal(timeline.refusalsOf(web)?.count, 9);
  assert.deepEqual(
    timeline.entries(10).map(({ count }) => count),
    [9],
  );
});

test("what the core forgets is no refusal of the last hour any more, and stays in the timeline", () => {
  const timeline = new Timeline();
  timeline.set("core", event());
  assert.equal(timeline.delete("core", event()), web);
  assert.equal(timeline.delete("core", event()), undefined);
  assert.equal(timeline.refusalsOf(web), undefined);
  assert.equal(timeline.size, 1);
});

test("other Events are in the timeline and are no refusals", () => {
  const timeline = new Timeline();
  const others = [
    event({ name: "a", reason: "WouldRefuse" }),
    event({ name: "b", component: "podseidon-generator", reason: "ChangeHeld" }),
    event({ name: "c", kind: "Lease", reason: "CellSilent" }),
  ];
  for (const other of others) assert.equal(timeline.set("core", other), undefined);
  assert.equal(timeline.refused, 0);
  assert.equal(timeline.size, 3);
});

test("a refusal that is told on the workload and the pod as well is one entry", () => {
  const timeline = new Timeline();
  timeline.set("core", event({ name: "a" }));
  timeline.set("core", event({ name: "b", kind: "Deployment", reason: "DeletionRefused" }));
  timeline.set("core", event({ name: "c", kind: "Pod", reason: "DeletionRefused" }));
  assert.equal(timeline.size, 1);
});

test("the newest entries come first, and a reader who comes back gets what has changed since", () => {
  const timeline = new Timeline();
  for (const [index, name] of ["a", "b", "c"].entries()) timeline.set("core", event({ name, second: index }));
  const { change } = timeline;
  assert.deepEqual(
    timeline.entries(2).map(({ id }) => id),
    ["core/c", "core/b"],
  );
  assert.deepEqual(timeline.entries(10, change), []);
  timeline.set("core", event({ name: "a", second: 9, count: 2 }));
  assert.deepEqual(
    timeline.entries(10, change).map(({ id }) => id),
    ["core/a"],
  );
});

test("an Event that is seen again unchanged is no change", () => {
  const timeline = new Timeline();
  timeline.set("core", event());
  const { change } = timeline;
  timeline.set("core", event());
  assert.equal(timeline.change, change);
});

test("at most 500 entries are kept, and the oldest go", () => {
  const timeline = new Timeline();
  for (let index = 0; index < 520; index++) {
    timeline.set("core", event({ name: `e${index}`, second: Math.min(59, Math.floor(index / 10)) }));
  }
  assert.equal(timeline.size, 500);
  assert(!timeline.entries(500).some(({ id }) => id === "core/e3"));
});

test("what cannot be an Event is left out, and control characters in one are cleaned", () => {
  assert.equal(decodeEvent({ metadata: {} }), undefined);
  assert.equal(event({ message: `a\u001b[31m${"x".repeat(600)}` }).message, `a?[31m${"x".repeat(600)}`);
  assert.equal(event({ message: "m".repeat(5_000) }).message.length, 1_024);
});
