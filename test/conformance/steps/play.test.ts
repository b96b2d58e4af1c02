import assert from "node:assert/strict";
import { test } from "node:test";
import { startDoubleTarget } from "../double.ts";
import { Scope } from "../scope.ts";
import { casesOf } from "./play.ts";

/** Steps that hold, of which each test breaks one expectation. */
const held = `
theme:
  sentence:
    - space: deletions
    - create configmaps a: { data: { k: "1" }, metadata: { labels: { l: "2" } } }
      as: created
      metadata.uid: /^[0-9a-f-]{36}$/
    - merge configmaps a: { data: { k: "2" }, metadata: { annotations: { of: "\${created.metadata.uid}" } } }
      code: 200
      newer: created
      data: { k: "2" }
      absent: [spec]
      present: [metadata.labels]
    - get configmaps a:
      as: changed
    - each: [a]
      do:
        - get configmaps \${it}:
          same: changed
          is: changed
    - get configmaps b:
      refused: [404, NotFound, 'configmaps "b" not found']
      details.name: b
    - list configmaps:
      items.*.metadata.name: [a]
    - has configmaps a: true
    - live a:
    - answer: { allowed: true, warnings: [low] }
    - delete pods a:
      warnings: ['299 - "low"']
    - reviews: [DELETE live]
`;

/** What stands in a line of it, and what would be wrong there. */
const mistakes: readonly (readonly [string, string])[] = [
  ["/^[0-9a-f-]{36}$/", "/^[0-9a-f-]{35}$/"],
  ["code: 200", "code: 201"],
  ["newer: created\n", "same: created\n"],
  ['      data: { k: "2" }', '      data: { k: "1" }'],
  ["absent: [spec]", "absent: [data]"],
  ["present: [metadata.labels]", "present: [metadata.finalizers]"],
  ["same: changed", "same: created"],
  ["is: changed", "is: created"],
  ["[404, NotFound,", "[409, NotFound,"],
  ["[404, NotFound,", "[404, Gone,"],
  ['configmaps "b" not found', 'configmaps "c" not found'],
  ["details.name: b", "details.name: c"],
  ["items.*.metadata.name: [a]", "items.*.metadata.name: [b]"],
  ["has configmaps a: true", "has configmaps a: false"],
  ['299 - "low"', '299 - "high"'],
  ["[DELETE live]", "[]"],
  ["each: [a]", "each: [b]"],
];

test("each expectation of a step is looked at", async (t) => {
  const running = await startDoubleTarget();
  t.after(() => running.close());
  const run = (text: string): Promise<void> => casesOf(text)[0]!.run(new Scope(running.target, running.unique));
  await run(held);
  for (const [right, wrong] of mistakes) {
    assert.ok(held.includes(right), right);
    await assert.rejects(run(held.replace(right, wrong)), `nothing is wrong with ${wrong}`);
  }
});
