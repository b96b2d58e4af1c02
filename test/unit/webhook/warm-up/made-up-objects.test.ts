import assert from "node:assert/strict";
import { test } from "node:test";
import { readProtector } from "../../../../src/kube/resources.ts";
import { madeUpProtectors, madeUpReviews } from "../../../../src/webhook/warm-up/made-up-objects.ts";

test("the made-up PodProtectors are valid", () => {
  for (const { metadata, ...rest } of madeUpProtectors()) {
    const read = readProtector({ metadata: { ...metadata, resourceVersion: "1" }, ...rest });
    assert.ok(read.ok, metadata.name);
  }
});

test("each made-up review is of a pod of its own, and all kinds come within a dozen", () => {
  const bodies = madeUpReviews();
  const requests = Array.from({ length: 12 }, (_, index) => {
    const { request } = JSON.parse(bodies(index)) as { request: Record<string, unknown> };
    return request;
  });
  assert.equal(new Set(requests.map(({ name }) => name)).size, requests.length);
  assert.deepEqual(new Set(requests.map(({ operation }) => operation)), new Set(["DELETE", "CREATE"]));
  assert.ok(requests.some(({ dryRun }) => dryRun === true));
});
