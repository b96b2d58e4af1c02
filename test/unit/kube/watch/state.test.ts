import assert from "node:assert/strict";
import { test } from "node:test";
import { parseResourceVersion } from "../../../../src/api/resource-version.ts";
import { KubeError, type KubeErrorKind } from "../../../../src/kube/kube-client.ts";
import {
  firstState,
  listBy,
  nextStep,
  type State,
  type Step,
  type Burden,
  createBackoff,
} from "../../../../src/kube/watch/state.ts";
import { errorKinds } from "../error-kinds.ts";
import { createVirtualClock } from "../../../support/virtual-clock.ts";

const at = parseResourceVersion("10")!;
const streaming = firstState;
const paging = listBy("pages");
const lists: readonly State[] = [streaming, paging];
/** A watch of a server that has refused a WatchList. */
const watching: State = { phase: "watch", from: at, preferred: "pages" };

test("a failed list is always followed by a list, with a pause unless another method is tried", () => {
  for (const kind of errorKinds) {
    for (const state of lists) {
      const error = new KubeError(kind, "");
      const step: Step = nextStep(state, { type: "failed", resumeFrom: undefined, error, hasBegun: false });
      const isRefused: boolean = state === streaming && kind === "invalid";
      const isLight: boolean = kind === "network" || kind === "unauthorized";
      assert.equal(step.next.phase, "list", kind);
      assert.equal(step.backoff, isRefused ? undefined : isLight ? "light" : "heavy", kind);
      assert.equal(step.next.preferred, isRefused ? "pages" : state.preferred, kind);
      assert.equal(step.relistReason, undefined, kind);
    }
  }
});

test("a list that has begun is heavy to do again, whatever broke it", () => {
  for (const kind of errorKinds) {
    for (const state of lists) {
      const error = new KubeError(kind, "");
      const step: Step = nextStep(state, { type: "failed", resumeFrom: undefined, error, hasBegun: true });
      if (kind !== "invalid") assert.equal(step.backoff, "heavy", kind);
    }
  }
});

test("what the server asks to wait is passed on, from lists and watches", () => {
  const error = new KubeError("tooManyRequests", "", { retryAfterMs: 7_000 });
  const asked = ([streaming, paging, watching] as const).map((state) => {
    const resumeFrom = state.phase === "watch" ? at : undefined;
    return nextStep(state, { type: "failed", resumeFrom, error, hasBegun: false }).retryAfterMs;
  });
  assert.deepEqual(asked, [7_000, 7_000, 7_000]);
});

test("a failed watch goes on from its version after a pause, except where the version is of no use", () => {
  const relisting = new Set<KubeErrorKind>(["gone", "notFound", "invalid"]);
  const light = new Set<KubeErrorKind>(["network", "unauthorized", "timeout", "aborted"]);
  for (const kind of errorKinds) {
    for (const state of [streaming, watching]) {
      const error = new KubeError(kind, "");
      const step: Step = nextStep(state, { type: "failed", resumeFrom: at, error, hasBegun: false });
      assert.equal(step.backoff, light.has(kind) ? "light" : "heavy", kind);
      assert.equal(step.next.phase, relisting.has(kind) ? "list" : "watch", kind);
      assert.equal(step.relistReason, relisting.has(kind) ? kind : undefined, kind);
      assert.equal(step.next.preferred, state.preferred, kind);
      if (step.next.phase === "list") assert.equal(step.next.method, state.preferred);
      else assert.deepEqual([step.next.from, step.next.mayBeRestored], [at, true], kind);
    }
  }
});

test("a watch that the server ended in good order goes on without a doubt about its history", () => {
  for (const isShort of [true, false]) {
    for (const state of [watching, { ...watching, mayBeRestored: true }] as const) {
      const { next } = nextStep(state, { type: "ended", resumeFrom: at, isShort });
      assert.deepEqual(next, { phase: "watch", from: at, preferred: "pages" });
    }
  }
});

test("a stream that is corrupt at another version than before is resumed again", () => {
  const error = new KubeError("malformed", "");
  const later = parseResourceVersion("11")!;
  const first = nextStep(watching, { type: "failed", resumeFrom: at, error, hasBegun: true });
  assert.deepEqual(first.next, { phase: "watch", from: at, corruptFrom: at, mayBeRestored: true, preferred: "pages" });
  const second = nextStep(first.next, { type: "failed", resumeFrom: later, error, hasBegun: true });
  assert.deepEqual(second.next, {
    phase: "watch",
    from: later,
    corruptFrom: later,
    mayBeRestored: true,
    preferred: "pages",
  });
  const third = nextStep(second.next, { type: "failed", resumeFrom: later, error, hasBegun: true });
  assert.equal(third.relistReason, "corrupt");
});

test("a complete list is followed by a watch at once, a short watch by a pause", () => {
  assert.deepEqual(nextStep(paging, { type: "ended", resumeFrom: at, isShort: false }), {
    next: { phase: "watch", from: at, preferred: "pages" },
  });
  assert.equal(nextStep(watching, { type: "ended", resumeFrom: at, isShort: true }).backoff, "heavy");
});

test("a WatchList that never says that it is complete is followed by pages, and preferred again afterwards", () => {
  assert.deepEqual(nextStep(streaming, { type: "ended", resumeFrom: undefined, isShort: false }), {
    next: { phase: "list", method: "pages", preferred: "watchList" },
    backoff: "heavy",
  });
});

test("the range doubles from 0.8 s to 30 s, and starts over after two minutes without a failure", async () => {
  const clock = createVirtualClock();
  const highest = createBackoff(clock, { next: () => 1 });
  const delays = Array.from({ length: 8 }, () => highest.nextDelayMs("heavy"));
  assert.deepEqual(delays, [800, 1_600, 3_200, 6_400, 12_800, 25_600, 30_000, 30_000]);
  await clock.advance(119_000);
  assert.equal(highest.nextDelayMs("heavy"), 30_000);
  await clock.advance(120_000);
  assert.equal(highest.nextDelayMs("heavy"), 800);
});

test("attempts that cost the server nothing are 5 s apart at most, and bring the range down to that", () => {
  const highest = createBackoff(createVirtualClock(), { next: () => 1 });
  const delaysOf = (burden: Burden, count: number): number[] =>
    Array.from({ length: count }, () => highest.nextDelayMs(burden));
  assert.deepEqual(delaysOf("light", 6), [800, 1_600, 3_200, 5_000, 5_000, 5_000]);
  assert.deepEqual(delaysOf("heavy", 5), [5_000, 10_000, 20_000, 30_000, 30_000]);
  assert.deepEqual(delaysOf("light", 2), [5_000, 5_000]);
  assert.deepEqual(delaysOf("heavy", 2), [5_000, 10_000]);
});

test("the jitter is full: the shortest pause is none", () => {
  const lowest = createBackoff(createVirtualClock(), { next: () => 0 });
  assert.equal(lowest.nextDelayMs("light"), 0);
  assert.equal(lowest.nextDelayMs("heavy"), 0);
});
