import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { countedSpec } from "../../../../../src/accounting/count/counted-spec.ts";
import { objectKey } from "../../../../../src/api/object-key.ts";
import { aggregatorFlags } from "../../../../../src/config/flags/aggregator.ts";
import { compileSelector, formatSelector } from "../../../../../src/label-index/index.ts";
import { undatedSettleMs } from "../../../../../src/webhook/protector/doubts/doubts.ts";
import { Protector } from "../../../../../src/webhook/protector/protector.ts";
import { createTestCore } from "../../support/core.ts";
import { cell, type Json } from "../../support/objects.ts";
import { deletionOf, protectorView } from "../../support/views.ts";

const web = { matchLabels: { app: "web" } };
const all = { matchExpressions: [{ key: "app", operator: "Exists" }] };

/** Counts of an earlier release; those of this one carry a generation. */
function countedAs(selector: Json, countedGeneration?: number, minReadySeconds = 0, uid = "uid-of-web") {
  const compiled = compileSelector(selector);
  assert.ok(compiled.ok);
  return {
    countedSpec: countedSpec(uid, formatSelector(compiled.selector), minReadySeconds),
    countedMinReadySeconds: minReadySeconds,
    ...(countedGeneration !== undefined && { countedGeneration }),
  };
}

let version = 0;
/** A newer state of the object, with 100 pods in the cell c1. */
function state(generation: number, selector: Json, counts: Json, minReadySeconds = 0, uid = "uid-of-web") {
  version += 1;
  return protectorView({ uid, generation, selector, minReadySeconds, cells: [cell("c1", 100, counts)] }, version);
}

function protectorIn(...states: readonly ReturnType<typeof state>[]) {
  const { clock, core } = createTestCore();
  const protector = new Protector(core, objectKey("ns", "web"), () => {});
  for (const view of states) protector.watched(view);
  const verdict = () => protector.judge([deletionOf("p")]).verdicts[0]?.kind;
  const sees = (...more: readonly ReturnType<typeof state>[]) => {
    for (const view of more) protector.watched(view);
    return verdict();
  };
  return { clock, protector, verdict, sees };
}

describe("counts with a generation", () => {
  const by = (generation: number, selector = web) => countedAs(selector, generation);

  test("from before an edit that was undone, they are not in force until the cell has counted again", async () => {
    const { clock, sees, verdict } = protectorIn(state(5, web, by(5)), state(6, all, by(5)), state(7, web, by(5)));
    assert.equal(verdict(), "counts-pending");
    await clock.advance(10 * undatedSettleMs);
    assert.equal(verdict(), "counts-pending", "no time ends it");
    assert.equal(sees(state(7, web, by(7))), "admitted");
  });

  test("where this replica saw only the ends of an edit, counts of any generation between are in force", () => {
    const { sees, verdict } = protectorIn(state(5, web, by(5)), state(6, all, by(5)), state(9, web, by(5)));
    assert.equal(verdict(), "counts-pending");
    assert.equal(sees(state(9, web, by(7))), "admitted", "the cell saw the selector come back at 7");
  });

  test("other edits do not count, or each step of an autoscaler would cost a write in each cell", () => {
    const longer = countedAs(web, 5, 30);
    const { verdict } = protectorIn(
      state(5, web, longer, 30),
      state(6, web, longer, 10),
      state(7, web, longer, 30),
      state(12, web, longer, 30),
    );
    assert.equal(verdict(), "admitted");
  });

  test("an undone edit that only a live read has shown counts as well", () => {
    const { protector, verdict } = protectorIn(state(5, web, by(5)), state(6, all, by(5)));
    const known = protector.view;
    assert.ok(known !== undefined);
    protector.readLive(state(7, web, by(5)), known);
    assert.equal(verdict(), "counts-pending");
  });

  test("generations of a restored core begin anew, so that none is waited for that never comes", () => {
    const { protector, sees } = protectorIn(state(5, web, by(5)), state(6, all, by(5)), state(7, web, by(5)));
    const known = protector.view;
    assert.ok(known !== undefined);
    const restored = protectorView({ generation: 5, selector: web, cells: [cell("c1", 100, by(5))] }, version - 2);
    assert.equal(protector.readLive(restored, known), true);
    assert.equal(sees(state(5, web, { ...by(5), resourceVersion: "1001" })), "admitted");
    // One that was written since, above all known versions.
    assert.equal(sees(state(6, all, by(5)), state(3, web, { ...by(3), resourceVersion: "1002" })), "admitted");
  });

  test("another object of the name starts without a history of edits, and its counts are in force", () => {
    const { sees } = protectorIn(state(5, web, by(5)), state(6, all, by(5)), state(7, web, by(5)));
    assert.equal(sees(state(1, web, countedAs(web, 1, 0, "uid-2"), 0, "uid-2")), "admitted");
  });
});

describe("counts without a generation", () => {
  const byWeb = countedAs(web);

  test("from before an edit that was undone, they are not in force for a settle window", async () => {
    const { clock, verdict } = protectorIn(state(5, web, byWeb), state(6, all, byWeb), state(7, web, byWeb));
    assert.equal(verdict(), "counts-pending");
    await clock.advance(undatedSettleMs - 1);
    assert.equal(verdict(), "counts-pending");
    await clock.advance(1);
    assert.equal(verdict(), "admitted");
  });

  test("of a Go aggregator, they do not say what they are for, and stay in force", () => {
    const { verdict } = protectorIn(state(5, web, {}), state(6, all, {}), state(7, web, {}));
    assert.equal(verdict(), "admitted");
  });

  test("of an object that was made again, they are not in force for a settle window", async () => {
    const again = () => state(1, web, {}, 0, "uid-2");
    const { clock, verdict, sees } = protectorIn(state(5, web, {}));
    assert.equal(sees(again()), "counts-pending");
    await clock.advance(undatedSettleMs - 1);
    assert.equal(sees(state(2, all, {}, 0, "uid-2"), again()), "counts-pending", "an edit ends it no sooner");
    await clock.advance(1);
    assert.equal(verdict(), "admitted");
  });

  test("of an object that was let go before another took its name, they are in force", () => {
    const { protector, sees } = protectorIn(state(5, web, {}));
    protector.removed();
    assert.equal(sees(state(1, web, {}, 0, "uid-2")), "admitted");
  });
});

describe("an object that takes the name of a younger one", () => {
  const born = (uid: string, time: string, workerVersion: string) =>
    protectorView(
      {
        uid,
        creationTimestamp: time,
        cells: [cell("c1", 100, { countedGeneration: 1, resourceVersion: workerVersion })],
      },
      (version += 1),
    );

  test("comes from a backup: its counts are not in force until newer ones than any that were known", () => {
    const { sees } = protectorIn(born("uid-2", "2026-01-01T01:00:00Z", "500"));
    assert.equal(sees(born("uid-1", "2026-01-01T00:00:00Z", "400")), "counts-pending");
    assert.equal(sees(born("uid-1", "2026-01-01T00:00:00Z", "500")), "counts-pending");
    assert.equal(sees(born("uid-1", "2026-01-01T00:00:00Z", "501")), "admitted");
  });

  test("is not one that was made later", () => {
    const { sees } = protectorIn(born("uid-2", "2026-01-01T01:00:00Z", "500"));
    assert.equal(sees(born("uid-3", "2026-01-01T01:00:01Z", "400")), "admitted");
  });
});

test("the webhook waits as long as an aggregator does by default", () => {
  assert.equal(undatedSettleMs, aggregatorFlags["aggregator-settle-window"].default);
});

describe("counts that may hold foreign pods", () => {
  const own = { ...countedAs(web, 1), countedOwners: ["Job.batch"] };
  const earlier = countedAs(web, 1);
  const states = (...counts: readonly Json[]) =>
    counts.map((one, index) => {
      const stated = state(1, web, { ...one, resourceVersion: String(100 + index) });
      const { protector } = stated;
      const spec = { ...protector.spec, foreignOwners: ["Job.batch"] };
      return { ...stated, protector: { ...protector, spec } };
    });

  test("after ones that left them out, they are not in force for a settle window", async () => {
    for (const after of [earlier, { ...earlier, countedOwners: ["Node"] }]) {
      const { clock, verdict } = protectorIn(...states(own, after));
      assert.equal(verdict(), "counts-pending");
      await clock.advance(undatedSettleMs - 1);
      assert.equal(verdict(), "counts-pending");
      await clock.advance(1);
      assert.equal(verdict(), "admitted");
    }
  });

  test("do not hold them as long as they say so", () => {
    assert.equal(protectorIn(...states(own, { ...own, countedOwners: ["Node", "Job.batch"] })).verdict(), "admitted");
    assert.equal(protectorIn(...states(own, earlier, own)).verdict(), "admitted");
  });

  test("are in force where they are those of before, from which a CRD has dropped the field", () => {
    const [before] = states(own);
    assert.ok(before !== undefined);
    const dropped = states(earlier).map((one) => ({ ...one, resourceVersion: before.resourceVersion }));
    const { protector, verdict } = protectorIn(before);
    protector.readLive(dropped[0]!, before);
    assert.equal(verdict(), "admitted");
  });

  test("are in force where nothing was let go before, and those of a Go component as ever", () => {
    assert.equal(protectorIn(...states(earlier, earlier)).verdict(), "admitted");
    assert.equal(protectorIn(...states(own), ...states({ resourceVersion: undefined })).verdict(), "admitted");
  });
});
