import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { at } from "../../../support/moment.ts";
import { lease, LeaseLists, timeOf } from "./lease-lists.ts";

describe("a cell that beats", () => {
  test("a cell is silent once no beat was seen for the time, and beating again with the next beat", () => {
    const lists = new LeaseLists();
    lists.list(0, [lease("a", "1")]);
    lists.list(15, [lease("a", "2")]);
    lists.listUntil(180, [lease("a", "2")]);
    assert.equal(lists.state(), "beating");
    lists.list(195, [lease("a", "2")]);
    assert.equal(lists.state(), "silent since 15");
    lists.list(210, [lease("a", "3")]);
    assert.equal(lists.state(), "beating");
  });

  test("silence lasts until the sending of a LIST, and begins with the answer to the one that showed the beat", () => {
    const lists = new LeaseLists();
    lists.list(0, [lease("a", "1")]);
    lists.list(15, [lease("a", "2")], { answeredAfter: 5 });
    lists.listUntil(185, [lease("a", "2")]);
    lists.list(199.9, [lease("a", "2")], { answeredAfter: 10 });
    assert.equal(lists.state(), "beating", "179.9 s from the answer of the first to the sending of the last");
    lists.list(210, [lease("a", "2")]);
    assert.equal(lists.state(), "silent since 20");
  });

  test("another version of the Lease with the same beat is no beat", () => {
    const lists = new LeaseLists();
    lists.list(0, [lease("a", "1")]);
    lists.list(15, [lease("a", "2")]);
    lists.listUntil(105, [lease("a", "2")]);
    lists.listUntil(195, [lease("a", "2", { resourceVersion: "7", productVersion: "other", uid: "new" })]);
    assert.equal(lists.state(), "silent since 15");
  });

  test("the states of two cells do not depend on each other", () => {
    const lists = new LeaseLists();
    lists.list(0, [lease("a", "1"), lease("b", "1")]);
    for (let seconds = 15; seconds <= 300; seconds += 15) {
      lists.list(seconds, [lease("a", seconds <= 30 ? `${seconds}` : "30"), lease("b", `${seconds}`)]);
    }
    assert.equal(lists.state("a"), "silent since 30");
    assert.equal(lists.state("b"), "beating");
  });

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
});

describe("holes between LISTs", () => {
  test("silence across a hole between two LISTs starts at zero, so that an absent observer silences nobody", () => {
    const lists = new LeaseLists();
    lists.list(0, [lease("a", "1")]);
    lists.list(15, [lease("a", "2")]);
    lists.listUntil(150, [lease("a", "2")]);
    lists.list(196, [lease("a", "2")]);
    assert.equal(lists.state(), "beating");
    lists.listUntil(375, [lease("a", "2")]);
    assert.equal(lists.state(), "beating");
    lists.list(376, [lease("a", "2")]);
    assert.equal(lists.state(), "silent since 15");
  });

  test("LISTs that are at most 45 s apart leave no hole, from the sending of one to the answer of the next", () => {
    const lists = new LeaseLists();
    lists.list(0, [lease("a", "1")]);
    lists.list(15, [lease("a", "2")]);
    for (const seconds of [50, 90, 130, 170, 210]) lists.list(seconds, [lease("a", "2")], { answeredAfter: 5 });
    assert.equal(lists.state(), "silent since 15");

    const slower = new LeaseLists();
    slower.list(0, [lease("a", "1")]);
    slower.list(15, [lease("a", "2")]);
    for (const seconds of [50, 90, 130, 170, 210]) slower.list(seconds, [lease("a", "2")], { answeredAfter: 6 });
    assert.equal(slower.state(), "beating");
  });

  test("a cell that was silent before a hole is silent after it, until it beats", () => {
    const lists = new LeaseLists();
    lists.list(0, [lease("a", "1")]);
    lists.list(15, [lease("a", "2")]);
    lists.listUntil(195, [lease("a", "2")]);
    lists.list(600, [lease("a", "2")]);
    assert.equal(lists.state(), "silent since 15");
    lists.list(1200, [lease("a", "3")]);
    assert.equal(lists.state(), "beating");
  });

  test("after a hole a mark of the generator is believed, because a beat would have cleared it", () => {
    const lists = new LeaseLists();
    lists.list(0, [lease("a", "1"), lease("b", "1")]);
    lists.list(15, [lease("a", "2"), lease("b", "2")]);
    lists.list(600, [lease("a", "2", { silentSince: timeOf(100) }), lease("b", "3", { silentSince: timeOf(300) })]);
    assert.equal(lists.state("a"), "silent since 15");
    assert.equal(lists.state("b"), "silent since 300");
  });
});

describe("the start of an observer", () => {
  test("a marked Lease is silent with the first LIST, for as long as the mark says", () => {
    const lists = new LeaseLists();
    lists.list(1, [lease("a", "1", { silentSince: timeOf(-600) }), lease("b", "1", { silentSince: timeOf(600) })]);
    assert.equal(lists.state("a"), "silent since -600");
    assert.equal(lists.state("b"), "silent since 1", "the clock of the generator is fast");
    assert.equal(lists.isDecided(), true);
    lists.list(16, [lease("a", "2")]);
    assert.equal(lists.state("a"), "beating");
  });

  test("a mark beside a beat that was seen just now is not believed", () => {
    const lists = new LeaseLists();
    lists.list(0, [lease("a", "1")]);
    lists.list(15, [lease("a", "2", { silentSince: timeOf(0) })]);
    lists.listUntil(180, [lease("a", "2", { silentSince: timeOf(0) })]);
    assert.equal(lists.state(), "beating");
  });

  test("an unmarked Lease counts as before until 30 s, and is silent then if the generator's has not changed", () => {
    const lists = new LeaseLists();
    const leases = [lease("a", "1"), lease(undefined, "old")];
    lists.list(0, leases);
    lists.listUntil(15, leases);
    assert.equal(lists.state(), "beating");
    assert.equal(lists.isDecided(), false);
    lists.listUntil(30, leases);
    assert.equal(lists.state(), "silent since 0");
    assert.equal(lists.isDecided(), true);
  });

  test("an unmarked Lease is not silent while the generator's beats, until the observer has waited itself", () => {
    const lists = new LeaseLists();
    lists.list(0, [lease("a", "1"), lease(undefined, "old")]);
    lists.list(5, [lease("a", "1"), lease(undefined, "new")]);
    assert.equal(lists.isDecided(), true);
    lists.listUntil(170, [lease("a", "1"), lease(undefined, "new")]);
    assert.equal(lists.state(), "beating");
    lists.listUntil(200, [lease("a", "1"), lease(undefined, "new")]);
    assert.equal(lists.state(), "silent since 0");
  });

  test("a generator's Lease that appears after the start has not beaten yet", () => {
    const lists = new LeaseLists();
    lists.list(0, [lease("a", "1")]);
    lists.list(15, [lease("a", "1"), lease(undefined, "first")]);
    assert.equal(lists.isDecided(), false);
    lists.list(30, [lease("a", "1"), lease(undefined, "second")]);
    assert.equal(lists.isDecided(), true);
    assert.equal(lists.state(), "beating");
  });

  test("without a generator's Lease the wait is 90 s", () => {
    const lists = new LeaseLists();
    lists.list(0, [lease("a", "1"), lease("b", "1")]);
    lists.list(15, [lease("a", "1"), lease("b", "2")]);
    lists.listUntil(75, [lease("a", "1"), lease("b", "2")]);
    assert.equal(lists.state("a"), "beating");
    assert.equal(lists.isDecided(), false);
    lists.listUntil(90, [lease("a", "1"), lease("b", "2")]);
    assert.equal(lists.state("a"), "silent since 0");
    assert.equal(lists.state("b"), "beating");
    assert.equal(lists.isDecided(), true);
  });

  test("a hole starts the waits of the start again", () => {
    const lists = new LeaseLists();
    const leases = [lease("a", "1"), lease(undefined, "old")];
    lists.list(0, leases);
    lists.list(100, leases);
    lists.listUntil(115, leases);
    assert.equal(lists.state(), "beating");
    lists.listUntil(130, leases);
    assert.equal(lists.state(), "silent since 0");
  });

  test("the waits of the start are not for a cell that was decided, nor for one that appears later", () => {
    const lists = new LeaseLists();
    lists.list(0, [lease("a", "1")]);
    lists.list(15, [lease("a", "2"), lease("b", "1")]);
    lists.listUntil(180, [lease("a", "2"), lease("b", "1")]);
    assert.equal(lists.state("a"), "beating");
    assert.equal(lists.state("b"), "beating");
    lists.listUntil(195, [lease("a", "2"), lease("b", "1")]);
    assert.equal(lists.state("a"), "silent since 15");
    assert.equal(lists.state("b"), "silent since 15");
  });
});

describe("decided", () => {
  test("where every cell is kept, nothing has to be decided", () => {
    assert.equal(new LeaseLists({ policy: "keep" }).isDecided(), true);
  });

  test("nothing is decided before the first LIST, and an empty one decides", () => {
    const lists = new LeaseLists();
    assert.equal(lists.isDecided(), false);
    lists.list(1, []);
    assert.equal(lists.isDecided(), true);
    lists.list(16, [lease("a", "1")]);
    assert.equal(lists.isDecided(), true, "a cell that appears later is new");
  });

  test("without any LIST a replica waits for 3 minutes, and after the first one again", () => {
    const lists = new LeaseLists();
    assert.equal(lists.silence.isDecided(at(179_999)), false);
    assert.equal(lists.silence.isDecided(at(180_000)), true);
    lists.list(200, [lease("a", "1")]);
    assert.equal(lists.isDecided(), false);
    for (const seconds of [260, 320, 379]) lists.list(seconds, [lease("a", "1")]);
    assert.equal(lists.isDecided(), false, "holes start the waits again and again");
    lists.list(380, [lease("a", "1")]);
    assert.equal(lists.isDecided(), true);
  });
});

describe("the right to list", () => {
  test("without the right to list everything is kept, and decided at once", () => {
    const lists = new LeaseLists();
    lists.silence.denied(at(1_000));
    assert.equal(lists.state(), "keep forbidden");
    assert.equal(lists.isDecided(), true);
    lists.list(15, [lease("a", "1", { silentSince: timeOf(-600) })]);
    assert.equal(lists.state(), "silent since -600");
  });

  test("a silent cell comes back only after 3 minutes of nothing but 403", () => {
    const lists = new LeaseLists();
    lists.list(0, [lease("a", "1", { silentSince: timeOf(-600) })]);
    lists.silence.denied(at(15_000));
    lists.silence.denied(at(194_999));
    assert.equal(lists.state(), "silent since -600");
    lists.silence.denied(at(195_000));
    assert.equal(lists.state(), "keep forbidden");

    const restarted = new LeaseLists();
    restarted.list(0, [lease("a", "1", { silentSince: timeOf(-600) })]);
    restarted.silence.denied(at(15_000));
    restarted.list(30, [lease("a", "1", { silentSince: timeOf(-600) })]);
    restarted.silence.denied(at(200_000));
    assert.equal(restarted.state(), "silent since -600", "the first 403 was long ago, but not the only answer since");
  });
});

describe("what keeps the counts of a silent cell", () => {
  const silent = (lists: LeaseLists, changes: Parameters<typeof lease>[2] = {}): void => {
    lists.list(0, [lease("a", "1", { silentSince: timeOf(-600), ...changes })]);
  };

  test("a cell without a Lease is kept", () => {
    const lists = new LeaseLists();
    assert.equal(lists.state(), "keep no-lease");
    lists.list(0, [lease("b", "1")]);
    assert.equal(lists.state("a"), "keep no-lease");
  });

  test("a Lease that vanishes leaves everything as it was for 3 minutes, and is kept then", () => {
    const lists = new LeaseLists();
    lists.list(0, [lease("a", "1"), lease("b", "1", { silentSince: timeOf(-600) })]);
    lists.list(15, [lease("a", "2"), lease("b", "1", { silentSince: timeOf(-600) })]);
    lists.listUntil(195, []);
    assert.equal(lists.state("a"), "beating");
    assert.equal(lists.state("b"), "silent since -600");
    lists.listUntil(210, []);
    assert.equal(lists.state("a"), "keep lease-vanished");
    assert.equal(lists.state("b"), "keep lease-vanished");
    lists.list(225, [lease("a", "3"), lease("b", "2")]);
    assert.equal(lists.state("a"), "beating");
    assert.equal(lists.state("b"), "beating");
  });

  test("a Lease that comes back with its old beat has not beaten", () => {
    const lists = new LeaseLists();
    lists.list(0, [lease("a", "1")]);
    lists.list(15, [lease("a", "2")]);
    lists.listUntil(60, []);
    lists.listUntil(180, [lease("a", "2")]);
    assert.equal(lists.state(), "beating");
    lists.listUntil(195, [lease("a", "2")]);
    assert.equal(lists.state(), "silent since 15");
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

  test("a Lease that vanishes before the start is decided no longer holds the decision up", () => {
    const lists = new LeaseLists();
    lists.list(0, [lease("a", "1")]);
    lists.list(15, []);
    assert.equal(lists.isDecided(), true);
    assert.equal(lists.state(), "beating");
  });

  test("keep-until holds until the wall clock of the observer has passed it", () => {
    const lists = new LeaseLists();
    silent(lists, { keepUntil: timeOf(100) });
    assert.equal(lists.state(), "keep keep-until");
    lists.listUntil(90, [lease("a", "1", { silentSince: timeOf(-600), keepUntil: timeOf(100) })]);
    assert.equal(lists.state(), "keep keep-until");
    lists.listUntil(105, [lease("a", "1", { silentSince: timeOf(-600), keepUntil: timeOf(100) })]);
    assert.equal(lists.state(), "silent since -600");
  });

  test("the policy keep keeps every silent cell", () => {
    const lists = new LeaseLists({ policy: "keep" });
    silent(lists);
    assert.equal(lists.state(), "keep policy");
    assert.equal([...lists.silence.cells()][0]?.silentSince, at(-600_000), "that it is silent is known");
  });

  test("counts of an aggregator without heartbeats keep a silent cell until the next beat that is later", () => {
    const lists = new LeaseLists();
    silent(lists);
    lists.silence.countedByOther("a", at(1_000));
    lists.silence.countedByOther("unknown", at(1_000));
    lists.listUntil(15, [lease("a", "1", { silentSince: timeOf(-600) })]);
    assert.equal(lists.state(), "keep other-counter");
    lists.listUntil(30, [lease("a", "2")]);
    assert.equal(lists.state(), "beating");
    lists.listUntil(300, [lease("a", "2")]);
    assert.equal(lists.state(), "silent since 30");
  });

  test("counts that may be later than the last beat keep the cell", () => {
    const lists = new LeaseLists();
    lists.list(0, [lease("a", "1")]);
    lists.list(15, [lease("a", "2")]);
    // The beat that the next LIST shows may have been before these counts.
    lists.silence.countedByOther("a", at(16_000));
    lists.listUntil(30, [lease("a", "3")]);
    lists.listUntil(300, [lease("a", "3")]);
    assert.equal(lists.state(), "keep other-counter");
  });
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
