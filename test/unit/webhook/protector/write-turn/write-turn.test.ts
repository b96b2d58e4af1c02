import assert from "node:assert/strict";
import { test } from "node:test";
import { type ResourceVersion } from "../../../../../src/api/resource-version.ts";
import { type CellStatus } from "../../../../../src/api/v1alpha1/pod-protector.ts";
import { WriteTurn } from "../../../../../src/webhook/protector/write-turn.ts";
import { createVirtualClock } from "../../../../support/virtual-clock.ts";
import { writeInTurns } from "./replicas-in-turns.ts";

const writeMs = 10;
/** Four times the time of a write. */
const slotMs = 40;
/** Deletions of one write. */
const several = 2;
/** By how much a turn comes later than another try after a conflict. */
const precedenceMs = 0.5;
/** The cells after a write of a webhook: the counts are as before. */
const peerWrite: readonly CellStatus[] = countedAt("1000");

function countedAt(version: string): readonly CellStatus[] {
  const resourceVersion = version as ResourceVersion;
  return [{ cellID: "c1", aggregation: { totalReplicas: 9, availableReplicas: 9, resourceVersion } }];
}

function version(number: number): ResourceVersion {
  return String(number) as ResourceVersion;
}

/**
 * A replica that has written `rounds` times, each time after `peers` writes of others, the last time just now as the
 * version `last`.
 */
function replica({ peers, rounds = 20 }: { readonly peers: number; readonly rounds?: number }) {
  const clock = createVirtualClock();
  const turn = new WriteTurn(clock, version(1000), peerWrite);
  let last = 1000;
  for (let round = 0; round < rounds; round += 1) {
    for (let peer = 0; peer < peers; peer += 1) turn.watched(version(++last), peerWrite);
    turn.wrote(version(++last), writeMs, several);
  }
  return { clock, turn, last, delayMs: () => turn.delayMs() };
}

test("it is always the turn of a replica that is alone", () => {
  assert.equal(replica({ peers: 0 }).delayMs(), 0);
  assert.equal(new WriteTurn(createVirtualClock(), version(1), peerWrite).delayMs(), 0);
});

test("a turn comes when as many others have written as there are peers", () => {
  const { turn, last, delayMs } = replica({ peers: 2 });
  assert.equal(delayMs(), 2 * slotMs);
  assert.equal(turn.watched(version(last + 1), peerWrite), true);
  assert.equal(delayMs(), slotMs);
  turn.watched(version(last + 2), peerWrite);
  assert.equal(delayMs(), precedenceMs);
});

test("a peer that writes nothing is passed over, a slot for each place", async () => {
  const { clock, turn, last, delayMs } = replica({ peers: 2 });
  await clock.advance(15);
  assert.equal(delayMs(), 2 * slotMs - 15);
  turn.watched(version(last + 1), peerWrite);
  await clock.advance(15);
  assert.equal(delayMs(), slotMs - 15);
  await clock.advance(25);
  assert.equal(delayMs(), 0);
});

test("where deletions come one by one, a silent peer is passed over after a write and the watch's lag", async () => {
  const { clock, turn, last, delayMs } = replica({ peers: 1 });
  const lagMs = 20 * 0.2;
  turn.watched(version(last + 1), peerWrite);
  turn.wrote(version(last + 2), writeMs, 1);
  await clock.advance(20);
  turn.watched(version(last + 2), peerWrite);
  turn.watched(version(last + 3), peerWrite);
  turn.wrote(version(last + 4), writeMs, 1);
  assert.equal(Math.round(delayMs()), writeMs + lagMs);
  turn.watched(version(last + 5), peerWrite);
  turn.wrote(version(last + 6), writeMs, several);
  assert.equal(Math.round(delayMs()), slotMs + 2 * lagMs);
});

test("a single write of one deletion shortens no turn: it may be the first of a wave", () => {
  const { turn, last, delayMs } = replica({ peers: 1 });
  turn.watched(version(last + 1), peerWrite);
  turn.wrote(version(last + 2), writeMs, 1);
  assert.equal(delayMs(), slotMs);
});

test("each place gets more time where the watch is late", async () => {
  const { clock, turn, last, delayMs } = replica({ peers: 1 });
  for (let round = 1; round <= 40; round += 1) {
    turn.watched(version(last + 2 * round - 1), peerWrite);
    turn.wrote(version(last + 2 * round), writeMs, several);
    await clock.advance(20);
    turn.watched(version(last + 2 * round), peerWrite);
  }
  assert.equal(Math.round(delayMs()), slotMs + 2 * 20 - 20);
});

test("a peer that is gone is forgotten after three writes", () => {
  const { turn, last, delayMs } = replica({ peers: 1 });
  for (let own = 1; own <= 2; own += 1) turn.wrote(version(last + own), writeMs, several);
  assert.equal(delayMs(), slotMs);
  turn.wrote(version(last + 3), writeMs, several);
  turn.watched(version(last + 3), peerWrite);
  assert.equal(delayMs(), precedenceMs);
});

test("after its first write a replica gives whoever lost against it the time of a write, once that is shown", () => {
  const { clock, turn, last, delayMs } = replica({ peers: 0, rounds: 1 });
  assert.equal(delayMs(), writeMs + writeMs);
  assert.equal(turn.watched(version(last), peerWrite), true, "it may begin sooner");
  assert.equal(delayMs(), writeMs);
  turn.watched(version(last + 1), peerWrite);
  assert.equal(delayMs(), precedenceMs, "the other one has written");
  const early = new WriteTurn(clock, version(1), peerWrite);
  early.watched(version(2), peerWrite);
  early.wrote(version(2), writeMs, several);
  assert.equal(early.delayMs(), writeMs, "the watch was faster than the answer");
});

test("a replica without peers begins again when the watch has shown its own write, or should have", () => {
  const { turn, last, delayMs } = replica({ peers: 0, rounds: 2 });
  assert.equal(delayMs(), writeMs);
  assert.equal(turn.watched(version(last), peerWrite), true, "it may begin sooner");
  assert.equal(delayMs(), precedenceMs);
});

test("a replica that has written eight times in a row is alone, and waits for nothing", () => {
  const { turn, last, delayMs } = replica({ peers: 0, rounds: 8 });
  assert.equal(delayMs(), 0);
  assert.equal(turn.watched(version(last), peerWrite), false);
  turn.watched(version(last + 1), peerWrite);
  turn.wrote(version(last + 2), writeMs, several);
  turn.wrote(version(last + 3), writeMs, several);
  assert.ok(delayMs() >= writeMs, "another one has written meanwhile");
});

test("an aggregator is no peer, however often it writes", () => {
  const { turn, last, delayMs } = replica({ peers: 0 });
  turn.watched(version(last), peerWrite);
  for (let round = 1; round <= 10; round += 1) {
    assert.equal(turn.watched(version(last + 2 * round - 1), countedAt(`${2000 + round}`)), true);
    turn.wrote(version(last + 2 * round), writeMs, several);
    turn.watched(version(last + 2 * round), countedAt(`${2000 + round}`));
  }
  assert.equal(delayMs(), 0);
});

test("a turn comes after a conflict when the watch shows the other write, or after the time of a write", async () => {
  const { clock, turn, last, delayMs } = replica({ peers: 0 });
  turn.conflicted(version(last));
  assert.equal(delayMs(), writeMs);
  turn.watched(version(last + 1), peerWrite);
  assert.equal(delayMs(), 0);
  turn.conflicted(version(last + 1));
  await clock.advance(writeMs);
  assert.equal(delayMs(), 0);
  turn.watched(version(last + 3), peerWrite);
  turn.conflicted(version(last + 2));
  assert.equal(delayMs(), 0);
});

test("no own write is taken for another's, also when the watch is faster than the answer", () => {
  const { turn, last, delayMs } = replica({ peers: 0 });
  for (let own = last + 1; own < last + 10; own += 1) {
    turn.watched(version(own), peerWrite);
    turn.wrote(version(own), writeMs, several);
    assert.equal(turn.watched(version(own), peerWrite), false);
  }
  assert.equal(delayMs(), 0);
});

test("a write of another that the watch delivered late is counted", () => {
  const { turn, last, delayMs } = replica({ peers: 0 });
  for (let round = 1; round <= 10; round += 1) {
    turn.wrote(version(last + 2 * round), writeMs, several);
    turn.watched(version(last + 2 * round - 1), peerWrite);
  }
  assert.equal(delayMs(), slotMs);
});

test("a write of another that the watch delivered before the answer to an earlier own one is counted", () => {
  const { turn, last, delayMs } = replica({ peers: 1 });
  turn.watched(version(last + 2), peerWrite);
  turn.wrote(version(last + 1), writeMs, several);
  assert.equal(delayMs(), precedenceMs);
});

test("no turn is waited for longer than 800 ms, however many write and however slowly", () => {
  const slow = new WriteTurn(createVirtualClock(), version(1), peerWrite);
  slow.wrote(version(2), 4_000, several);
  assert.equal(slow.delayMs(), 800, "neither after the first write");
  const clock = createVirtualClock();
  const turn = new WriteTurn(clock, version(1050), peerWrite);
  for (let number = 1; number < 1000; number += 1) {
    if (number % 50 === 0) turn.wrote(version(1000 + number), 60_000, 1);
    else turn.watched(version(1000 + number), peerWrite);
  }
  turn.wrote(version(3000), 60_000, 1);
  assert.equal(turn.delayMs(), 800);
});

test("no write of an aggregator is waited for after a conflict when the watch has shown it", () => {
  const { turn, last, delayMs } = replica({ peers: 0 });
  turn.watched(version(last), peerWrite);
  turn.watched(version(last + 1), countedAt("2000"));
  turn.conflicted(version(last));
  assert.equal(delayMs(), 0);
});

test("after a batch of several the next one gathers until it is quiet, for a write's time and 50 ms at most", () => {
  const { turn, last } = replica({ peers: 0 });
  turn.wrote(version(last + 1), writeMs, 1);
  assert.deepEqual(turn.gathering(), { quietMs: 0, mostMs: 0 });
  turn.wrote(version(last + 2), writeMs, several);
  assert.deepEqual(turn.gathering(), { quietMs: 3, mostMs: writeMs });
  for (let own = 3; own < 40; own += 1) turn.wrote(version(last + own), 1000, several);
  assert.deepEqual(turn.gathering(), { quietMs: 3, mostMs: 50 });
  turn.wrote(version(last + 40), writeMs, 1);
  assert.deepEqual(turn.gathering(), { quietMs: 0, mostMs: 0 });
});

test("a write may take twice the average, and never counts as longer than a second", () => {
  const { turn, last } = replica({ peers: 0 });
  assert.equal(turn.expectedMs(), 2 * writeMs);
  for (let own = 1; own < 40; own += 1) turn.wrote(version(last + own), 10_000, 2);
  assert.equal(turn.expectedMs(), 1_000);
});

test("a replica whose first write came after that of another knows of it at once", () => {
  const turn = new WriteTurn(createVirtualClock(), version(1000), peerWrite);
  turn.conflicted(version(1000));
  turn.watched(version(1001), peerWrite);
  assert.equal(turn.delayMs(), 0);
  turn.wrote(version(1002), writeMs, several);
  assert.equal(turn.delayMs(), slotMs);
});

test("an aggregator that counts before the first own write is no peer", () => {
  const turn = new WriteTurn(createVirtualClock(), version(1000), peerWrite);
  turn.watched(version(1001), countedAt("2000"));
  turn.wrote(version(1002), writeMs, several);
  turn.watched(version(1002), countedAt("2000"));
  assert.equal(turn.delayMs(), writeMs, "no slot of a peer");
});

test("2 replicas write one PodProtector in turns: few conflicts, equal shares", () => writeInTurns(2));
