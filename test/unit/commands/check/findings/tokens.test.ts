import assert from "node:assert/strict";
import { test } from "node:test";
import { tokenFindings } from "../../../../../src/commands/check/findings/tokens.ts";
import { before, now, read, saidOf, unread, core, worker } from "../sound-facts.ts";

const hour = 3_600;
const day = 24 * hour;

/** Of a token that was made `madeAgo` seconds ago and ends in `left`. */
function token(account: string, madeAgo: number, left: number) {
  return { account, validity: { from: before(madeAgo), to: before(-left) } };
}

function said(...tokens: readonly ReturnType<typeof token>[]): readonly string[] {
  return tokenFindings(read(tokens), now).map(({ level, text }) => `${level} ${text}`);
}

test("a token of a week is in order while more than half of the week is left, and warned about from then on", () => {
  const what = "the token that another cluster has of podseidon-aggregator-w1";
  assert.deepEqual(said(token("podseidon-aggregator-w1", 3 * day, 4 * day)), [`ok ${what} is good for 4 d 00 h`]);
  assert.deepEqual(said(token("podseidon-aggregator-w1", 4 * day, 3 * day)), [
    `warn ${what} ends in 3 d 00 h; then the pods of its cell are no longer counted, and the cell falls silent`,
  ]);
});

test("a token of a year is warned about in its last week, and one of a day in its last half day", () => {
  const levels = [
    said(token("a", 300 * day, 8 * day)),
    said(token("a", 360 * day, 6 * day)),
    said(token("a", 8 * hour, 16 * hour)),
    said(token("a", 16 * hour, 8 * hour)),
  ].map(([line]) => line?.split(" ", 1)[0]);
  assert.deepEqual(levels, ["ok", "warn", "ok", "warn"]);
});

test("a token that has ended is a failure that says what is lost", () => {
  const [line = ""] = said(token("podseidon-webhook", 8 * day, -day));
  assert.match(line, /^fail .*podseidon-webhook ended 1 d 00 h ago: the webhook refuses evictions of pods here$/);
});

test("accounts that may not be listed, and notes that cannot be read, are not taken for good tokens", () => {
  assert.equal(tokenFindings(unread, now)[0]?.level, "unchecked");
  const [finding] = tokenFindings(read([{ account: "a", validity: undefined }]), now);
  assert.equal(finding?.level, "unchecked");
});

test("tokens of accounts of the core and of workers are both looked at", () => {
  const tokens = read([token("a", 8 * day, -day)]);
  assert.deepEqual(saidOf({ cores: [core({ tokens })] }), ["fail token"]);
  assert.deepEqual(saidOf({ workers: [worker("worker-1", { tokens }), worker("worker-2")] }), ["fail token"]);
});
