import assert from "node:assert/strict";
import { test } from "node:test";
import { rightFindings } from "../../../../../src/commands/check/findings/rights.ts";
import { read, unread } from "../sound-facts.ts";

const right = (account: string, name: string, isGranted: boolean) => ({ account, right: name, isGranted });

test("accounts that have all rights are one line", () => {
  const rights = read([right("a", "get pods", true), right("b", "list pods", true)]);
  assert.deepEqual(
    rightFindings(rights).map(({ level, text }) => `${level} ${text}`),
    ["ok rights of a, b"],
  );
});

test("what an account lacks is named, account by account", () => {
  const rights = read([right("a", "get pods", false), right("a", "list pods", false), right("b", "get pods", true)]);
  assert.deepEqual(
    rightFindings(rights).map(({ level, text }) => `${level} ${text}`),
    ["fail a may not get pods, list pods"],
  );
});

test("without the right to ask, or without an account, nothing is claimed", () => {
  assert.equal(rightFindings(unread)[0]?.level, "unchecked");
  assert.equal(rightFindings(read([]))[0]?.level, "unchecked");
});
