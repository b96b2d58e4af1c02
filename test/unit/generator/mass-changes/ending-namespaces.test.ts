import assert from "node:assert/strict";
import { test } from "node:test";
import { type ObjectKey, objectKey } from "../../../../src/api/object-key.ts";
import { EndingNamespaces } from "../../../../src/generator/mass-changes/ending-namespaces.ts";
import { KubeError } from "../../../../src/kube/kube-client.ts";

const { signal } = new AbortController();

/** `ending`: the namespaces that are being deleted. */
function bench(...ending: readonly string[]) {
  const asked: string[] = [];
  const state = { isDown: false };
  const endings = new EndingNamespaces({
    async namespace(name) {
      asked.push(name);
      if (state.isDown) throw new KubeError("serverError", "503");
      return { uid: "u", isExempt: false, isTerminating: ending.includes(name) };
    },
  });
  return { endings, asked, state };
}

function held(namespace: string, more: object = {}): [ObjectKey, never] {
  const entry = { source: { namespace }, change: { to: undefined }, state: "held", ...more };
  return [objectKey(namespace, "web"), entry as never];
}

test("held deletions of a terminating namespace are found, and nothing else is asked about", async () => {
  const { endings, asked } = bench("a", "c", "d", "e");
  const changes = new Map([
    held("a"),
    held("b"),
    held("c", { state: "passed" }),
    held("d", { change: { to: 0 } }),
    held("e", { terminatingNamespace: "uid" }),
  ]);
  assert.deepEqual(await endings.among(changes, signal), ["a/web"]);
  assert.deepEqual(asked, ["a", "b"]);
});

test("many namespaces take turns, and one that gives no answer is asked again", async () => {
  const { endings, asked, state } = bench("n24");
  const changes = new Map(Array.from({ length: 25 }, (_, index) => held(`n${index}`)));
  state.isDown = true;
  const found: (readonly ObjectKey[])[] = [];
  for (let round = 0; round < 3; round++) found.push(await endings.among(changes, signal));
  assert.equal(new Set(asked).size, 25);
  assert.equal(asked.length, 25);
  state.isDown = false;
  for (let round = 0; round < 3; round++) found.push(await endings.among(changes, signal));
  assert.deepEqual(found, [[], [], [], [], [], ["n24/web"]]);
});
