import assert from "node:assert/strict";
import { test } from "node:test";
import { type Delayed, DelayHeap } from "../../../src/work-queue/delay-heap.ts";
import { createSeededRng } from "../../support/seeded-rng.ts";

interface Item extends Delayed {
  readonly name: string;
}

const item = (name: string): Item => ({ name, dueMs: 0, heapIndex: -1, heapSequence: 0 });

function takeAll(heap: DelayHeap<Item>, nowMs: number): string[] {
  const names: string[] = [];
  for (let first = heap.takeDue(nowMs); first !== undefined; first = heap.takeDue(nowMs)) names.push(first.name);
  return names;
}

test("a heap gives what is due, the earliest first, and keeps the rest", () => {
  const heap = new DelayHeap<Item>();
  for (const [name, dueMs] of [
    ["c", 30],
    ["a", 10],
    ["d", 40],
    ["b", 20],
  ] as const)
    heap.setEarliest(item(name), dueMs);
  assert.equal(heap.nextDueMs, 10);
  assert.deepEqual(takeAll(heap, 30), ["a", "b", "c"]);
  assert.equal(heap.nextDueMs, 40);
  assert.deepEqual(takeAll(heap, 39), []);
});

test("items of the same moment come in the order in which they were set", () => {
  const heap = new DelayHeap<Item>();
  for (const name of ["a", "b", "c", "d", "e"]) heap.setEarliest(item(name), 5);
  assert.deepEqual(takeAll(heap, 5), ["a", "b", "c", "d", "e"]);
});

test("an item moves forward and never back", () => {
  const heap = new DelayHeap<Item>();
  const moved = item("moved");
  heap.setEarliest(item("other"), 50);
  heap.setEarliest(moved, 100);
  heap.setEarliest(moved, 200);
  assert.deepEqual(takeAll(heap, 150), ["other", "moved"]);
  heap.setEarliest(item("other"), 50);
  heap.setEarliest(moved, 100);
  heap.setEarliest(moved, 20);
  assert.deepEqual(takeAll(heap, 150), ["moved", "other"]);
});

test("a heap knows what it holds", () => {
  const heap = new DelayHeap<Item>();
  const only = item("only");
  assert.equal(heap.has(only), false);
  assert.equal(heap.nextDueMs, undefined);
  heap.setEarliest(only, 1);
  assert.equal(heap.has(only), true);
  assert.equal(heap.takeDue(1), only);
  assert.equal(heap.has(only), false);
  assert.equal(heap.takeDue(Infinity), undefined);
});

test("a heap agrees with a sorted list through 500 random histories", () => {
  for (let seed = 1; seed <= 500; seed++) {
    const rng = createSeededRng(seed);
    const heap = new DelayHeap<Item>();
    const items = Array.from({ length: 12 }, (_, index) => item(`${index}`));
    const expected = new Map<Item, { dueMs: number; order: number }>();
    for (let order = 0; order < 60; order++) {
      if (rng.next() < 0.7) {
        const chosen = items[Math.floor(rng.next() * items.length)]!;
        const dueMs = Math.floor(rng.next() * 20);
        heap.setEarliest(chosen, dueMs);
        if (dueMs < (expected.get(chosen)?.dueMs ?? Infinity)) expected.set(chosen, { dueMs, order });
      } else {
        const nowMs = Math.floor(rng.next() * 20);
        const due = [...expected]
          .filter(([, { dueMs }]) => dueMs <= nowMs)
          .sort(([, a], [, b]) => a.dueMs - b.dueMs || a.order - b.order)
          .map(([dueItem]) => dueItem);
        for (const dueItem of due) expected.delete(dueItem);
        assert.deepEqual(
          takeAll(heap, nowMs),
          due.map(({ name }) => name),
          `seed ${seed}`,
        );
      }
    }
  }
});
