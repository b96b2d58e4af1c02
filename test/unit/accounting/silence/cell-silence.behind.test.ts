import assert from "node:assert/strict";
import { test } from "node:test";
import { digestOfUID, packDigests } from "../../../../src/accounting/history/uid-digest.ts";
import { at } from "../../../support/moment.ts";
import { lease, LeaseLists, timeOf } from "./lease-lists.ts";

const behind = packDigests(["first", "second"].map(digestOfUID));

test("a cell that beats is silent for the objects that are behind, and only for them", () => {
  const lists = new LeaseLists();
  lists.list(0, [lease("a", "1")]);
  lists.list(15, [lease("a", "2", { behind })]);
  lists.list(30, [lease("a", "3", { behind })]);
  assert.equal(lists.state("a", "first"), "silent since 15");
  assert.equal(lists.state("a", "third"), "beating");
  lists.list(45, [lease("a", "4", { behind: packDigests(["second", "third"].map(digestOfUID)) })]);
  assert.equal(lists.state("a", "first"), "beating");
  assert.equal(lists.state("a", "second"), "silent since 15");
  assert.equal(lists.state("a", "third"), "silent since 45");
  lists.list(60, [lease("a", "5")]);
  assert.equal(lists.state("a", "second"), "beating");
});

test("a Lease that was deleted and made again names anew who is behind", () => {
  const lists = new LeaseLists();
  lists.list(0, [lease("a", "1")]);
  lists.list(15, [lease("a", "2", { behind })]);
  lists.list(30, []);
  assert.equal(lists.state("a", "first"), "silent since 15");
  lists.list(45, [lease("a", "3")]);
  assert.equal(lists.state("a", "first"), "beating");
});

test("what cannot be read names no object", () => {
  const lists = new LeaseLists();
  lists.list(0, [lease("a", "1", { behind: "no base64" })]);
  assert.equal(lists.state("a", "first"), "beating");
});

test("keep-until, the policy and another counter keep objects that are behind as well", () => {
  const kept = new LeaseLists();
  kept.list(0, [lease("a", "1", { behind, keepUntil: timeOf(20) })]);
  assert.equal(kept.state("a", "first"), "beating");
  kept.list(15, [lease("a", "2", { behind, keepUntil: timeOf(20) })]);
  kept.list(30, [lease("a", "3", { behind, keepUntil: timeOf(20) })]);
  assert.equal(kept.state("a", "first"), "silent since 0");

  const policy = new LeaseLists({ policy: "keep" });
  policy.list(0, [lease("a", "1", { behind })]);
  assert.equal(policy.state("a", "first"), "beating");

  const counted = new LeaseLists();
  counted.list(0, [lease("a", "1", { behind })]);
  counted.silence.countedByOther("a", at(1_000));
  counted.list(15, [lease("a", "1", { behind })]);
  assert.equal(counted.state("a", "first"), "beating");
});

test("a Lease that has vanished for long names no object", () => {
  const lists = new LeaseLists();
  lists.list(0, [lease("a", "1", { behind })]);
  lists.listUntil(15, []);
  assert.equal(lists.state("a", "first"), "silent since 0");
  lists.listUntil(210, []);
  assert.equal(lists.state("a", "first"), "keep lease-vanished");
});

test("300 objects of one namespace that cannot be written silence nobody else", () => {
  const uids = Array.from({ length: 300 }, (_, index) => `unwritable-${index}`);
  const lists = new LeaseLists();
  for (let seconds = 0; seconds <= 600; seconds += 15) {
    lists.list(seconds, [lease("a", `${seconds}`, { behind: packDigests(uids.map(digestOfUID)) })]);
  }
  assert.deepEqual(new Set(uids.map((uid) => lists.state("a", uid))), new Set(["silent since 0"]));
  assert.equal(lists.state("a", "web"), "beating");
  assert.deepEqual(
    lists.changes.map(({ after }) => after.kind),
    ["beating"],
  );
});
