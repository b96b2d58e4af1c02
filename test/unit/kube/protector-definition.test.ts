import assert from "node:assert/strict";
import { test } from "node:test";
import { KubeError } from "../../../src/kube/kube-client.ts";
import { readDefinition } from "../../../src/kube/protector-definition.ts";
import { createScriptedKubeClient } from "./scripted-kube-client.ts";

const path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/podprotectors.podseidon.kubewharf.io";

async function readFrom(answer: unknown) {
  const client = createScriptedKubeClient();
  client.onRequest = () => {
    if (answer instanceof Error) throw answer;
    return answer;
  };
  const read = await readDefinition(client, {});
  assert.equal(client.requests[0]?.path, path);
  return read;
}

test("the CRD of PodProtectors is read with its UID, and whether it is being deleted", async () => {
  assert.deepEqual(await readFrom({ metadata: { uid: "u" } }), { kind: "there", uid: "u", isTerminating: false });
  const deletionTimestamp = "2026-01-01T00:00:00Z";
  const terminating = await readFrom({ metadata: { uid: "u", deletionTimestamp } });
  assert.deepEqual(terminating, { kind: "there", uid: "u", isTerminating: true });
});

test("a CRD that is gone, one that may not be read, and a failure are told apart", async () => {
  const notFound = new KubeError("notFound", "no", { code: 404, status: { code: 404, reason: "NotFound" } });
  assert.deepEqual(await readFrom(notFound), { kind: "gone" });
  assert.equal((await readFrom(new KubeError("forbidden", "no"))).kind, "forbidden");
  assert.equal((await readFrom(new KubeError("serverError", "no"))).kind, "failed");
  assert.equal((await readFrom("nonsense")).kind, "failed");
});

test("the 404 of a proxy says nothing about the CRD", async () => {
  assert.equal((await readFrom(new KubeError("notFound", "default backend - 404", { code: 404 }))).kind, "failed");
});
