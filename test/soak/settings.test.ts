import assert from "node:assert/strict";
import { test } from "node:test";
import { readSettings } from "./settings.ts";

test("a soak takes a quarter of an hour unless SECONDS or HOURS say something else", () => {
  assert.deepEqual(readSettings({}), { seconds: 900, sampleSeconds: 5 });
  assert.equal(readSettings({ SECONDS: "300" }).seconds, 300);
  assert.deepEqual(readSettings({ SECONDS: "300", HOURS: "2" }), { seconds: 7_200, sampleSeconds: 40 });
});

test("a short soak samples no more often than every three seconds, because each sample collects garbage", () => {
  assert.equal(readSettings({ SECONDS: "120" }).sampleSeconds, 3);
});

test("what is no length is refused with the name of the variable", () => {
  assert.throws(() => readSettings({ HOURS: "two" }), /HOURS must be a number above 0, not two/);
  assert.throws(() => readSettings({ SECONDS: "-1" }), /SECONDS must be a number above 0, not -1/);
  assert.throws(() => readSettings({ SECONDS: "10" }), /a soak of 10 s shows nothing; it takes at least 120/);
});
