import assert from "node:assert/strict";
import { test } from "node:test";
import { createTestCore } from "../support/core.ts";

test("a core is synced only when the handlers have processed the whole list", () => {
  const { core, informer } = createTestCore();
  assert.equal(core.isSynced(), false);
  informer.error = "cannot list podprotectors: 403";
  assert.match(core.unreadyReason() ?? "", /not synced yet: cannot list podprotectors: 403/);
  informer.error = undefined;
  informer.sync([]);
  assert.equal(core.isSynced(), true);
  assert.equal(core.unreadyReason(), undefined);
});

test("what is known of a core may be old when its watch has been silent for seconds, or is broken", () => {
  const { core, informer } = createTestCore();
  informer.sync([]);
  informer.silence = 5_000;
  assert.equal(core.mayBeOld(), false);
  informer.silence = 5_001;
  assert.equal(core.mayBeOld(), true);
  informer.silence = 0;
  informer.error = "cannot watch podprotectors: connection refused";
  assert.equal(core.mayBeOld(), true);
  Object.assign(informer, { error: undefined, isBehind: true });
  assert.equal(core.mayBeOld(), true, "it is answered again, and has told nothing yet");
});

test("a core is unready after five minutes of silence", () => {
  const { core, informer } = createTestCore();
  informer.sync([]);
  informer.silence = 300_000;
  assert.equal(core.unreadyReason(), undefined);
  informer.silence = 300_001;
  assert.match(core.unreadyReason() ?? "", /nothing heard from core/);
});

test("a core whose last known quota may be used stays ready, however silent it is", () => {
  const { core, informer } = createTestCore({ isUnreadyWhenSilent: false });
  informer.sync([]);
  informer.silence = 3_600_000;
  assert.equal(core.unreadyReason(), undefined);
});
