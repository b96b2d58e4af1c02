import assert from "node:assert/strict";
import { test } from "node:test";
import { countedSpec } from "../../../../src/accounting/count/counted-spec.ts";

test("the same question has the same short name, in every process", () => {
  assert.equal(countedSpec("uid", "app=web", 30), countedSpec("uid", "app=web", 30));
  assert.match(countedSpec("uid", "app=web", 30), /^[0-9a-f]{12}$/);
});

test("another protector, selector or minReadySeconds is another question", () => {
  const all = [
    countedSpec("uid", "app=web", 30),
    countedSpec("uid2", "app=web", 30),
    countedSpec("uid", "app=api", 30),
    countedSpec("uid", "app=web", 3),
    countedSpec("uidapp=web", "", 30),
    countedSpec("uid", "app=web,3", 0),
  ];
  assert.equal(new Set(all).size, all.length);
});
