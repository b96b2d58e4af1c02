import assert from "node:assert/strict";
import { test } from "node:test";
import {
  aggregatorRights,
  cellRights,
  coreRights,
  listAccounts,
  type NeededRight,
  reviewRights,
  webhookWorkerRights,
} from "../../../../../src/commands/check/readers/account-rights.ts";
import { render } from "../../../../manifests/manifest-files.ts";
import { resourceName, rightsIn } from "../../../../manifests/rights/rights.ts";
import { createScriptedKubeClient } from "../../../kube/scripted-kube-client.ts";

const system = "podseidon-system";
const signal = new AbortController().signal;

/** One text for each verb, so that rules may be cut differently. */
function textsOf(account: string, rights: readonly NeededRight[]): readonly string[] {
  return rights
    .flatMap(({ verbs, group, resource, namespace = "*", name = "*" }) =>
      verbs.map((verb) => `${account} @ ${namespace}: ${verb} ${resourceName(group, resource)} ${name}`),
    )
    .map((text) => text.replace(" @ kube-system: get namespaces", " @ *: get namespaces"))
    .toSorted();
}

function manifestTexts(overlay: string, account: string): readonly string[] {
  return rightsIn(render(overlay))
    .filter((right) => right.account === account)
    .flatMap(({ namespace = "*", verbs, resource, names = ["*"] }) =>
      verbs.flatMap((verb) => names.map((name) => `${account} @ ${namespace}: ${verb} ${resource} ${name}`)),
    )
    .toSorted();
}

test("the generator and the webhook are asked for exactly the rights of the manifests", () => {
  for (const [account, rights] of coreRights(system))
    assert.deepEqual(textsOf(account, rights), manifestTexts("overlays/core", account));
  assert.deepEqual(
    textsOf("podseidon-webhook", webhookWorkerRights),
    manifestTexts("overlays/worker", "podseidon-webhook"),
  );
});

test("the aggregator is asked for exactly the rights of the manifests, in the core and in its worker", () => {
  const account = "podseidon-aggregator-worker-1";
  assert.deepEqual(textsOf(account, cellRights(system, "worker-1")), manifestTexts("overlays/core", account));
  const dummyPod = { namespace: "podseidon-update-trigger", name: "podseidon-update-trigger" };
  const setting = { election: "podseidon-aggregator", dummyPod, target: undefined };
  const own = "podseidon-aggregator";
  assert.deepEqual(textsOf(own, aggregatorRights(system, setting)), manifestTexts("overlays/worker", own));
});

test("an aggregator of one namespace is asked for no right outside of it but to its Leases and Events", () => {
  const account = "podseidon-aggregator-team-a";
  const dummyPod = { namespace: "team-a", name: "podseidon-update-trigger" };
  const setting = { election: account, dummyPod, target: "team-a" };
  const rights = [...aggregatorRights(system, setting), ...cellRights(system, "team-a", "team-a")];
  const expected = manifestTexts("overlays/namespace-cells", account).map((text) =>
    text.replace(" @ kube-system: get namespaces", " @ *: get namespaces"),
  );
  assert.deepEqual(new Set(textsOf(account, rights)), new Set(expected));
});

test("each verb is asked about for the account and its groups", async () => {
  const client = createScriptedKubeClient();
  client.onRequest = ({ body }) => {
    const { spec } = body as { spec: { resourceAttributes: { verb: string } } };
    return { status: { allowed: spec.resourceAttributes.verb !== "watch" } };
  };
  const needed = new Map([
    ["a", [{ verbs: ["get", "watch"], group: "g", resource: "pods/status", namespace: "n", name: "x" }]],
  ]);
  assert.deepEqual(await reviewRights(client, system, needed, signal), [
    { account: "a", right: "get pods/status.g x in n", isGranted: true },
    { account: "a", right: "watch pods/status.g x in n", isGranted: false },
  ]);
  const [first] = client.requests;
  assert.equal(first?.path, "/apis/authorization.k8s.io/v1/subjectaccessreviews");
  const { spec } = (first?.body ?? {}) as { spec?: object };
  assert.deepEqual(spec, {
    user: "system:serviceaccount:podseidon-system:a",
    groups: ["system:serviceaccounts", "system:serviceaccounts:podseidon-system", "system:authenticated"],
    resourceAttributes: { verb: "get", group: "g", resource: "pods", subresource: "status", namespace: "n", name: "x" },
  });
});

test("accounts are those of the namespace", async () => {
  const client = createScriptedKubeClient();
  client.onRequest = () => ({ metadata: { resourceVersion: "1" }, items: [{ metadata: { name: "a" } }] });
  assert.deepEqual([...(await listAccounts(client, system, signal))], ["a"]);
});
