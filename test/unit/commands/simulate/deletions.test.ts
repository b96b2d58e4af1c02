import assert from "node:assert/strict";
import { test } from "node:test";
import { gathered, judgeDeletions, obstaclesOfDeletions } from "../../../../src/commands/simulate/deletions.ts";
import { guardOptions, pod, podsNamed, protector } from "./support.ts";

test("deletions in one go get what is free, and none settles before the last", () => {
  const guarding = protector("web", { min: 1, cells: { a: 3 } });
  const judged = judgeDeletions(guardOptions(guarding), podsNamed("web", 3), "a");
  assert.deepEqual(
    judged.map(({ answer }) => answer.kind),
    ["admitted", "admitted", "refused"],
  );
  assert.deepEqual(judged[0]?.protectors, [guarding.id]);
  const [obstacle, ...others] = obstaclesOfDeletions(judged, [guarding], "a");
  assert.deepEqual(obstacle?.pods, ["shop/web-3"]);
  assert.deepEqual(others, []);
});

test("an obstacle is told once, with all pods that it keeps", () => {
  const obstacle = { kind: "budget", by: "x", text: "y", cure: "z" } as const;
  const found = gathered([
    { pod: pod("web-1"), obstacles: [obstacle] },
    { pod: pod("web-2"), obstacles: [obstacle, { ...obstacle, text: "other" }] },
  ]);
  assert.deepEqual(
    found.map(({ text, pods }) => [text, ...pods]),
    [
      ["y", "shop/web-1", "shop/web-2"],
      ["other", "shop/web-2"],
    ],
  );
});
