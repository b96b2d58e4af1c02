import assert from "node:assert/strict";
import test from "node:test";
import { getLive, writeStatus } from "../../../src/aggregator/status-writer.ts";
import { KubeError, type KubeErrorKind } from "../../../src/kube/kube-client.ts";
import { createScriptedKubeClient } from "../kube/scripted-kube-client.ts";
import { storedProtector } from "./protectors.ts";

const base = storedProtector(10);
const { signal } = new AbortController();
const status = base.protector.status!;

/** PUT answers `put`, GET answers `get`; errors are thrown. */
function scripted(put: unknown, get?: unknown) {
  const client = createScriptedKubeClient();
  client.onRequest = ({ method }) => {
    const answer = method === "PUT" ? put : get;
    if (answer instanceof Error) throw answer;
    return answer;
  };
  return client;
}

test("a write is a PUT of the status at the version of its base", async () => {
  const client = scripted(storedProtector(11).protector);
  const outcome = await writeStatus(client, base, status, signal);
  assert.equal(outcome.kind === "written" && outcome.stored.resourceVersion, "11");
  const [request] = client.requests;
  assert.equal(
    `${request?.method} ${request?.path}`,
    "PUT /apis/podseidon.kubewharf.io/v1alpha1/namespaces/default/podprotectors/web/status",
  );
  assert.deepEqual(request?.body, { ...base.protector, status });
});

test("a conflict comes with the live object", async () => {
  const outcome = await writeStatus(
    scripted(new KubeError("conflict", "no"), storedProtector(12).protector),
    base,
    status,
    signal,
  );
  assert.equal(outcome.kind === "conflict" && outcome.live?.resourceVersion, "12");
});

test("a refusal with 409 of an object that nobody has changed is a failure, or it would be tried again at once for ever", async () => {
  const error = new KubeError("conflict", "an admission plug-in says 409");
  const outcome = await writeStatus(scripted(error, storedProtector(10).protector), base, status, signal);
  assert.deepEqual(outcome, { kind: "failed", error });
});

test("a lost answer after which the object has moved is a conflict, and one that changed nothing a failure", async () => {
  for (const kind of ["network", "timeout", "serverError"] satisfies KubeErrorKind[]) {
    const error = new KubeError(kind, kind);
    const moved = await writeStatus(scripted(error, storedProtector(11).protector), base, status, signal);
    assert.equal(moved.kind, "conflict", kind);
    const unmoved = await writeStatus(scripted(error, storedProtector(10).protector), base, status, signal);
    assert.deepEqual(unmoved, { kind: "failed", error }, kind);
  }
});

test("an object that is gone, or replaced at whatever version, is no failure", async () => {
  const gone = await writeStatus(
    scripted(new KubeError("notFound", "no"), new KubeError("notFound", "no")),
    base,
    status,
    signal,
  );
  assert.deepEqual(gone, { kind: "conflict", live: undefined });
  const other = storedProtector(10, { uid: "another" });
  const replaced = await writeStatus(scripted(new KubeError("network", "no"), other.protector), base, status, signal);
  assert.equal(replaced.kind === "conflict" && replaced.live?.uid, "another");
});

test("refusals fail without a read, and so do unusable answers", async () => {
  for (const kind of ["forbidden", "invalid", "tooManyRequests", "aborted", "unauthorized"] satisfies KubeErrorKind[]) {
    const client = scripted(new KubeError(kind, kind));
    assert.equal((await writeStatus(client, base, status, signal)).kind, "failed", kind);
    assert.equal(client.requests.length, 1, kind);
  }
  assert.equal((await writeStatus(scripted({ kind: "Nonsense" }), base, status, signal)).kind, "failed");
});

test("a write whose outcome cannot be read is a failure", async () => {
  const error = new KubeError("network", "still down");
  const outcome = await writeStatus(scripted(new KubeError("network", "down"), error), base, status, signal);
  assert.deepEqual(outcome, { kind: "failed", error });
});

test("a live read asks for no version, and tells gone from unreadable", async () => {
  const client = scripted(undefined, storedProtector(12).protector);
  const read = await getLive(client, "default", "web", signal);
  assert.equal(read.kind === "read" && read.stored?.resourceVersion, "12");
  assert.equal(client.requests[0]?.query, undefined);
  assert.deepEqual(await getLive(scripted(undefined, new KubeError("notFound", "no")), "default", "web", signal), {
    kind: "read",
    stored: undefined,
  });
  assert.equal(
    (await getLive(scripted(undefined, new KubeError("network", "no")), "default", "web", signal)).kind,
    "failed",
  );
  assert.equal((await getLive(scripted(undefined, {}), "default", "web", signal)).kind, "failed");
});
