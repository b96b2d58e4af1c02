import assert from "node:assert/strict";
import { test } from "node:test";
import { ScaleAlarms } from "../../../../src/generator/feeds/scale-alarms.ts";
import { type TroubledSource } from "../../../../src/generator/feeds/resolved-sources.ts";
import { type ScaleTrouble } from "../../../../src/scale/read-scale.ts";
import { ScaleMemory } from "../../../../src/scale/scale-memory.ts";
import { ScaledKind } from "../../../../src/sources/scaled-kind.ts";
import { createVirtualClock } from "../../../support/virtual-clock.ts";
import { createRecordingLogger } from "../../observability/recording-logger.ts";

const minuteMs = 60_000;
const forbidden: ScaleTrouble = { kind: "lasting", problem: "forbidden", text: "403 cannot get" };

function bench() {
  const clock = createVirtualClock();
  const memory = new ScaleMemory(undefined as never);
  const kind = new ScaledKind("databases.example.com", { memory, heldFloorOf: () => undefined });
  let troubled: TroubledSource[] = [];
  const told: string[] = [];
  const logger = createRecordingLogger();
  const record = (_: unknown, type: string, reason: string, message: string): void =>
    void told.push(`${type} ${reason}: ${message}`);
  const feeds = new Map([[kind, { troubled: () => troubled.values() }]]);
  const alarms = new ScaleAlarms({ feeds, events: { record }, clock, logger });
  const life = new AbortController();
  const source = { kind, namespace: "default", name: "orders", uid: "u" } as unknown as TroubledSource["source"];
  return {
    clock,
    alarms,
    told,
    logger,
    lead: () => void alarms.lead(life.signal),
    trouble: (trouble: ScaleTrouble | undefined, isHeld = true): void => {
      troubled = trouble === undefined ? [] : [{ source, trouble, isHeld, sinceMs: clock.monotonicMs() }];
    },
    count: () => [...alarms.unreadable().values()][0],
    stop: async () => {
      life.abort();
      await clock.advance(0);
    },
  };
}

test("a trouble that lasts is told once in a quarter of an hour, with what to do, and logged once", async () => {
  const { clock, told, logger, lead, trouble, stop } = bench();
  lead();
  trouble(forbidden);
  await clock.advance(20_000);
  assert.deepEqual(told, []);
  await clock.advance(10 * minuteMs);
  assert.deepEqual(told, [
    "Warning ScaleUnreadable: The last floor of its PodProtector holds: the generator needs the right to get " +
      "databases/scale of its API group. 403 cannot get",
  ]);
  await clock.advance(10 * minuteMs);
  assert.equal(told.length, 2);
  assert.equal(logger.entries.length, 1);
  await stop();
});

test("each trouble says what is to be done, and whether anything is protected", async () => {
  const cases: readonly (readonly [ScaleTrouble, RegExp])[] = [
    [{ kind: "lasting", problem: "notScalable", text: "x" }, /databases\.example\.com needs a subresource scale/],
    [{ kind: "lasting", problem: "wrong", text: "x" }, /must have spec\.replicas, and status\.selector/],
    [{ kind: "notNow", text: "x" }, /cannot be read at the moment/],
  ];
  for (const [trouble, text] of cases) {
    const { clock, told, lead, trouble: begin, stop } = bench();
    lead();
    begin(trouble, false);
    await clock.advance(minuteMs);
    assert.match(told[0] ?? "", text);
    assert.match(told[0] ?? "", /not protected until that is done/);
    await stop();
  }
});

test("a trouble that is over is news when it comes again, and a standby counts none", async () => {
  const { clock, told, lead, trouble, count, stop } = bench();
  trouble(forbidden);
  assert.equal(count(), 0);
  lead();
  await clock.advance(minuteMs);
  assert.equal(count(), 1);
  trouble(undefined);
  await clock.advance(minuteMs);
  assert.equal(count(), 0);
  trouble(forbidden);
  await clock.advance(minuteMs);
  assert.equal(told.length, 2);
  await stop();
  assert.equal(count(), 0);
});
