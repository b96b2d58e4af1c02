import assert from "node:assert/strict";
import { test } from "node:test";
import { readPolicies } from "../../../../../src/commands/check/readers/policies.ts";
import { KubeError, type KubeRequest } from "../../../../../src/kube/kube-client.ts";
import { createVirtualClock } from "../../../../support/virtual-clock.ts";

async function read(answer: (path: string) => unknown): Promise<Awaited<ReturnType<typeof readPolicies>>> {
  const client = { cluster: "core", request: async ({ path }: KubeRequest) => answer(path) };
  const { signal } = new AbortController();
  return readPolicies(client as never, { clock: createVirtualClock(), signal });
}

test("policies are known by name, and bindings by what they bind", async () => {
  const answer = await read((path) => ({
    metadata: { resourceVersion: "1" },
    items: path.endsWith("bindings")
      ? [{ metadata: { name: "b" }, spec: { policyName: "a" } }]
      : [{ metadata: { name: "a" } }],
  }));
  assert.deepEqual(answer, {
    ok: true,
    value: { isServed: true, policies: new Map([["a", {}]]), bindings: [{ policyName: "a" }] },
  });
});

test("a cluster that does not know the kind serves none, one that refuses says which right is missing", async () => {
  const none = await read(() => {
    throw new KubeError("notFound", "404 page not found");
  });
  assert.equal(none.ok && none.value.isServed, false);
  const refused = await read(() => {
    throw new KubeError("forbidden", "403");
  });
  assert.match(refused.ok ? "" : refused.why, /you may not list validatingadmissionpolicies/);
});
