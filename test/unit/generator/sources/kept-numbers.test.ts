import assert from "node:assert/strict";
import { test } from "node:test";
import { annotations } from "../../../../src/api/v1alpha1/names.ts";
import { askedNumber, keptIn, keptNumberOf } from "../../../../src/generator/sources/kept.ts";
import { deployment, managed, protector } from "../mass-changes/samples.ts";

test("of several words the strictest holds, and one that cannot be read keeps what there is", () => {
  const source = deployment(8);
  assert.equal(askedNumber([undefined, undefined], source, 6, 5), undefined);
  assert.equal(askedNumber([2, 5], source, 6, 9), 5);
  assert.equal(askedNumber([2, true], source, 9, undefined), 5);
  assert.equal(askedNumber(["unreadable", undefined], source, 6, 4), 4);
  assert.equal(askedNumber(["unreadable", 2], source, 6, undefined), 2);
  assert.equal(askedNumber(["unreadable", undefined], source, 6, undefined), undefined);
});

test("true is half of what is written to the workload, and not of what an autoscaler has raised", () => {
  const scaled = deployment(40, { managedFields: [managed("hpa", { "f:spec": { "f:replicas": {} } }, "scale")] });
  assert.equal(askedNumber([true], scaled, 30, undefined), 15, "nothing was approved before");
  assert.equal(askedNumber([true], scaled, 30, 3), 3);
  assert.equal(askedNumber([true], deployment(40), 30, 3), 15);
  assert.equal(askedNumber([true], deployment(4), 3, 15), 2, "what is to hold once that is approved");
  assert.equal(askedNumber([true], deployment(0), 0, 3), 1);
});

test("what has no floor has nothing to lose, and a number above the floor holds each fall", () => {
  const kept = (floor: number, keep: string, to: number | "release", asked: number | undefined) =>
    keptIn(protector(floor, { [annotations.keep]: keep }), asked, to);
  assert.equal(kept(0, "5", "release", 5), undefined);
  assert.deepEqual(kept(3, "5", 2, 5), { atLeast: 5, isFall: true });
  assert.equal(kept(3, "5", 3, 5), undefined);
  assert.deepEqual(kept(6, "5", 6, undefined), { atLeast: 5, isFall: false });
  assert.equal(kept(6, "5", 5, 5), undefined);
  assert.equal(
    keptNumberOf({ annotations: { [annotations.keep]: "true" } }),
    undefined,
    "the generator writes numbers",
  );
});
