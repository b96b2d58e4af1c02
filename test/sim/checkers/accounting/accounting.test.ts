import assert from "node:assert/strict";
import { test } from "node:test";
import { type MicroTime } from "../../../../src/api/micro-time.ts";
import { type Bucket } from "../../../../src/api/v1alpha1/pod-protector.ts";
import { historyLimits } from "../../../../src/accounting/history/record.ts";
import { at, cell, counts, packed, protector, single, timeText } from "../../../unit/accounting/samples.ts";
import { Kernel } from "../../kernel/kernel.ts";
import { AccountingChecker } from "./accounting.ts";
import { Ledger } from "./ledger.ts";

/** A pod x that becomes available at 29 s by its own times. */
const from = at(29);

class History {
  readonly #kernel = new Kernel(1);
  readonly #checker = new AccountingChecker("web", {
    kernel: this.#kernel,
    ledger: new Ledger(this.#kernel),
    isExact: true,
    lent: undefined,
    settleWindowMs: 75_000,
    criterion: "Available",
    hasUpdateTrigger: true,
    maxConcurrentLag: 0,
    lostCells: new Set(),
    historyLimits,
    hasFewFences: false,
    isByPreviousRelease: () => false,
    isOfOneRelease: true,
    told: { mustKnow: () => true, isToldToAll: () => true },
    lostSpec: () => undefined,
    compactThreshold: 100,
    onBreach: () => {},
    onRestoreBreach: () => {},
  });

  /** The cell was counted by then, and has these buckets. */
  async committed(atSeconds: number, countedAt: MicroTime, buckets: readonly Bucket[]): Promise<this> {
    await this.#kernel.run(atSeconds * 1000);
    this.#checker.committed(protector(2, [cell(counts(0, { countedAt }), buckets)]));
    assert.equal(this.#kernel.failure, undefined);
    return this;
  }

  /** To a review that arrived then, x was old by the data. */
  wasOld(arrivedSeconds: number): boolean {
    return this.#checker.wasOldByData("x", from, arrivedSeconds * 1000);
  }
}

async function youngAndThenOld(): Promise<History> {
  const history = new History();
  await history.committed(0, timeText(25), []);
  await history.committed(20, timeText(25), [single("x", undefined, 20)]);
  await history.committed(21, timeText(30), [single("x", undefined, 20)]);
  return history.committed(22, timeText(30), [single("x", undefined, 22)]);
}

test("a pod was young to a review that recorded it before newer counts and the record of another review", async () => {
  const history = await youngAndThenOld();
  assert.equal(history.wasOld(20), false);
});

test("a pod was old to a review that arrived when the counts were made that include it", async () => {
  const history = await youngAndThenOld();
  assert.equal(history.wasOld(22), true);
});

test("a pod was old to a review since whose arrival every record was judged by counts that include it", async () => {
  const history = await youngAndThenOld();
  await history.committed(23, timeText(30), [single("x", undefined, 23)]);
  assert.equal(history.wasOld(21.5), true);
});

test("a review that recorded nothing is told the pod's age by the last record", async () => {
  const history = await youngAndThenOld();
  assert.equal(history.wasOld(23), true);
});

test("a packed pod is judged by the counts at its own record, not by those when its companions change", async () => {
  const history = new History();
  await history.committed(0, timeText(25), []);
  await history.committed(20, timeText(25), [packed(["x", "y"], 10)]);
  await history.committed(21, timeText(30), [packed(["x", "y"], 10)]);
  await history.committed(22, timeText(30), [packed(["x", "y", "z"], 11)]);
  assert.equal(history.wasOld(21), false);
});
