import assert from "node:assert/strict";
import { test } from "node:test";
import { type ReleasedWorkload, releaseSteps } from "../../../../../src/commands/simulate/delete/release-steps.ts";

const workload: ReleasedWorkload = {
  namespace: "shop",
  name: "web",
  cause: "namespace/shop",
  protector: { id: "core/shop/deployment-web", mustStay: 3, available: 4 },
  cells: [
    { cell: "a", available: 3 },
    { cell: "b", available: 1 },
  ],
  others: [],
  isExempt: false,
  heldCauses: [],
};

function told(changes: Partial<ReleasedWorkload>): { readonly text: string; readonly isHeld: boolean } {
  const { steps, isHeld } = releaseSteps({ ...workload, ...changes });
  return { text: steps.map(({ isJudged, text }) => `${isJudged ? "known" : "expected"}: ${text}`).join("\n"), isHeld };
}

test("the deletion is accepted, the PodProtector is released after two seconds, and then all pods may go", () => {
  const { text, isHeld } = told({});
  assert.equal(isHeld, false);
  assert.match(text, /^known: The API server accepts the deletion of Deployment shop\/web/);
  assert.match(text, /^expected: Two seconds later the generator releases core\/shop\/deployment-web, and the 3 that/m);
  assert.match(text, /^expected: It counts as one change of the cause namespace\/shop/m);
  assert.match(text, /^expected: Then the garbage collector deletes all 4 available pods \(a 3, b 1\)/m);
});

test("a cause that holds changes now keeps the floor until a person approves", () => {
  for (const heldCauses of [["namespace/shop"], ["core"]]) {
    const { text, isHeld } = told({ heldCauses });
    assert.equal(isHeld, true);
    assert.match(
      text,
      /^known: Changes of the cause namespace\/shop are held now, so core\/shop\/deployment-web stays/m,
    );
    assert.doesNotMatch(text, /garbage collector/);
  }
  assert.equal(told({ heldCauses: ["manager/helm"] }).isHeld, false);
});

test("nothing is held in an exempt namespace, nor where there is no floor", () => {
  const exempt = told({ isExempt: true, heldCauses: ["core"] });
  assert.equal(exempt.isHeld, false);
  assert.match(exempt.text, /^known: The label of its namespace says that changes there are never held/m);
  const floorless = { id: "core/shop/deployment-web", mustStay: 0, available: 1 };
  assert.match(told({ protector: floorless, heldCauses: ["core"] }).text, /it has no floor to lose/);
});

test("what is not known is said: held changes that cannot be read, a PodProtector that is not there", () => {
  assert.match(told({ heldCauses: undefined }).text, /Whether any are held now could not be read/);
  assert.match(told({ protector: undefined }).text, /^known: No PodProtector is generated for it/m);
});

test("other PodProtectors that count such pods are named", () => {
  assert.match(told({ others: ["core/shop/all"] }).text, /^known: These PodProtectors .*: core\/shop\/all\.$/m);
});
