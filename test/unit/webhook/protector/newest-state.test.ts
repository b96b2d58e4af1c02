import assert from "node:assert/strict";
import { test } from "node:test";
import { marks } from "../../accounting/samples.ts";
import { type MonotonicMs } from "../../../../src/util/clock.ts";
import {
  firstState,
  NewestState,
  next,
  quickRetries,
  ReadLimit,
  type State,
  type StateEvent,
  type Trust,
} from "../../../../src/webhook/protector/newest-state.ts";
import { type ProtectorView } from "../../../../src/webhook/protector/protector-view.ts";
import { createVirtualClock } from "../../../support/virtual-clock.ts";
import { protectorView } from "../support/views.ts";

function view(version: number, uid = "uid-1"): ProtectorView {
  return protectorView({ uid }, version);
}

const at = (ms: number): MonotonicMs => ms as MonotonicMs;

/** A state that the watch has delivered as version 10. */
function stateOf(version = 10): NewestState {
  return new NewestState(view(version), marks, createVirtualClock());
}

test("the newest state is whichever is newer, the watch or the own write", () => {
  const state = stateOf();
  state.wrote(view(12));
  state.watched(view(11));
  assert.equal(state.view.resourceVersion, "12");
  state.watched(view(13));
  state.wrote(view(12));
  assert.equal(state.view.resourceVersion, "13");
});

test("versions are compared as numbers", () => {
  const state = stateOf(9);
  state.wrote(view(10));
  assert.equal(state.view.resourceVersion, "10");
});

test("a live GET always counts, and ends the doubt", () => {
  const state = stateOf();
  state.lostAnswer();
  assert.equal(state.isDoubtful, true);
  assert.equal(state.readLive(view(15), view(10)), false);
  assert.equal(state.view.resourceVersion, "15");
  assert.equal(state.isDoubtful, false);
});

test("what the watch delivered while an older live GET was under way is kept", () => {
  const known = view(10);
  const state = new NewestState(known, marks, createVirtualClock());
  state.watched(view(20));
  assert.equal(state.readLive(view(15), known), false);
  assert.equal(state.view.resourceVersion, "20");
});

test("a live GET of another UID is another object, however old its version", () => {
  const known = view(50);
  const state = new NewestState(known, marks, createVirtualClock());
  assert.equal(state.readLive(view(40, "uid-2"), known), false);
  assert.equal(state.view.uid, "uid-2");
});

test("a watch that goes backwards only raises doubt, because a relist may come from a lagging server", () => {
  const state = stateOf(50);
  state.watched(view(40));
  assert.equal(state.isDoubtful, true);
  assert.equal(state.view.resourceVersion, "50");
});

test("an own write of an object that was replaced under its name changes nothing", () => {
  const state = new NewestState(view(60, "uid-2"), marks, createVirtualClock());
  state.wrote(view(70, "uid-1"));
  assert.equal(state.view.uid, "uid-2");
});

test("a state that may be old is read live at most once a second, and in between counts as current", () => {
  const state = stateOf();
  const limit = new ReadLimit();
  assert.equal(state.suspect(at(1_000), limit), true);
  assert.equal(state.isDoubtful, true);
  assert.equal(state.suspect(at(1_001), limit), true, "until it is read all wait for it");
  state.readLive(view(10), state.view);
  assert.equal(state.isDoubtful, false);
  assert.equal(state.suspect(at(1_999), limit), false);
  assert.equal(state.isDoubtful, false);
  assert.equal(state.suspect(at(2_000), limit), true);
});

test("the objects of a core share 50 reads a second", () => {
  const limit = new ReadLimit();
  const states = Array.from({ length: 100 }, () => stateOf());
  const due = (nowMs: number): number => states.filter((state) => state.suspect(at(nowMs), limit)).length;
  let read = 0;
  for (let nowMs = 1_000; nowMs < 2_000; nowMs++) read = Math.max(read, due(nowMs));
  assert.equal(read, 50);
});

test("a state that may be old is judged by when it cannot be read, unless something says that it is wrong", () => {
  const state = stateOf();
  const limit = new ReadLimit();
  state.suspect(at(1_000), limit);
  assert.equal(state.isSuspected, true);
  assert.equal(state.notRead(), true);
  assert.equal(state.isDoubtful, false);
  state.suspect(at(3_000), limit);
  state.lostAnswer();
  assert.equal(state.isSuspected, false);
  assert.equal(state.notRead(), false);
  assert.equal(state.isDoubtful, true);
});

test("a state is certainly old after a conflict, until the watch delivers a newer one", () => {
  const state = stateOf();
  assert.equal(state.conflicted(state.view), 1);
  assert.equal(state.isOvertaken, true);
  state.watched(view(9));
  assert.equal(state.isDoubtful, true);
  state.readLive(view(10), state.view);
  state.conflicted(state.view);
  state.wrote(view(10));
  state.conflicted(state.view);
  state.watched(view(11));
  assert.equal(state.isOvertaken, false);
  assert.equal(state.isDoubtful, false);
});

test("a state is not old when the watch was faster than the conflict", () => {
  const base = view(10);
  const state = new NewestState(base, marks, createVirtualClock());
  state.watched(view(11));
  state.conflicted(base);
  assert.equal(state.isOvertaken, false);
  assert.equal(state.isDoubtful, false);
});

test("a state that was suspected is not overtaken for certain when the watch was faster than the conflict", () => {
  const base = view(10);
  const state = new NewestState(base, marks, createVirtualClock());
  state.suspect(at(1_000), new ReadLimit());
  state.watched(view(11));
  state.conflicted(base);
  assert.equal(state.view.resourceVersion, "11");
  assert.equal(state.isOvertaken, false);
});

test("a failed request does not make a state certain that was overtaken", () => {
  const state = stateOf();
  state.conflicted(state.view);
  state.lostAnswer();
  assert.equal(state.isOvertaken, true);
  assert.equal(state.isDoubtful, true);
});

test("a state is old after four conflicts in a row, whatever the watch delivers, until it is read live", () => {
  const state = stateOf();
  for (let number = 1; number <= quickRetries; number += 1) {
    assert.equal(state.conflicted(state.view), number);
    state.watched(view(10 + number));
    assert.equal(state.isOvertaken, false);
  }
  state.conflicted(state.view);
  state.watched(view(20));
  assert.equal(state.isOvertaken, true);
  state.readLive(view(21), state.view);
  assert.equal(state.isOvertaken, false);
  assert.equal(state.isDoubtful, false);
  state.wrote(view(22));
  assert.equal(state.conflicted(state.view), 1);
});

/** Every event that can follow on a state whose newest version is 10, with names for the messages. */
function eventsOn({ newest }: State): readonly StateEvent[] {
  const [older, newer] = [view(9), view(11)];
  return [
    { on: "watched", view: older },
    { on: "watched", view: newer },
    { on: "wrote", view: newer },
    { on: "conflict", base: newest },
    { on: "conflict", base: older },
    { on: "lostAnswer" },
    { on: "suspect" },
    { on: "notRead" },
    { on: "live", view: newer, known: newest },
    { on: "live", view: view(10), known: older },
    { on: "restored", view: older },
  ];
}

const trusts: readonly Trust[] = [
  { kind: "trusted" },
  { kind: "suspected" },
  { kind: "behind", onlyLive: false },
  { kind: "behind", onlyLive: true },
  { kind: "unknown" },
];

test("only a conflict on top of the newest known state makes it overtaken, from any trust, by any event", () => {
  for (const conflicts of [0, quickRetries, quickRetries + 1]) {
    for (const trust of trusts) {
      const state: State = { ...firstState(view(10)), trust, conflicts };
      for (const event of eventsOn(state)) {
        const after = next(state, event);
        const isConflictOnNewest = event.on === "conflict" && event.base === state.newest;
        const text = JSON.stringify({ trust, conflicts, event: event.on, after: after.trust });
        if (trust.kind !== "behind") assert.equal(after.trust.kind === "behind", isConflictOnNewest, text);
      }
    }
  }
});

test("a live GET ends every doubt, and nothing else ends that of a lost answer", () => {
  const state: State = { ...firstState(view(10)), trust: { kind: "unknown" } };
  for (const event of eventsOn(state)) {
    const isLive = event.on === "live" || event.on === "restored";
    assert.equal(next(state, event).trust.kind === "trusted", isLive, event.on);
  }
});

test("the machine changes nothing in the state that it is given", () => {
  for (const trust of trusts) {
    const state: State = Object.freeze({ ...firstState(view(10)), trust: Object.freeze(trust) });
    for (const event of eventsOn(state)) next(state, event);
  }
});
