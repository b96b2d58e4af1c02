import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type ResourceVersion } from "../../../../src/api/resource-version.ts";
import { type CellStatus } from "../../../../src/api/v1alpha1/pod-protector.ts";
import { WriteTurns } from "../../../../src/webhook/protector/write-turns.ts";
import { createVirtualClock } from "../../../support/virtual-clock.ts";

const writeMs = 10;
/** Four times the time of a write. */
const slotMs = 40;
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
  const turns = new WriteTurns(clock);
  let last = 1000;
  for (let round = 0; round < rounds; round += 1) {
    for (let peer = 0; peer < peers; peer += 1) turns.seen("o", version(++last), peerWrite);
    turns.wrote("o", version(++last), writeMs, 1);
  }
  return { clock, turns, last, delayMs: () => turns.delayMs("o") };
}

describe("turns of replicas that write one object", () => {
  it("are always there for one that is alone", () => {
    assert.equal(replica({ peers: 0 }).delayMs(), 0);
    assert.equal(new WriteTurns(createVirtualClock()).delayMs("o"), 0);
  });

  it("come when as many others have written as there are peers", () => {
    const { turns, last, delayMs } = replica({ peers: 2 });
    assert.equal(delayMs(), 2 * slotMs);
    assert.equal(turns.seen("o", version(last + 1), peerWrite), true);
    assert.equal(delayMs(), slotMs);
    turns.seen("o", version(last + 2), peerWrite);
    assert.equal(delayMs(), 0);
  });

  it("pass over a peer that writes nothing, a slot for each place", async () => {
    const { clock, turns, last, delayMs } = replica({ peers: 2 });
    await clock.advance(15);
    assert.equal(delayMs(), 2 * slotMs - 15);
    turns.seen("o", version(last + 1), peerWrite);
    await clock.advance(15);
    assert.equal(delayMs(), slotMs - 15);
    await clock.advance(25);
    assert.equal(delayMs(), 0);
  });

  it("give each place more time where the watch is late", async () => {
    const { clock, turns, last, delayMs } = replica({ peers: 1 });
    for (let round = 1; round <= 40; round += 1) {
      turns.seen("o", version(last + 2 * round - 1), peerWrite);
      turns.wrote("o", version(last + 2 * round), writeMs, 1);
      await clock.advance(20);
      turns.seen("o", version(last + 2 * round), peerWrite);
    }
    assert.equal(Math.round(delayMs()), slotMs + 2 * 20 - 20);
  });

  it("forget a peer that has gone after three writes", () => {
    const { turns, last, delayMs } = replica({ peers: 1 });
    for (let own = 1; own <= 2; own += 1) turns.wrote("o", version(last + own), writeMs, 1);
    assert.equal(delayMs(), slotMs);
    turns.wrote("o", version(last + 3), writeMs, 1);
    assert.equal(delayMs(), 0);
  });

  it("take an aggregator for no peer, however often it writes", () => {
    const { turns, last, delayMs } = replica({ peers: 0 });
    turns.seen("o", version(last), peerWrite);
    for (let round = 1; round <= 10; round += 1) {
      assert.equal(turns.seen("o", version(last + 2 * round - 1), countedAt(`${2000 + round}`)), true);
      turns.wrote("o", version(last + 2 * round), writeMs, 1);
      turns.seen("o", version(last + 2 * round), countedAt(`${2000 + round}`));
    }
    assert.equal(delayMs(), 0);
  });

  it("come after a conflict when the watch shows what was written instead, or after the time of a write", async () => {
    const { clock, turns, last, delayMs } = replica({ peers: 0 });
    turns.conflicted("o", version(last));
    assert.equal(delayMs(), writeMs);
    turns.seen("o", version(last + 1), peerWrite);
    assert.equal(delayMs(), 0);
    turns.conflicted("o", version(last + 1));
    await clock.advance(writeMs);
    assert.equal(delayMs(), 0);
    turns.seen("o", version(last + 3), peerWrite);
    turns.conflicted("o", version(last + 2));
    assert.equal(delayMs(), 0);
  });

  it("take no own write for another's, also when the watch is faster than the answer", () => {
    const { turns, last, delayMs } = replica({ peers: 0 });
    for (let own = last + 1; own < last + 10; own += 1) {
      turns.seen("o", version(own), peerWrite);
      turns.wrote("o", version(own), writeMs, 1);
      assert.equal(turns.seen("o", version(own), peerWrite), false);
    }
    assert.equal(delayMs(), 0);
  });

  it("count a write of another that the watch delivered late", () => {
    const { turns, last, delayMs } = replica({ peers: 0 });
    for (let round = 1; round <= 10; round += 1) {
      turns.wrote("o", version(last + 2 * round), writeMs, 1);
      turns.seen("o", version(last + 2 * round - 1), peerWrite);
    }
    assert.equal(delayMs(), slotMs);
  });

  it("count a write of another that the watch delivered before the answer to an earlier own one", () => {
    const { turns, last, delayMs } = replica({ peers: 1 });
    turns.seen("o", version(last + 2), peerWrite);
    turns.wrote("o", version(last + 1), writeMs, 1);
    assert.equal(delayMs(), 0);
  });

  it("are never waited for longer than 800 ms, however many write and however slowly", () => {
    const clock = createVirtualClock();
    const turns = new WriteTurns(clock);
    for (let number = 1; number < 1000; number += 1) {
      if (number % 50 === 0) turns.wrote("o", version(1000 + number), 60_000, 1);
      else turns.seen("o", version(1000 + number), peerWrite);
    }
    turns.wrote("o", version(3000), 60_000, 1);
    assert.equal(turns.delayMs("o"), 800);
  });

  it("leave the object alone after a batch of several, as long as the write took and 50 ms at most", async () => {
    const { clock, turns, last, delayMs } = replica({ peers: 0 });
    turns.wrote("o", version(last + 1), writeMs, 2);
    assert.equal(delayMs(), writeMs);
    await clock.advance(writeMs);
    assert.equal(delayMs(), 0);
    turns.wrote("o", version(last + 2), writeMs, 1);
    assert.equal(delayMs(), 0);
    turns.wrote("o", version(last + 3), 1000, 2);
    assert.equal(delayMs(), 50);
  });

  it("are those of the object, and of 10,000 objects at most", () => {
    const { turns, delayMs } = replica({ peers: 1 });
    assert.equal(turns.delayMs("other"), 0);
    for (let index = 0; index < 10_000; index += 1) turns.wrote(`o${index}`, version(1), writeMs, 1);
    assert.equal(delayMs(), 0);
  });
});
