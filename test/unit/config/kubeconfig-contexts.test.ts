import assert from "node:assert/strict";
import { test } from "node:test";
import { contextsOf, serverOf } from "../../../src/config/kubeconfig-contexts.ts";

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

test("the address of a context's cluster is read with its authority", () => {
  const text = `
contexts:
- { name: a, context: { cluster: x } }
- { name: b, context: { cluster: y } }
- { name: c, context: { cluster: z } }
clusters:
- { name: x, cluster: { server: "https://x:6443", certificate-authority-data: QQ== } }
- { name: y, cluster: { server: "https://y", certificate-authority: ca.crt } }
- { name: z, cluster: {} }
`;
  const none = { authorityData: undefined, authorityFile: undefined };
  assert.deepEqual(serverOf(text, "a"), { ...none, server: "https://x:6443", authorityData: "QQ==" });
  const b = { ...none, server: "https://y", authorityFile: "ca.crt" };
  assert.deepEqual(serverOf(text, "b"), b);
  assert.equal(serverOf(text, "c"), undefined);
  assert.equal(serverOf(text, "d"), undefined);
});
