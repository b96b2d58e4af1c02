import assert from "node:assert/strict";
import { test } from "node:test";
import { messageOf } from "../../../src/util/error-message.ts";

test("an error gives its message, and anything else its text", () => {
  assert.equal(messageOf(new TypeError("broken")), "broken");
  assert.equal(messageOf("broken"), "broken");
  assert.equal(messageOf(undefined), "undefined");
});
