import assert from "node:assert/strict";
import { test } from "node:test";
import {
  InFlightLimit,
  reviewsInFlightMax,
  reviewsOfAddressMax,
} from "../../../../src/webhook/http/in-flight-limit.ts";

function fullLimit(dryRun = false): InFlightLimit {
  const limit = new InFlightLimit(dryRun);
  for (let count = 0; count < reviewsInFlightMax; count += 1) assert.equal(limit.enter(false), undefined);
  return limit;
}

test("one review too many is refused with a 429 that can be repeated, until another has left", () => {
  const limit = fullLimit();
  const refusal = limit.enter(false);
  assert.equal(refusal?.code, 429);
  assert.equal(refusal.status, "Overloaded");
  assert.match(refusal.message, /4000 other reviews .* Try again/);
  limit.leave();
  assert.equal(limit.inFlight, reviewsInFlightMax - 1);
  assert.equal(limit.enter(false), undefined);
  assert.notEqual(limit.enter(false), undefined);
});

test("a full replica does not refuse what is forced", () => {
  const limit = fullLimit();
  assert.equal(limit.enter(true), undefined);
  assert.notEqual(limit.enter(false), undefined);
});

test("a full replica refuses nothing in a dry run", () => {
  assert.equal(fullLimit(true).enter(false), undefined);
});

test("reviews that hold more than usual share 128 MiB, and others are held without limit", () => {
  const limit = new InFlightLimit(false);
  const megabyte = 1024 * 1024;
  for (let held = 0; held < 128; held += 8) assert.ok(limit.hold(8 * megabyte));
  assert.equal(limit.hold(megabyte), false);
  for (let count = 0; count < 10_000; count += 1) assert.ok(limit.hold(16 * 1024));
  limit.release(8 * megabyte);
  limit.release(16 * 1024);
  assert.ok(limit.hold(8 * megabyte));
  assert.equal(limit.hold(megabyte), false);
});

test("an address whose client is not identified leaves most of the room to others", () => {
  const limit = new InFlightLimit(false);
  for (let count = 0; count < reviewsOfAddressMax; count += 1) assert.equal(limit.enter(false, "stranger"), undefined);
  assert.match(limit.enter(false, "stranger")?.message ?? "", /1250 other reviews from this address/);
  assert.equal(limit.enter(false, "other"), undefined);
  assert.equal(limit.enter(false), undefined);
  limit.leave("stranger");
  assert.equal(limit.enter(false, "stranger"), undefined);
});

test("what is forced beyond the share of its address is not refused, and takes no room from others", () => {
  const limit = new InFlightLimit(false);
  const many = 2 * reviewsInFlightMax;
  for (let count = 0; count < many; count += 1) assert.equal(limit.enter(true, "stranger"), undefined);
  assert.equal(limit.inFlight, reviewsOfAddressMax);
  assert.equal(limit.fullReason, undefined);
  assert.notEqual(limit.enter(false, "stranger"), undefined);
  for (let count = 0; count < many; count += 1) limit.leave("stranger");
  assert.equal(limit.inFlight, 0);
});

test("reviews of one address hold at most a quarter of the memory", () => {
  const limit = new InFlightLimit(false);
  const megabyte = 1024 * 1024;
  for (let held = 0; held < 32; held += 8) assert.ok(limit.hold(8 * megabyte, "stranger"));
  assert.equal(limit.hold(megabyte, "stranger"), false);
  assert.ok(limit.hold(8 * megabyte, "other"));
  limit.release(8 * megabyte, "stranger");
  assert.ok(limit.hold(8 * megabyte, "stranger"));
});
