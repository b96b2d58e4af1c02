import assert from "node:assert/strict";
import { test } from "node:test";
import { isEmpty, planJson, planText } from "../../../../src/commands/uninstall/report.ts";
import { stepsOf } from "../../../../src/commands/uninstall/steps.ts";
import { type Found, type Target } from "../../../../src/commands/uninstall/target.ts";

const [step] = stepsOf("worker");
assert(step !== undefined);

function plan(found: Partial<Found>) {
  assert(step !== undefined);
  return [{ step, found: { targets: [], obstacles: [], ...found } }];
}

function pod(name: string, namespace?: string): Target {
  const resource = { group: "", version: "v1", resource: "pods" };
  return {
    kind: "Pod",
    resource,
    namespace,
    name,
    uid: name,
    resourceVersion: "1",
    finalizers: [],
    isTerminating: false,
  };
}

const title = "1. Delete the webhook configurations: from then on pods can be deleted whatever\n   runs\n";

test("a step names its objects by kind, and of many the first", () => {
  const few = plan({ targets: [pod("a", "shop"), pod("b")] });
  assert.equal(planText(few, { columns: 80 }), `${title}   Pod shop/a, b\n`);
  const many = plan({ targets: Array.from({ length: 1_000 }, (_, index) => pod(`p${index}`)) });
  assert.equal(planText(many, { columns: 80 }), `${title}   1000 × Pod: p0, p1, p2, p3, p4 and 995 more\n`);
});

test("a step without objects says so, and what cannot be seen or stays is said", () => {
  assert.equal(planText(plan({}), { columns: 80 }), `${title}   nothing is there\n`);
  const unseen = plan({ obstacles: [{ isFinal: true, problem: "you may not list pods" }], kept: ["Pod x stays"] });
  assert.equal(planText(unseen, { columns: 80 }), `${title}   cannot be seen: you may not list pods\n   Pod x stays\n`);
  assert.deepEqual([isEmpty(plan({})), isEmpty(unseen), isEmpty(plan({ targets: [pod("a")] }))], [true, false, false]);
});

test("names from a cluster cannot control the terminal", () => {
  assert.doesNotMatch(planText(plan({ targets: [pod("a\u001b[2J")] }), { columns: 80 }), /\u001b/);
});

test("for programs all objects are listed", () => {
  const [one] = planJson(plan({ targets: [pod("a", "shop"), pod("b")], kept: ["Pod x stays"] }));
  assert.deepEqual(one, {
    step: step?.title,
    objects: [
      { kind: "Pod", namespace: "shop", name: "a" },
      { kind: "Pod", name: "b" },
    ],
    unseen: [],
    kept: ["Pod x stays"],
  });
});
