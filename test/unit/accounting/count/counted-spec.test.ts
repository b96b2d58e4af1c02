import assert from "node:assert/strict";
import { test } from "node:test";
import { CountedSpec, countedSpec } from "../../../../src/accounting/count/counted-spec.ts";

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

const spec = new CountedSpec("uid", "app=web", 10);
const counted = (selector: string, seconds: number, said: number | undefined = seconds, uid = "uid") => ({
  totalReplicas: 3,
  availableReplicas: 3,
  countedSpec: countedSpec(uid, selector, seconds),
  ...(said !== undefined && { countedMinReadySeconds: said }),
});

test("counts answer a spec by the same selector and minReadySeconds, or by a longer minReadySeconds", () => {
  assert.equal(spec.isAnsweredBy(counted("app=web", 10)), true);
  for (const seconds of [11, 30, 30, 3600, 30]) assert.equal(spec.isAnsweredBy(counted("app=web", seconds)), true);
});

test("counts by a shorter minReadySeconds, another selector or of another object do not answer a spec", () => {
  assert.equal(spec.isAnsweredBy(counted("app=web", 9)), false);
  assert.equal(spec.isAnsweredBy(counted("app=api", 30)), false);
  assert.equal(spec.isAnsweredBy(counted("app=web", 30, 30, "uid2")), false);
});

test("what counts say of their minReadySeconds must fit their hash", () => {
  assert.equal(spec.isAnsweredBy(counted("app=web", 9, 30)), false);
  assert.equal(spec.isAnsweredBy(counted("app=web", 30, 31)), false);
  const { countedMinReadySeconds: _, ...silent } = counted("app=web", 30);
  assert.equal(spec.isAnsweredBy(silent), false);
  assert.equal(spec.isAnsweredBy(counted("app=web", 10, 9)), true);
});

test("counts that do not say what they have counted answer every spec: a Go aggregator counted", () => {
  assert.equal(spec.isAnsweredBy({ totalReplicas: 3, availableReplicas: 3 }), true);
});
