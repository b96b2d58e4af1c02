import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { digestOfUID, packDigests } from "../../../../src/accounting/history/uid-digest.ts";
import { at } from "../../../support/moment.ts";
import { lease, LeaseLists, timeOf } from "./lease-lists.ts";
import { play, playsOf } from "./lease-plays.ts";

for (const one of playsOf(readFileSync(new URL("cell-silence.txt", import.meta.url), "utf8")))
  test(one.name, () => play(one));

test("each change of a state is reported once", () => {
  const lists = new LeaseLists();
  lists.list(0, [lease("a", "1")]);
  lists.list(15, [lease("a", "2")]);
  lists.listUntil(300, [lease("a", "2")]);
  lists.list(315, [lease("a", "3")]);
  assert.deepEqual(
    lists.changes.map(({ before, after }) => [before?.kind, after.kind]),
    [
      [undefined, "beating"],
      ["beating", "silent"],
      ["silent", "beating"],
    ],
  );
});

test("where every cell is kept, nothing has to be decided", () => {
  assert.equal(new LeaseLists({ policy: "keep" }).isDecided(), true);
});

test("a cell whose Lease goes after a request to retire it stays as it was for 3 minutes, and is forgotten", () => {
  const lists = new LeaseLists();
  lists.list(0, [lease("a", "1", { silentSince: timeOf(-600) })]);
  lists.list(15, [lease("a", "1", { silentSince: timeOf(-600), isForgotten: true })]);
  lists.listUntil(195, []);
  assert.equal(lists.state("a"), "silent since -600");
  lists.changes.length = 0;
  lists.listUntil(600, []);
  assert.deepEqual([...lists.silence.cells()], []);
  assert.deepEqual(lists.changes, []);
  assert.equal(lists.state("a"), "keep no-lease");
});

test("the policy keep keeps every silent cell", () => {
  const lists = new LeaseLists({ policy: "keep" });
  lists.list(0, [lease("a", "1", { silentSince: timeOf(-600) })]);
  assert.equal(lists.state(), "keep policy");
  assert.equal([...lists.silence.cells()][0]?.silentSince, at(-600_000), "that it is silent is known");
});

test("the policy keep keeps objects that are behind as well", () => {
  const lists = new LeaseLists({ policy: "keep" });
  lists.list(0, [lease("a", "1", { behind: packDigests(["first", "second"].map(digestOfUID)) })]);
  assert.equal(lists.state("a", "first"), "beating");
});

test("of more than 1,000 cells the later ones are kept, and those that have vanished make room", () => {
  const lists = new LeaseLists();
  const many = Array.from({ length: 1_000 }, (_, index) => lease(`c${index}`, "1"));
  lists.list(0, [...many, lease("a", "1")]);
  assert.equal(lists.state("a"), "keep no-lease");
  assert.equal(lists.state("c999"), "beating");
  lists.listUntil(210, [lease("a", "1")]);
  assert.equal(lists.state("a"), "beating");
  assert.equal(lists.state("c0"), "keep no-lease", "forgotten, because somebody needed the room");
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
