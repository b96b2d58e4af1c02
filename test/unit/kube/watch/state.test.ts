import assert from "node:assert/strict";
import { test } from "node:test";
import { parseResourceVersion } from "../../../../src/api/resource-version.ts";
import { KubeError, type KubeErrorKind } from "../../../../src/kube/kube-client.ts";
import {
  firstState,
  listDue,
  nextStep as nextStepAt,
  type Ending,
  type State,
  type Step,
  type Burden,
  createBackoff,
} from "../../../../src/kube/watch/state.ts";
import { later, longAgo, type MonotonicMs } from "../../../../src/util/clock.ts";
import { errorKinds } from "../error-kinds.ts";
import { createVirtualClock } from "../../../support/virtual-clock.ts";

const at = parseResourceVersion("10")!;
const hourMs = 3_600_000;
const now = 5_000_000 as MonotonicMs;
const after = (ms: number): MonotonicMs => later(now, ms);
const nextStep = (state: State, ending: Ending, nowMs = now): Step => nextStepAt(state, ending, nowMs);
const streaming = firstState;
/** What is known of a server that has just refused a WatchList. */
const refused = { misses: 0, pagesUntilMs: after(hourMs) };
const paging = listDue(refused, now);
const lists: readonly State[] = [streaming, paging];
const watching: State = { phase: "watch", from: at, ...refused };
const missed: Ending = { type: "missed", resumeFrom: undefined, why: "no end mark" };
const failed = (kind: KubeErrorKind, more: Partial<Extract<Ending, { type: "failed" }>> = {}): Ending => ({
  type: "failed",
  resumeFrom: undefined,
  error: new KubeError(kind, ""),
  hasBegun: false,
  ...more,
});

test("a failed list is always followed by a list, with a pause unless another method is tried", () => {
  for (const kind of errorKinds) {
    for (const state of lists) {
      const step: Step = nextStep(state, failed(kind));
      const isRefused: boolean = state === streaming && kind === "invalid";
      const isLight: boolean = kind === "network" || kind === "unauthorized";
      assert.equal(step.next.phase, "list", kind);
      assert.equal(step.backoff, isRefused ? undefined : isLight ? "light" : "heavy", kind);
      assert.equal(step.isRefusal ?? false, isRefused, kind);
      assert.equal(step.next.pagesUntilMs, isRefused ? after(hourMs) : state.pagesUntilMs, kind);
      assert.equal(step.relistReason, undefined, kind);
    }
  }
});

test("a list that has begun is heavy to do again, whatever broke it", () => {
  for (const kind of errorKinds) {
    for (const state of lists) {
      if (kind !== "invalid") assert.equal(nextStep(state, failed(kind, { hasBegun: true })).backoff, "heavy", kind);
    }
  }
});

test("a server that refuses a WatchList is asked for one again after an hour", () => {
  const { next } = nextStep(streaming, failed("invalid"));
  const methodAt = (nowMs: MonotonicMs): unknown => nextStep(next, failed("gone"), nowMs).next;
  assert.deepEqual(methodAt(after(hourMs - 1)), { phase: "list", method: "pages", ...refused });
  assert.deepEqual(methodAt(after(hourMs)), { phase: "list", method: "watchList", ...refused });
});

test("after one end mark that did not come pages are next, and a WatchList at the list after that", () => {
  const step = nextStep(streaming, missed);
  assert.deepEqual([step.next, step.backoff], [{ ...streaming, method: "pages", misses: 1 }, "heavy"]);
  const watched = nextStep(step.next, { type: "ended", resumeFrom: at, isShort: false });
  const listed = nextStep(watched.next, failed("gone", { resumeFrom: at }));
  assert.deepEqual(listed.next, { ...streaming, misses: 1 });
});

test("after two in a row lists come in pages for an hour, then one WatchList is tried, then pages again", () => {
  const twice = nextStep({ ...streaming, misses: 1 }, missed).next;
  const known = { misses: 2, pagesUntilMs: after(hourMs) };
  assert.deepEqual(twice, { phase: "list", method: "pages", ...known });
  assert.equal((listDue(known, after(hourMs - 1)) as { method?: string }).method, "pages");
  const again = listDue(known, after(hourMs));
  assert.deepEqual(again, { phase: "list", method: "watchList", ...known });
  const third = nextStep(again, missed, after(hourMs)).next;
  assert.deepEqual(third, { phase: "list", method: "pages", misses: 3, pagesUntilMs: after(2 * hourMs) });
});

test("an end mark that comes clears those that did not", () => {
  const again: State = { phase: "list", method: "watchList", misses: 3, pagesUntilMs: now };
  const endings: readonly Ending[] = [
    { type: "ended", resumeFrom: at, isShort: false },
    failed("network", { resumeFrom: at }),
    failed("gone", { resumeFrom: at }),
  ];
  for (const ending of endings) {
    const { next }: Step = nextStep(again, ending);
    assert.deepEqual([next.misses, next.pagesUntilMs], [0, longAgo]);
  }
});

test("a WatchList that breaks off, or that a busy server refuses, is no end mark that did not come", () => {
  for (const kind of errorKinds) {
    for (const hasBegun of [true, false]) {
      assert.equal(nextStep({ ...streaming, misses: 1 }, failed(kind, { hasBegun })).next.misses, 1, kind);
    }
  }
  assert.equal(nextStep(streaming, { type: "ended", resumeFrom: undefined, isShort: false }).next.misses, 0);
});

test("a watch that was answered and brought nothing for minutes is followed by a list, however it ended", () => {
  const endings: readonly Ending[] = [
    { type: "ended", resumeFrom: at, isShort: false, isStale: true },
    failed("timeout", { resumeFrom: at, isStale: true }),
    failed("network", { resumeFrom: at, isStale: true }),
  ];
  for (const ending of endings) {
    const step = nextStep(watching, ending);
    assert.deepEqual([step.next, step.backoff, step.relistReason], [paging, "heavy", "silent"]);
  }
  const gone = nextStep(watching, failed("gone", { resumeFrom: at, isStale: true }));
  assert.equal(gone.relistReason, "gone");
});

test("what the server asks to wait is passed on, from lists and watches", () => {
  const error = new KubeError("tooManyRequests", "", { retryAfterMs: 7_000 });
  const asked = ([streaming, paging, watching] as const).map((state) => {
    const resumeFrom = state.phase === "watch" ? at : undefined;
    return nextStep(state, failed("tooManyRequests", { resumeFrom, error })).retryAfterMs;
  });
  assert.deepEqual(asked, [7_000, 7_000, 7_000]);
});

test("a failed watch goes on from its version after a pause, except where the version is of no use", () => {
  const relisting = new Set<KubeErrorKind>(["gone", "notFound", "invalid"]);
  const light = new Set<KubeErrorKind>(["network", "unauthorized", "timeout", "aborted"]);
  for (const kind of errorKinds) {
    for (const state of [streaming, watching]) {
      const step: Step = nextStep(state, failed(kind, { resumeFrom: at }));
      assert.equal(step.backoff, light.has(kind) ? "light" : "heavy", kind);
      assert.equal(step.next.phase, relisting.has(kind) ? "list" : "watch", kind);
      assert.equal(step.relistReason, relisting.has(kind) ? kind : undefined, kind);
      if (step.next.phase === "list") assert.equal(step.next.method, state === streaming ? "watchList" : "pages");
      else assert.deepEqual([step.next.from, step.next.mayBeRestored], [at, true], kind);
    }
  }
});

test("a watch that the server ended in good order goes on without a doubt about its history", () => {
  for (const isShort of [true, false]) {
    for (const state of [watching, { ...watching, mayBeRestored: true }] as const) {
      const { next } = nextStep(state, { type: "ended", resumeFrom: at, isShort });
      assert.deepEqual(next, { phase: "watch", from: at, ...refused });
    }
  }
});

test("a stream that is corrupt at another version than before is resumed again", () => {
  const further = parseResourceVersion("11")!;
  const first = nextStep(watching, failed("malformed", { resumeFrom: at }));
  assert.deepEqual(first.next, { phase: "watch", from: at, corruptFrom: at, mayBeRestored: true, ...refused });
  const second = nextStep(first.next, failed("malformed", { resumeFrom: further }));
  assert.deepEqual(second.next, {
    phase: "watch",
    from: further,
    corruptFrom: further,
    mayBeRestored: true,
    ...refused,
  });
  const third = nextStep(second.next, failed("malformed", { resumeFrom: further }));
  assert.equal(third.relistReason, "corrupt");
});

test("a complete list is followed by a watch at once, a short watch by a pause", () => {
  assert.deepEqual(nextStep(paging, { type: "ended", resumeFrom: at, isShort: false }), {
    next: { phase: "watch", from: at, ...refused },
  });
  assert.equal(nextStep(watching, { type: "ended", resumeFrom: at, isShort: true }).backoff, "heavy");
});

test("a WatchList that never says that it is complete but ends is followed by pages, and tried again later", () => {
  assert.deepEqual(nextStep(streaming, { type: "ended", resumeFrom: undefined, isShort: false }), {
    next: { ...streaming, method: "pages" },
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
