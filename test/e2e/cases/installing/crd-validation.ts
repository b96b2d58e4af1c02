/**
 * The CRD in a real API server: what it accepts, what its schema and its rules refuse, and what upstream's CRD drops.
 */
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { type CrdCase, crdCases } from "../../../manifests/crd/crd-cases.ts";
import { type AdminClient, type AdminResponse, type KubeObject } from "../../clusters/admin-client.ts";
import { applyCrd } from "../../objects/crd.ts";
import { crdFile } from "../../fleet/fleet.ts";
import { createNamespace } from "../../objects/pods.ts";
import { type CaseContext, e2eCases, type Figures } from "../../runner/runner.ts";
import { present, second, waitFor } from "../../clusters/wait.ts";

const upstreamCrdFile = fileURLToPath(new URL("../../../manifests/crd/upstream-crd.yaml", import.meta.url));
const crdPath = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/podprotectors.podseidon.kubewharf.io";
/** The handler of a changed CRD follows within a second. */
const changeLimitMs = 30 * second;
/** Of the rules that the CRD has. */
const ruleMessages = [
  "In and NotIn need at least one value",
  "only one of maxUnavailable and minAvailablePercent may be there",
  "targets need maxUnavailable or minAvailablePercent",
  "a target has either a name or a selector",
];

interface Answer extends KubeObject {
  readonly spec?: unknown;
  readonly status?: unknown;
  readonly message?: string;
}

export const crdValidationCases = e2eCases({
  "crd: the API server accepts and refuses what it should, and upstream's CRD drops the extension fields": [
    90 * second,
    run,
  ],
});

async function run(context: CaseContext): Promise<Figures> {
  const { namespace } = context;
  const { admin } = await context.cluster("worker-2");
  await applyCrd(admin, crdFile);
  context.cleanup(() => admin.remove(crdPath));
  await createNamespace(admin, namespace);
  const counts = { accepted: 0, bySchema: 0, byRule: 0 };
  for (const one of crdCases) {
    const { code, body } = await send(admin, namespace, one);
    const text = `${one.name}: ${code} ${JSON.stringify(body)}`;
    if (one.refusedBy === undefined) {
      assert.ok(code === 200 || code === 201, text);
      // Nothing that was sent is missing.
      assert.deepEqual(body.spec, plain(one.object.spec), text);
      assert.deepEqual(body.status, plain(one.object.status), text);
      counts.accepted++;
      continue;
    }
    assert.equal(code, 422, text);
    assert.equal(isByRule(body), one.refusedBy === "rule", text);
    counts[one.refusedBy === "rule" ? "byRule" : "bySchema"]++;
  }
  return { ...counts, droppedFields: await dropped(context, admin) };
}

/**
 * Sends the object with dryRun=All. Only the status subresource looks at a status, and it needs an object that exists.
 */
async function send(admin: AdminClient, namespace: string, { object }: CrdCase): Promise<AdminResponse<Answer>> {
  const resource = `/apis/podseidon.kubewharf.io/v1alpha1/namespaces/${namespace}/podprotectors`;
  const query = { dryRun: "All", fieldValidation: "Strict" };
  const metadata = { ...object.metadata, namespace };
  if (object.status === undefined) return admin.request("POST", resource, { body: { ...object, metadata }, query });
  const withoutStatus = { ...object, metadata, status: undefined };
  const { metadata: stored } = await admin.create(resource, withoutStatus);
  const item = `${resource}/${stored.name}`;
  const body = { ...object, metadata: { ...metadata, resourceVersion: stored.resourceVersion } };
  // Without strict field validation: upstream's CRD must get the chance to drop what it does not know.
  const answer = await admin.request<Answer>("PUT", `${item}/status`, { body, query: { dryRun: "All" } });
  await admin.remove(item);
  return answer;
}

function isByRule({ message }: Answer): boolean {
  return ruleMessages.some((text) => message?.includes(text));
}

/** As it travels: without fields that are undefined. */
function plain(value: unknown): unknown {
  return value === undefined ? undefined : JSON.parse(JSON.stringify(value));
}

/** Resolves to the number of extension fields that upstream's CRD drops from a status with all of them. */
async function dropped({ namespace }: CaseContext, admin: AdminClient): Promise<number> {
  const extended = present(crdCases.find(({ name }) => name === "a status with all extension fields"));
  const sent = leaves(plain(extended.object.status));
  const kept = async (): Promise<readonly string[]> => leaves((await send(admin, namespace, extended)).body.status);
  assert.deepEqual(await kept(), sent);
  await applyCrd(admin, upstreamCrdFile);
  await waitFor("upstream's CRD drops fields", changeLimitMs, async () => (await kept()).length < sent.length);
  const left = await kept();
  const extension = new RegExp(
    String.raw`(^|\.)(resourceVersion|countedAt|recountedAt|countedSpec|(pod|eviction)ResourceVersion|podUIDDigests|` +
      String.raw`initializedReplicas|aggregatedInitialized|promised|disruptionsAllowed|countedCells)$|^conditions`,
  );
  assert.deepEqual(
    left,
    sent.filter((field) => !extension.test(field)),
  );
  const fromGo = present(crdCases.find(({ name }) => name === "the status of Go components"));
  assert.deepEqual((await send(admin, namespace, fromGo)).body.status, plain(fromGo.object.status));
  await applyCrd(admin, crdFile);
  await waitFor("our CRD keeps all fields again", changeLimitMs, async () => (await kept()).length === sent.length);
  return sent.length - left.length;
}

/** Paths of all values, such as "cells.0.aggregation.countedAt", in order. */
function leaves(value: unknown, prefix = ""): readonly string[] {
  if (typeof value !== "object" || value === null) return [prefix];
  return Object.entries(value)
    .flatMap(([key, inner]) => leaves(inner, prefix === "" ? key : `${prefix}.${key}`))
    .toSorted();
}
