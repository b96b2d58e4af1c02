import assert from "node:assert/strict";
import { test } from "node:test";
import { cellLeaseLabels, cellLeaseName, observerLeaseName } from "../../../../../src/api/cell-lease.ts";
import { parseTime } from "../../../../../src/api/micro-time.ts";
import {
  aggregatorRights,
  cellRights,
  coreRights,
  listAccounts,
  type NeededRight,
  reviewRights,
  webhookWorkerRights,
} from "../../../../../src/commands/check/readers/account-rights.ts";
import { readCore } from "../../../../../src/commands/check/readers/core.ts";
import { readGreeting, readInTime } from "../../../../../src/commands/check/readers/deadline.ts";
import { listHeartbeats, readDeployments, readLease } from "../../../../../src/commands/check/readers/leases.ts";
import { KubeError } from "../../../../../src/kube/kube-client.ts";
import { leases } from "../../../../../src/kube/resources.ts";
import { type EpochMicros } from "../../../../../src/util/clock.ts";
import { builtInResources as types } from "../../../../double/index.ts";
import { render } from "../../../../manifests/manifest-files.ts";
import { resourceName, rightsIn } from "../../../../manifests/rights/rights.ts";
import { createVirtualClock } from "../../../../support/virtual-clock.ts";
import { createScriptedKubeClient } from "../../../kube/scripted-kube-client.ts";
import {
  ago,
  createCellLease,
  createFleet,
  createProtector,
  type Fleet,
  forbid,
  systemNamespace,
} from "../../support/fleet.ts";

async function readFacts({ core, clock, stop }: Fleet) {
  return readCore("tokyo", core.client, systemNamespace, { clock, signal: stop.signal });
}

test("a core is read whole: its CRD, objects, Leases, Events and modes", async () => {
  const fleet = await createFleet();
  const { core, clock } = fleet;
  await createCellLease(core, clock, "worker-1");
  await createProtector(core, "api");
  const namespace = { apiVersion: "v1", kind: "Namespace" };
  const mode = (value: string) => ({ "podseidon.kubewharf.io/mode": value });
  await core.create(types.namespaces, undefined, { ...namespace, metadata: { name: "lab", labels: mode("shadow") } });
  await core.create(types.namespaces, undefined, { ...namespace, metadata: { name: "own", labels: mode("enforced") } });
  const event = (name: string, reason: string) => ({
    apiVersion: "v1",
    kind: "Event",
    metadata: { name },
    involvedObject: { kind: "Deployment", name: "podseidon-webhook", namespace: systemNamespace },
    reason,
    message: "it expires",
    lastTimestamp: ago(clock, 1_000),
  });
  // Each replica says it.
  for (const name of ["a", "b"])
    await core.create(types.events, systemNamespace, event(name, "CertificateExpiresSoon"));
  await core.create(types.events, systemNamespace, event("c", "ScalingReplicaSet"));
  const facts = await readFacts(fleet);
  assert.equal(facts.name, "tokyo");
  assert.ok(facts.definition.ok && facts.definition.value !== undefined);
  assert.ok(facts.protectors.ok);
  assert.deepEqual(
    facts.protectors.value.valid.map(({ key }) => key),
    ["shop/api"],
  );
  assert.ok(facts.heartbeats.ok && facts.heartbeats.value.cells[0]?.cellID === "worker-1");
  assert.deepEqual(facts.generator, { ok: true, value: undefined });
  assert.ok(facts.generatorState.ok && facts.generatorState.value.releases.length === 0);
  assert.ok(facts.certificateEvents.ok && facts.certificateEvents.value.length === 1);
  assert.ok(facts.modes.ok);
  assert.deepEqual([...facts.modes.value], [["shadow", ["lab"]]]);
  assert.equal(clock.pendingTimers, 0);
});

test("what may not be read is said one by one, and the rest is read", async () => {
  const fleet = await createFleet();
  forbid(fleet.core, /leases|customresourcedefinitions/);
  const facts = await readFacts(fleet);
  assert.deepEqual([facts.heartbeats.ok, facts.generator.ok, facts.definition.ok], [false, false, false]);
  assert.deepEqual([facts.protectors.ok, facts.deployments.ok, facts.modes.ok], [true, true, true]);
});

test("a CRD that is gone is no failure of reading", async () => {
  const fleet = await createFleet();
  await fleet.core.engine.delete(types.customResourceDefinitions, undefined, "podprotectors.podseidon.kubewharf.io");
  const { definition, protectors } = await readFacts(fleet);
  assert.deepEqual(definition, { ok: true, value: undefined });
  assert.equal(protectors.ok, false);
});

test("each account that is there is asked about, with the aggregators of the cells that beat", async () => {
  const fleet = await createFleet();
  const { core, clock } = fleet;
  await createCellLease(core, clock, "own");
  await createCellLease(core, clock, "shared");
  const request = core.client.request.bind(core.client);
  const names = ["podseidon-webhook", "podseidon-aggregator-own", "podseidon-aggregator", "default"];
  core.client.request = async (asked) => {
    if (asked.path.endsWith("/serviceaccounts"))
      return { metadata: { resourceVersion: "1" }, items: names.map((name) => ({ metadata: { name } })) };
    return asked.path.endsWith("/subjectaccessreviews") ? { status: { allowed: true } } : request(asked);
  };
  const { rights } = await readFacts(fleet);
  assert.ok(rights.ok);
  const accounts = new Set(rights.value.map(({ account }) => account));
  assert.deepEqual([...accounts], ["podseidon-webhook", "podseidon-aggregator-own", "podseidon-aggregator"]);
});

test("what the core publishes for caBundle is read; without a ConfigMap, or in an empty one, nothing", async () => {
  const fleet = await createFleet();
  const publish = (data: Readonly<Record<string, string>>) =>
    fleet.core.engine.update(types.configMaps, systemNamespace, "podseidon-webhook-ca", {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "podseidon-webhook-ca" },
      data,
    });
  assert.deepEqual((await readFacts(fleet)).published, { ok: true, value: undefined });
  const metadata = { name: "podseidon-webhook-ca" };
  await fleet.core.create(types.configMaps, systemNamespace, { apiVersion: "v1", kind: "ConfigMap", metadata });
  assert.deepEqual((await readFacts(fleet)).published, { ok: true, value: undefined });
  await publish({ "ca.crt": "PEM" });
  assert.deepEqual((await readFacts(fleet)).published, { ok: true, value: "PEM" });
});

const access = { cluster: "core", verb: "list", resource: leases, namespace: "podseidon-system" } as const;
const signal = new AbortController().signal;

test("a read that is answered gives its value, and leaves no timer", async () => {
  const clock = createVirtualClock();
  assert.deepEqual(await readInTime(access, { clock, signal }, async () => 1), { ok: true, value: 1 });
  assert.equal(clock.pendingTimers, 0);
});

test("a read without an answer ends at its deadline, and says so", async () => {
  const clock = createVirtualClock();
  const pending = readInTime(access, { clock, signal }, (own) => {
    return new Promise((_, reject) => own.addEventListener("abort", () => reject(new KubeError("aborted", "aborted"))));
  });
  await clock.advance(2_000);
  assert.deepEqual(await pending, { ok: false, why: "core gave no answer within 2 s" });
});

test("a right that is missing is named", async () => {
  const read = await readInTime(access, { clock: createVirtualClock(), signal }, async () => {
    throw new KubeError("forbidden", "no");
  });
  const why = read.ok ? "" : read.why;
  assert.match(why, /^core: you may not list leases\.coordination\.k8s\.io in namespace podseidon-system; /);
  assert.match(why, /ask for the role podseidon-check$/);
});

test("the server's time, in whole seconds, is compared with the middle of the request", async () => {
  const [client, clock] = [createScriptedKubeClient(), createVirtualClock()];
  const started = clock.epochMicros();
  client.onRequest = async ({ onServerTime }) => {
    await clock.advance(1_000);
    onServerTime?.((started + 60_000_000) as EpochMicros);
    return {};
  };
  const { clock: read, answers } = await readGreeting(client, { clock, signal });
  assert.equal(answers.ok, true);
  assert.deepEqual(read, { ok: true, value: { server: started + 60_500_000, own: started + 500_000 } });
});

test("an answer without a time tells nothing", async () => {
  const [client, clock] = [createScriptedKubeClient(), createVirtualClock()];
  client.onRequest = () => ({});
  const { answers, clock: read } = await readGreeting(client, { clock, signal });
  assert.deepEqual([answers.ok, read], [true, { ok: false, why: "its answers have no time" }]);
  assert.equal(clock.pendingTimers, 0);
});

test("a server that does not answer has no clock, for the same reason", async () => {
  const [client, clock] = [createScriptedKubeClient(), createVirtualClock()];
  client.onRequest = () => {
    throw new KubeError("network", "GET /version: connect ECONNREFUSED");
  };
  const { answers, clock: read } = await readGreeting(client, { clock, signal });
  assert.equal(answers.ok, false);
  assert.deepEqual(read, answers);
});

const renewTime = "2026-01-01T00:05:00.000000Z";
const managed = (time: string, fields: object): object => ({ time, fieldsV1: { "f:spec": fields } });
const lease = (name: string, labels: object, managedFields: readonly object[] = []): object => ({
  metadata: { name, resourceVersion: "1", labels, managedFields },
  spec: { holderIdentity: "h", renewTime },
});

test("heartbeats are read with both clocks of the renewal, and the generator's apart from the cells'", async () => {
  const client = createScriptedKubeClient();
  const cell = (id: string, fields: readonly object[] = []): object =>
    lease(cellLeaseName(id), { [cellLeaseLabels.heartbeat]: "cell", [cellLeaseLabels.cell]: id }, fields);
  const fields = [
    managed("2026-01-01T00:00:00Z", { "f:renewTime": {} }),
    managed("2026-01-01T00:00:02Z", { "f:renewTime": {} }),
    managed("2026-01-01T00:09:00Z", { "f:holderIdentity": {} }),
  ];
  const items = [cell("b"), cell("a", fields), lease(observerLeaseName, { [cellLeaseLabels.heartbeat]: "observer" })];
  client.onRequest = () => ({ metadata: { resourceVersion: "1" }, items });
  const { cells, observer } = await listHeartbeats(client, "podseidon-system", signal);
  assert.deepEqual(
    cells.map(({ cellID }) => cellID),
    ["a", "b"],
  );
  assert.equal(cells[0]?.renewedAt, parseTime(renewTime));
  assert.equal(cells[0]?.writtenAt, parseTime("2026-01-01T00:00:02Z"));
  assert.equal(cells[1]?.writtenAt, undefined);
  assert.equal(observer?.holder, "h");
});

test("a Lease that is not there is none, and one that may not be read is a failure", async () => {
  const client = createScriptedKubeClient();
  const read = () => readLease(client, "n", "podseidon-generator", signal);
  assert.equal(await read(), undefined);
  client.onRequest = () => lease("x", {});
  assert.equal((await read())?.holder, "h");
  client.onRequest = () => {
    throw new KubeError("forbidden", "no");
  };
  await assert.rejects(read, { kind: "forbidden" });
});

test("a Deployment is read with its flags: arguments take precedence, and the last one of a flag counts", async () => {
  const client = createScriptedKubeClient();
  const container = {
    image: "x:1",
    args: ["--role=aggregator", "--aggregator-cell-id=a", "--aggregator-cell-id=b", "--klog-v", "4"],
    env: [
      { name: "PODSEIDON_FLAG_AGGREGATOR_CELL_ID", value: "env" },
      { name: "PODSEIDON_FLAG_UPDATE_TRIGGER_DUMMY_POD_NAME", value: "dummy" },
    ],
  };
  const metadata = { name: "podseidon-aggregator", labels: { "app.kubernetes.io/component": "aggregator" } };
  const spec = { replicas: 2, template: { spec: { serviceAccountName: "account", containers: [container] } } };
  client.onRequest = () => ({
    metadata: { resourceVersion: "1" },
    items: [{ metadata, spec, status: { readyReplicas: 1 } }, { metadata: { name: "other" } }],
  });
  const [found, ...more] = await readDeployments(client, "podseidon-system", signal);
  assert.deepEqual(more, []);
  assert.deepEqual(
    { ...found, flags: Object.fromEntries(found?.flags ?? []) },
    {
      name: "podseidon-aggregator",
      component: "aggregator",
      wanted: 2,
      ready: 1,
      image: "x:1",
      account: "account",
      flags: { role: "aggregator", "aggregator-cell-id": "b", "update-trigger-dummy-pod-name": "dummy" },
    },
  );
  assert.equal(client.requests[0]?.query?.["labelSelector"], "app.kubernetes.io/name=podseidon");
});

const system = "podseidon-system";

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
