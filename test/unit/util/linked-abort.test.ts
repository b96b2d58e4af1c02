import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { test } from "node:test";
import { linkedAbort } from "../../../src/util/linked-abort.ts";

test("it aborts with its parent, now or later, and by itself without the parent", () => {
  const parent = new AbortController();
  const linked = linkedAbort(parent.signal);
  assert.equal(linked.signal.aborted, false);
  parent.abort();
  assert.equal(linked.signal.aborted, true);
  assert.equal(linkedAbort(parent.signal).signal.aborted, true);
  const other = new AbortController();
  const own = linkedAbort(other.signal);
  own.abort();
  assert.deepEqual([own.signal.aborted, other.signal.aborted], [true, false]);
});

test("a parent that lives on keeps nothing of what has ended", () => {
  const parent = new AbortController();
  for (let term = 0; term < 3; term += 1) {
    using linked = linkedAbort(parent.signal);
    assert.equal(linked.signal.aborted, false);
    assert.equal(getEventListeners(parent.signal, "abort").length, 1);
  }
  assert.equal(getEventListeners(parent.signal, "abort").length, 0);
});
