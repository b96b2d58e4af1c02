import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { hastyRetries, NewestStates } from "../../../../src/webhook/protector/newest-states.ts";
import { type ProtectorView, readView } from "../../../../src/webhook/protector/protector-view.ts";
import { cell, deleteReview, type Json, pod, protector } from "../support/objects.ts";
import { world } from "../support/replica.ts";

const key = "ns/web";

function view(version: number, cells: readonly Json[] = [], uid = "uid-1", name = "web"): ProtectorView {
  const object = protector({ name, uid, cells });
  const read = readView(
    { ...object, metadata: { ...(object["metadata"] as Json), resourceVersion: String(version) } },
    undefined,
  );
  assert.ok(read.ok);
  return read.view;
}

describe("newest states", () => {
  it("take whichever is newer, the watch or the own write", () => {
    const states = new NewestStates();
    states.watched(view(10));
    states.wrote(view(12));
    states.watched(view(11));
    assert.equal(states.get(key)?.resourceVersion, "12");
    states.watched(view(13));
    states.wrote(view(12));
    assert.equal(states.get(key)?.resourceVersion, "13");
  });

  it("compare versions as numbers", () => {
    const states = new NewestStates();
    states.watched(view(9));
    states.wrote(view(10));
    assert.equal(states.get(key)?.resourceVersion, "10");
  });

  it("take a live GET always, and not doubt it", () => {
    const states = new NewestStates();
    states.watched(view(10));
    states.doubt(key);
    assert.equal(states.isDoubtful(key), true);
    assert.equal(states.readLive(view(15), view(10)), false);
    assert.equal(states.get(key)?.resourceVersion, "15");
    assert.equal(states.isDoubtful(key), false);
  });

  it("keep what the watch delivered while an older live GET was under way", () => {
    const states = new NewestStates();
    const known = view(10);
    states.watched(known);
    states.watched(view(20));
    assert.equal(states.readLive(view(15), known), false);
    assert.equal(states.get(key)?.resourceVersion, "20");
  });

  it("see a restored core by a live GET below what was known, and lose the counts up to the highest worker version", () => {
    const states = new NewestStates();
    const known = view(50, [cell("c1", 100, { resourceVersion: "900" }), cell("c2", 100, { resourceVersion: "70" })]);
    states.watched(known);
    assert.equal(states.readLive(view(40, [cell("c1", 100, { resourceVersion: "800" })]), known), true);
    assert.equal(states.get(key)?.resourceVersion, "40");
    assert.deepEqual(
      [...states.countsLostUpTo(key)],
      [
        ["c1", "900"],
        ["c2", "70"],
      ],
    );
  });

  it("lift the block of a cell when newer counts arrive", () => {
    const states = new NewestStates();
    const known = view(50, [cell("c1", 100, { resourceVersion: "900" }), cell("c2", 100, { resourceVersion: "70" })]);
    states.watched(known);
    states.readLive(view(40), known);
    states.watched(view(41, [cell("c1", 100, { resourceVersion: "900" })]));
    assert.equal(states.countsLostUpTo(key).size, 2);
    states.watched(view(42, [cell("c1", 100, { resourceVersion: "901" })]));
    assert.deepEqual([...states.countsLostUpTo(key)], [["c2", "70"]]);
  });

  it("lift it when the aggregator has recounted, although the versions of a restored worker begin below", () => {
    const states = new NewestStates();
    const known = view(50, [cell("c1", 100, { resourceVersion: "900" })]);
    states.watched(known);
    states.readLive(view(40, [cell("c1", 100, { resourceVersion: "300" })]), known);
    states.watched(view(41, [cell("c1", 99, { resourceVersion: "301" })]));
    assert.equal(states.countsLostUpTo(key).size, 1);
    states.watched(view(42, [cell("c1", 99, { resourceVersion: "302", recountedAt: "2026-01-01T00:00:00.000000Z" })]));
    assert.equal(states.countsLostUpTo(key).size, 0);
  });

  it("see a restored core by counts of a lower worker version, although the object was written since", () => {
    const states = new NewestStates();
    states.watched(view(50, [cell("c1", 2, { resourceVersion: "600" })]));
    states.watched(view(1051, [cell("c1", 3, { resourceVersion: "500" })]));
    assert.deepEqual([...states.countsLostUpTo(key)], [["c1", "600"]]);
    assert.equal(states.get(key)?.resourceVersion, "1051");
  });

  it("take lower counts that the aggregator marked as a recount", () => {
    const states = new NewestStates();
    const mark = (second: number): Json => ({ recountedAt: `2026-01-01T00:00:0${second}.000000Z` });
    states.watched(view(50, [cell("c1", 2, { resourceVersion: "600", ...mark(1) })]));
    states.watched(view(51, [cell("c1", 3, { resourceVersion: "500", ...mark(2) })]));
    assert.equal(states.countsLostUpTo(key).size, 0);
    // A backup from before the second recount.
    states.watched(view(52, [cell("c1", 4, { resourceVersion: "490", ...mark(1) })]));
    assert.deepEqual([...states.countsLostUpTo(key)], [["c1", "500"]]);
  });

  it("only doubt when the watch goes backwards, because a relist may come from a lagging server", () => {
    const states = new NewestStates();
    states.watched(view(50, [cell("c1", 100)]));
    states.watched(view(40));
    assert.equal(states.isDoubtful(key), true);
    assert.equal(states.countsLostUpTo(key).size, 0);
    assert.equal(states.get(key)?.resourceVersion, "50");
  });

  it("forget everything about an object that was deleted or replaced under its name", () => {
    const states = new NewestStates();
    const known = view(50, [cell("c1", 100)]);
    states.watched(known);
    states.readLive(view(40), known);
    states.watched(view(60, [], "uid-2"));
    assert.equal(states.countsLostUpTo(key).size, 0);
    states.wrote(view(70, [], "uid-1"));
    assert.equal(states.get(key)?.uid, "uid-2");
    states.removed(key);
    states.wrote(view(80, [], "uid-2"));
    assert.equal(states.get(key), undefined);
  });
});

describe("point 8: a restored core", () => {
  const before = (workerVersion: string, buckets: readonly Json[] = []) =>
    protector({ cells: [cell("c1", 100, { resourceVersion: workerVersion }, buckets)] });

  it("admits nothing that needs quota until counts above the highest known worker version arrive", async () => {
    const { core, replica } = world([before("900")]);
    core.watches = false;
    for (let index = 0; index < 3; index++) await replica.review(deleteReview(pod(`p${index}`)));
    core.restore(before("890"), 2);

    const refused = await replica.review(deleteReview(pod("q")));
    assert.equal(refused.code, 429);
    assert.match(refused.message, /has no counts of this cell/);
    assert.ok(replica.log.lines.some(({ message }) => message.includes("was the core restored?")));
    const forced = pod("f", { annotations: { "podseidon.kubewharf.io/force-delete": "" } });
    assert.equal((await replica.review(deleteReview(forced))).allowed, true);

    core.restore(before("900"), 30);
    core.deliver();
    assert.equal((await replica.review(deleteReview(pod("q")))).allowed, false);
    core.restore(before("901"), 31);
    core.deliver();
    assert.equal((await replica.review(deleteReview(pod("q")))).allowed, true);
  });

  it("reads live when the watch went backwards, even if the remembered state would refuse", async () => {
    const full = before("900", [
      { startTime: "2026-01-01T00:00:00Z", podUID: "u", podResourceVersion: "1", counter: 20 },
    ]);
    const { core, replica } = world([full]);
    core.watches = false;
    for (let index = 0; index < 5; index++) core.update("ns/web", () => {});
    core.deliver();
    assert.equal((await replica.review(deleteReview(pod("p")))).allowed, false);
    assert.equal(core.requests.length, 0);
    core.restore(before("901"), 3);
    core.deliver();
    assert.equal((await replica.review(deleteReview(pod("p")))).allowed, true);
    assert.equal(core.requests[0]?.method, "GET");
  });
});

describe("a state that may be old", () => {
  it("is read live at most once a second, and in between counts as current", () => {
    const states = new NewestStates();
    states.watched(view(10));
    assert.equal(states.suspect(key, 1_000), true);
    assert.equal(states.isDoubtful(key), true);
    assert.equal(states.suspect(key, 1_001), true, "until it is read everybody waits for it");
    states.readLive(view(10), view(10));
    assert.equal(states.isDoubtful(key), false);
    assert.equal(states.suspect(key, 1_999), false);
    assert.equal(states.isDoubtful(key), false);
    assert.equal(states.suspect(key, 2_000), true);
  });

  it("shares 50 reads a second with the others", () => {
    const states = new NewestStates();
    const others = Array.from({ length: 100 }, (_, index) => view(10, [], undefined, `web-${index}`));
    for (const other of others) states.watched(other);
    const due = (nowMs: number): number => others.filter((other) => states.suspect(other.key, nowMs)).length;
    let read = 0;
    for (let nowMs = 1_000; nowMs < 2_000; nowMs++) read = Math.max(read, due(nowMs));
    assert.equal(read, 50);
  });

  it("may be judged by when it cannot be read, unless something says that it is wrong", () => {
    const states = new NewestStates();
    states.watched(view(10));
    states.suspect(key, 1_000);
    assert.equal(states.isSuspected(key), true);
    assert.equal(states.clearSuspicion(key), true);
    assert.equal(states.isDoubtful(key), false);
    states.suspect(key, 3_000);
    states.doubt(key);
    assert.equal(states.isSuspected(key), false);
    assert.equal(states.clearSuspicion(key), false);
    assert.equal(states.isDoubtful(key), true);
  });

  it("is certainly old after a conflict, until the watch delivers a newer one", () => {
    const states = new NewestStates();
    states.watched(view(10));
    assert.equal(states.overtaken(states.get(key)!), 1);
    assert.equal(states.isOvertaken(key), true);
    states.watched(view(9));
    assert.equal(states.isDoubtful(key), true);
    states.readLive(view(10), states.get(key)!);
    states.overtaken(states.get(key)!);
    states.wrote(view(10));
    states.overtaken(states.get(key)!);
    states.watched(view(11));
    assert.equal(states.isOvertaken(key), false);
    assert.equal(states.isDoubtful(key), false);
  });

  it("is not old when the watch was faster than the conflict", () => {
    const states = new NewestStates();
    const base = view(10);
    states.watched(base);
    states.watched(view(11));
    states.overtaken(base);
    assert.equal(states.isOvertaken(key), false);
    assert.equal(states.isDoubtful(key), false);
  });

  it("is old after four conflicts in a row, whatever the watch delivers, until it is read live", () => {
    const states = new NewestStates();
    states.watched(view(10));
    for (let number = 1; number <= hastyRetries; number += 1) {
      assert.equal(states.overtaken(states.get(key)!), number);
      states.watched(view(10 + number));
      assert.equal(states.isOvertaken(key), false);
    }
    states.overtaken(states.get(key)!);
    states.watched(view(20));
    assert.equal(states.isOvertaken(key), true);
    states.readLive(view(21), view(20));
    assert.equal(states.isOvertaken(key), false);
    assert.equal(states.isDoubtful(key), false);
    states.wrote(view(22));
    assert.equal(states.overtaken(states.get(key)!), 1);
  });

  it("is nothing that a missing object can have", () => {
    assert.equal(new NewestStates().suspect(key, 1_000), false);
    assert.equal(new NewestStates().clearSuspicion(key), false);
  });
});

describe("an object that cannot be understood", () => {
  it("is remembered with its reason until the watch delivers a good state or its end", () => {
    const states = new NewestStates();
    states.rejected(key, { uid: "u", reason: "why" });
    assert.deepEqual(states.unusable(key), { uid: "u", reason: "why" });
    states.watched(view(10));
    assert.equal(states.unusable(key), undefined);
    states.rejected(key, { uid: "u", reason: "why" });
    assert.equal(states.get(key)?.resourceVersion, "10");
    states.removed(key);
    assert.equal(states.unusable(key), undefined);
  });
});
