import assert from "node:assert/strict";
import { test } from "node:test";
import { contextsOf } from "../../../src/config/kubeconfig-contexts.ts";

test("the contexts of a kubeconfig are read with their namespaces, and what is malformed is left out", () => {
  const text = `
current-context: b
contexts:
- name: a
  context: { cluster: x, namespace: shop }
- name: b
- name: 7
- text
`;
  assert.deepEqual(contextsOf(text), { current: "b", names: ["a", "b"], namespaces: new Map([["a", "shop"]]) });
  assert.deepEqual(contextsOf("current-context: [1]"), { current: undefined, names: [], namespaces: new Map() });
});

test("text that is no mapping is refused", () => {
  for (const text of ["[]", "text", "7"]) {
    if (text === "[]") assert.deepEqual(contextsOf(text).names, []);
    else assert.throws(() => contextsOf(text), /it is not a YAML mapping/);
  }
});
