import assert from "node:assert/strict";
import { test } from "node:test";
import { type Access, reading } from "../../../../src/commands/clusters/reading.ts";
import { KubeError } from "../../../../src/kube/kube-client.ts";
import { leases } from "../../../../src/kube/resources.ts";

const access: Access = { cluster: "core", verb: "list", resource: leases, namespace: "podseidon-system" };

async function problemOf(changes: Partial<Access>, error: KubeError): Promise<string | undefined> {
  const read = await reading({ ...access, ...changes }, () => Promise.reject(error));
  return read.ok ? undefined : read.problem;
}

test("a right that is missing is named, with the role that has it", async () => {
  const forbidden = new KubeError("forbidden", "GET /apis: 403");
  const place = "leases.coordination.k8s.io in namespace podseidon-system";
  assert.equal(await problemOf({}, forbidden), `core: you may not list ${place}; ask for the role podseidon-look`);
  assert.equal(
    await problemOf({ verb: "patch" }, forbidden),
    `core: you may not patch ${place}; ask for the role podseidon-steer`,
  );
  assert.equal(
    await problemOf({ role: "edit", namespace: undefined, subresource: "status", name: "x" }, forbidden),
    "core: you may not list leases.coordination.k8s.io/status x; ask for the role edit",
  );
});

test("another failure is told in the words of the server, on one line", async () => {
  const error = new KubeError("serverError", "GET: 500", { status: { message: "etcd is\naway\u001b[31m" } });
  assert.equal(
    await problemOf({}, error),
    "core: cannot list leases.coordination.k8s.io in namespace podseidon-system: etcd is?away?[31m",
  );
});

test("what is no answer of a server is thrown on", async () => {
  await assert.rejects(
    reading(access, () => Promise.reject(new TypeError("a bug"))),
    TypeError,
  );
  assert.deepEqual(await reading(access, async () => 7), { ok: true, value: 7 });
});
