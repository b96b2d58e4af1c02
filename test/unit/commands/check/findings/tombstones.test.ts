import assert from "node:assert/strict";
import { test } from "node:test";
import { objectKey } from "../../../../../src/api/object-key.ts";
import { tombstoneFindings } from "../../../../../src/commands/check/findings/tombstones.ts";
import { before, core, now, protector, read, unread } from "../sound-facts.ts";

const event = (name: string, message = "It is gone") => ({
  protector: objectKey("shop", name),
  uid: `former-${name}`,
  reason: "PodProtectorLost",
  message,
  count: 1,
  lastAt: before(60),
  component: "podseidon-webhook",
});

test("a PodProtector that webhooks keep in force is told with the way out", () => {
  const [found, ...more] = tombstoneFindings(core({ protectorEvents: read([event("lost")]) }), now);
  assert.match(found?.text ?? "", /^shop\/lost is gone without having been released.*said 1 m 00 s ago/);
  assert.equal(found?.command, "podseidon release shop/lost");
  assert.deepEqual(more, []);
});

test("one that was made again, or is no longer in force, is not told", () => {
  const protectors = read({ valid: [protector("lost")], invalid: [] });
  assert.deepEqual(tombstoneFindings(core({ protectorEvents: read([event("lost")]), protectors }), now), []);
  const over = event("lost", "It was gone, and is no longer in force: it was deleted");
  assert.deepEqual(tombstoneFindings(core({ protectorEvents: read([over]) }), now), []);
});

test("without Events nothing is claimed", () => {
  assert.equal(tombstoneFindings(core({ protectorEvents: unread }), now)[0]?.level, "unchecked");
});
