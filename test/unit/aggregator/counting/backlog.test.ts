import assert from "node:assert/strict";
import { test } from "node:test";
import { Backlog } from "../../../../src/aggregator/counting/backlog.ts";
import { type ObjectKey, objectKey } from "../../../../src/api/object-key.ts";
import { at } from "../../../support/moment.ts";

const web = objectKey("default", "web");
const api = objectKey("default", "api");

function backlogOf(...keys: ObjectKey[]): { readonly backlog: Backlog; readonly added: ObjectKey[] } {
  const added: ObjectKey[] = [];
  const backlog = new Backlog({
    keys: () => keys,
    uidOf: (key) => (keys.includes(key) ? `uid of ${key}` : undefined),
    add: (key) => void added.push(key),
  });
  return { backlog, added };
}

test("what happened and was counted is not behind", () => {
  const { backlog } = backlogOf(web);
  backlog.due(web, at(1));
  assert.deepEqual(backlog.behind(at(2)), [`uid of ${web}`]);
  assert.deepEqual(backlog.behind(at(1)), [], "not yet overdue");
  backlog.began(web, at(5));
  assert.deepEqual(backlog.behind(at(2)), [`uid of ${web}`], "the write may take long");
  backlog.ended(web, "counted");
  assert.deepEqual(backlog.behind(at(100)), []);
});

test("a failed aggregation stays due since the first event, and events meanwhile do not postpone it", () => {
  const { backlog } = backlogOf(web);
  backlog.due(web, at(1));
  backlog.due(web, at(3));
  backlog.began(web, at(5));
  backlog.due(web, at(6));
  backlog.ended(web, "open");
  assert.deepEqual(backlog.behind(at(2)), [`uid of ${web}`]);
});

test("what happens while it is counted is due since then", () => {
  const { backlog } = backlogOf(web);
  backlog.due(web, at(1));
  backlog.began(web, at(5));
  backlog.due(web, at(6));
  backlog.ended(web, "counted");
  assert.deepEqual(backlog.behind(at(6)), []);
  assert.deepEqual(backlog.behind(at(7)), [`uid of ${web}`]);
});

test("an aggregation that nothing was due for leaves what it could not do", () => {
  const { backlog } = backlogOf(web);
  backlog.began(web, at(5));
  backlog.ended(web, "open");
  assert.deepEqual(backlog.behind(at(6)), [`uid of ${web}`]);
});

test("a round ends when each PodProtector was counted by an aggregation that began after its start", () => {
  const { backlog, added } = backlogOf(web, api);
  backlog.began(web, at(1));
  backlog.startRound();
  assert.deepEqual(added, [web, api]);
  backlog.ended(web, "counted");
  backlog.began(api, at(2));
  backlog.ended(api, "counted");
  assert.equal(backlog.isRoundDone, false);
  assert.deepEqual(backlog.behind(at(0)), [`uid of ${web}`]);
  backlog.began(web, at(3));
  backlog.ended(web, "counted");
  assert.equal(backlog.isRoundDone, true);
  assert.deepEqual(backlog.behind(at(0)), []);
});

test("a round does not wait for a PodProtector that cannot be counted, which stays behind until it can", () => {
  const { backlog } = backlogOf(web);
  backlog.startRound();
  backlog.began(web, at(1));
  backlog.ended(web, "uncountable");
  assert.equal(backlog.isRoundDone, true);
  assert.deepEqual(backlog.behind(at(0)), [`uid of ${web}`]);
  backlog.began(web, at(2));
  backlog.ended(web, "open");
  assert.equal(backlog.isRoundDone, false);
  backlog.began(web, at(3));
  backlog.ended(web, "counted");
  assert.deepEqual(backlog.behind(at(9)), []);
});

test("a PodProtector that is gone is not behind, not even when its write fails afterwards", () => {
  const { backlog } = backlogOf(web);
  backlog.startRound();
  backlog.began(web, at(1));
  backlog.forget(web);
  backlog.ended(web, "open");
  assert.equal(backlog.isRoundDone, true);
  assert.deepEqual(backlog.behind(at(9)), []);
});

test("after the term nothing is left", () => {
  const { backlog } = backlogOf(web, api);
  backlog.startRound();
  backlog.due(web, at(1));
  backlog.began(api, at(1));
  backlog.clear();
  assert.deepEqual(backlog.behind(at(9)), []);
});
