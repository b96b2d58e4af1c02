import assert from "node:assert/strict";
import { test } from "node:test";
import {
  labelKeyProblem,
  labelValueProblem,
  namespaceProblem,
  objectNameProblem,
} from "../../../../src/config/types/kubernetes-names.ts";

type Check = (text: string) => string | undefined;
const cases: readonly [Check, readonly string[], readonly string[]][] = [
  [namespaceProblem, ["default", "a-1"], ["", "A", "a.b", "-a", "a-", "a".repeat(64)]],
  [objectNameProblem, ["a", "a.b-c.d1"], ["", "A", "a..b", ".a", "a_b", "a".repeat(254)]],
  [
    labelKeyProblem,
    ["a", "A_b.c-d", "example.com/a"],
    ["", "/a", "a/", "a/b/c", "Example.com/a", "-a", "a".repeat(64)],
  ],
  [labelValueProblem, ["", "a", "A_b.c-d"], ["-a", "a b", "a/b", "a".repeat(64)]],
];

test("names are checked as by the API server", () => {
  for (const [check, good, bad] of cases) {
    for (const text of good) assert.equal(check(text), undefined, `${check.name} ${text}`);
    for (const text of bad) assert.notEqual(check(text), undefined, `${check.name} ${text}`);
  }
});
