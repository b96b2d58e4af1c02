import assert from "node:assert/strict";
import { test } from "node:test";
import { type CellLease } from "../../../../src/api/cell-lease.ts";
import { CellClaim } from "../../../../src/aggregator/heartbeats/cell-claim.ts";
import { at } from "../../../support/moment.ts";

const overlapMs = 30_000;

const times = { silentAfterMs: 180_000, contactMs: 45_000 };

function claimOf(): CellClaim {
  return new CellClaim({ identity: "me", times, overlapMs });
}

function lease(holderIdentity: string, beat: number, more: Partial<CellLease> = {}): CellLease {
  return { holderIdentity, beat: `${holderIdentity} ${beat}`, clusterUID: "ours", ...more } as CellLease;
}

test("a cell without a Lease is ours, and so is one that our cluster holds", () => {
  const claim = claimOf();
  assert.equal(claim.observed(undefined, "ours", at(0)).kind, "ours");
  assert.equal(claim.observed(lease("other", 1), "ours", at(1)).kind, "ours");
  assert.equal(claim.observed(lease("me", 2), "ours", at(2)).kind, "ours");
});

test("a cell that another cluster holds is taken over when its Lease was silent for three minutes", () => {
  const claim = claimOf();
  for (let ms = 0; ms < 180_000; ms += 15_000)
    assert.equal(claim.observed(lease("other", 1), "new", at(ms)).kind, "held", `${ms}`);
  assert.equal(claim.observed(lease("other", 1), "new", at(180_000)).kind, "takeOver");
});

test("each beat of the other cluster starts the wait again, and so does a hole in our looks", () => {
  for (const disturb of [
    (claim: CellClaim) => void claim.observed(lease("other", 2), "new", at(170_000)),
    () => undefined,
  ]) {
    const claim = claimOf();
    for (let ms = 0; ms <= 120_000; ms += 15_000) claim.observed(lease("other", 1), "new", at(ms));
    disturb(claim);
    assert.equal(claim.observed(lease("other", 2), "new", at(185_000)).kind, "held");
  }
});

test("a Lease that is deleted while another cluster holds the cell frees it only if nobody makes it again", () => {
  const claim = claimOf();
  claim.observed(lease("other", 1), "new", at(0));
  for (const ms of [15_000, 30_000, 45_000])
    assert.equal(claim.observed(undefined, "new", at(ms)).kind, "held", `${ms}`);
  assert.equal(claim.observed(lease("other", 2), "new", at(50_000)).kind, "held");
  for (const ms of [65_000, 80_000, 95_000])
    assert.equal(claim.observed(undefined, "new", at(ms)).kind, "held", `${ms}`);
  assert.equal(claim.observed(undefined, "new", at(110_000)).kind, "takeOver");
  assert.equal(claim.observed(undefined, "new", at(111_000)).kind, "ours");
});

test("a person gives the cell to one cluster by its UID", () => {
  const claim = claimOf();
  assert.equal(claim.observed(lease("other", 1, { adopt: "third" }), "new", at(0)).kind, "held");
  assert.equal(claim.observed(lease("other", 1, { adopt: "new" }), "new", at(1)).kind, "takeOver");
});

test("where a UID is not known nobody is told apart by it", () => {
  assert.equal(claimOf().observed(lease("other", 1), undefined, at(0)).kind, "ours");
  assert.equal(claimOf().observed(lease("other", 1, { clusterUID: undefined }), "new", at(0)).kind, "ours");
});

test("a predecessor that beats once more after a fail-over is no clone", () => {
  const claim = claimOf();
  claim.observed(lease("old", 1), "ours", at(0));
  claim.beaten(lease("me", 1), at(2000));
  assert.equal(claim.observed(lease("old", 2), "ours", at(29_000)).kind, "ours");
  claim.beaten(lease("me", 2), at(29_100));
  assert.equal(claim.observed(lease("me", 2), "ours", at(200_000)).kind, "ours");
});

test("the last beat of a predecessor is no clone's, also when our first one comes long after", () => {
  const claim = claimOf();
  claim.observed(lease("old", 1), "ours", at(0));
  // Sent before the fail-over and carried out right after our look; the first beat waits for first counts.
  assert.equal(claim.observed(lease("old", 2), "ours", at(60_000)).kind, "ours");
});

test("a clone that beats between two looks after the overlap is found before our first beat, too", () => {
  const claim = claimOf();
  claim.observed(lease("clone", 1), "ours", at(0));
  assert.equal(claim.observed(lease("clone", 2), "ours", at(31_000)).kind, "ours");
  assert.equal(claim.observed(lease("clone", 3), "ours", at(41_000)).kind, "held");
});

test("a holder from before our term that beats longer than an election explains is a clone, to which we yield", () => {
  const claim = claimOf();
  claim.observed(lease("clone", 1), "ours", at(0));
  for (let beat = 2; beat <= 4; beat++) {
    claim.beaten(lease("me", beat), at(beat * 5000));
    assert.equal(claim.observed(lease("clone", beat), "ours", at(beat * 7000)).kind, "ours", `${beat}`);
  }
  claim.beaten(lease("me", 5), at(30_000));
  const verdict = claim.observed(lease("clone", 5), "ours", at(31_000));
  assert.ok(verdict.kind === "held" && verdict.by === "clone");
  claim.began();
  for (let ms = 31_000; ms < 211_000; ms += 15_000)
    assert.equal(claim.observed(lease("clone", 5), "ours", at(ms)).kind, "held", "another term changes nothing");
  assert.equal(claim.observed(lease("clone", 5), "ours", at(211_000)).kind, "takeOver");
  // The claim has failed.
  assert.equal(claim.observed(lease("clone", 5), "ours", at(211_500)).kind, "takeOver");
  claim.takenOver();
  assert.equal(claim.observed(lease("me", 6), "ours", at(212_000)).kind, "ours");
});

test("who held the Lease first does not yield to a newcomer", () => {
  const claim = claimOf();
  claim.observed(undefined, "ours", at(0));
  claim.beaten(lease("me", 1), at(1000));
  for (let beat = 1; beat < 20; beat++)
    assert.equal(claim.observed(lease("newcomer", beat), "ours", at(beat * 10_000)).kind, "ours");
});

test("without election any number of processes of one cluster may beat", () => {
  const claim = new CellClaim({ identity: "me", times, overlapMs: undefined });
  for (let beat = 1; beat < 20; beat++)
    assert.equal(claim.observed(lease("other", beat), "ours", at(beat * 10_000)).kind, "ours");
});
