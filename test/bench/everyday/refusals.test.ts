import assert from "node:assert/strict";
import { test } from "node:test";
import { type AskedDeletion, decisionMs, type LogEntry, type SeenPod, unnecessaryRefusals } from "./refusals.ts";

const pod = (atMs: number, name: string, change: Partial<SeenPod> = {}): SeenPod => {
  return { atMs, kind: "pod", name, uid: `uid-${name}`, workload: "web", isAvailable: true, ...change };
};
const floor = (atMs: number, value: number): LogEntry => ({ atMs, kind: "floor", workload: "web", floor: value });
const asked = (outcome: AskedDeletion["outcome"], name: string, fromMs: number, atMs: number): AskedDeletion => {
  return { fromMs, atMs, kind: "deletion", name, outcome };
};
/** Three available pods, two of which must stay. */
const three = [floor(0, 2), pod(0, "a"), pod(0, "b"), pod(0, "c")];

test("a refusal at the floor is necessary, and one above it is not", () => {
  const refused = asked("refused", "a", 100, 110);
  assert.deepEqual(unnecessaryRefusals([floor(0, 3), ...three.slice(1), refused]), []);
  assert.deepEqual(unnecessaryRefusals([...three, refused]), [refused]);
});

test("a pod whose deletion was admitted is not available to others, also before a watch shows it", () => {
  const log = [...three, asked("admitted", "b", 95, 105), asked("refused", "a", 100, 103)];
  assert.deepEqual(unnecessaryRefusals(log), []);
  const gone = pod(300, "b", { isAvailable: false });
  assert.deepEqual(unnecessaryRefusals([...log, gone, asked("refused", "a", 400, 410)]), []);
  const again = asked("refused", "a", 600, 610);
  assert.deepEqual(unnecessaryRefusals([...log, gone, pod(500, "d"), again]), [again], "its replacement is there");
});

test("room that opens or closes while the request is decided is no room", () => {
  const unready = pod(0, "c", { isAvailable: false });
  const opens = [floor(0, 2), pod(0, "a"), pod(0, "b"), unready, pod(105, "c")];
  assert.deepEqual(unnecessaryRefusals([...opens, asked("refused", "a", 100, 110)]), []);
  const closes = [...three, pod(105, "c", { isAvailable: false })];
  assert.deepEqual(unnecessaryRefusals([...closes, asked("refused", "a", 100, 110)]), []);
});

test("of a request that was held only the end counts", () => {
  const unready = pod(0, "c", { isAvailable: false });
  const held = asked("refused", "a", 100, 1_100);
  const until = (atMs: number) => [floor(0, 2), pod(0, "a"), pod(0, "b"), unready, pod(atMs, "c"), held];
  assert.deepEqual(unnecessaryRefusals(until(1_100 - decisionMs - 1)), [held]);
  assert.deepEqual(unnecessaryRefusals(until(1_100 - decisionMs + 1)), []);
});

test("the floor is that of the spec at that moment", () => {
  const before = asked("refused", "a", 100, 110);
  const after = asked("refused", "a", 300, 310);
  const log = [floor(0, 3), ...three.slice(1), before, floor(200, 1), after];
  assert.deepEqual(unnecessaryRefusals(log), [after]);
});

test("pods of other workloads, and pods that nobody knows, make no room", () => {
  const others = [pod(0, "x", { workload: "db" }), pod(0, "y", { workload: "db" })];
  assert.deepEqual(unnecessaryRefusals([floor(0, 1), pod(0, "a"), ...others, asked("refused", "a", 10, 20)]), []);
  assert.deepEqual(unnecessaryRefusals([...three, asked("refused", "unknown", 10, 20)]), []);
  assert.deepEqual(unnecessaryRefusals([pod(0, "a"), asked("refused", "a", 10, 20)]), [], "no floor");
});

test("a pod that takes the name of another is available although the former was promised", () => {
  const log = [
    ...three,
    asked("admitted", "a", 10, 20),
    pod(30, "a", { isAvailable: false }),
    pod(40, "a", { uid: "uid-next", isAvailable: false }),
    pod(50, "a", { uid: "uid-next" }),
    pod(55, "a", { isAvailable: false }),
  ];
  const refused = asked("refused", "b", 200, 210);
  assert.deepEqual(unnecessaryRefusals([...log, refused]), [refused]);
});
