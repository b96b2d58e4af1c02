import assert from "node:assert/strict";
import { test } from "node:test";
import { digestOfUID, packDigests } from "../../../../src/accounting/history/uid-digest.ts";
import { glanceAt } from "../../../../src/accounting/silence/glance.ts";
import { type CellLease, cellLeaseLabels } from "../../../../src/api/cell-lease.ts";
import { annotations, finalizer, sourceLabels } from "../../../../src/api/v1alpha1/names.ts";
import { type Bucket } from "../../../../src/api/v1alpha1/pod-protector.ts";
import { type FleetCells, gateFaultOf, listCells } from "../../../../src/commands/fleet/cells.ts";
import { readHeldChanges } from "../../../../src/commands/fleet/held-changes.ts";
import { lookAt } from "../../../../src/commands/fleet/look.ts";
import { listProtectors, openPromises } from "../../../../src/commands/fleet/protectors.ts";
import { differingVersions, listReplicas } from "../../../../src/commands/fleet/replicas.ts";
import { isWrong, type Standing, standingOf } from "../../../../src/commands/fleet/standing.ts";
import { encodeLatches, latchesKey } from "../../../../src/generator/mass-changes/latches.ts";
import { generatorStateName } from "../../../../src/kube/generator-state.ts";
import { type EpochMicros } from "../../../../src/util/clock.ts";
import { builtInResources, builtInResources as types, type JsonObject } from "../../../double/index.ts";
import { lease } from "../../accounting/silence/lease-lists.ts";
import {
  ago,
  createCellLease,
  somebodyIsHeard,
  createFleet,
  createProtector,
  createRefusal,
  type Fleet,
  forbid,
  type ProtectorFields,
  systemNamespace,
} from "../support/fleet.ts";

test("cells are listed by name with when they were heard, and the generator beside them", async () => {
  const { core, clock, stop } = await createFleet();
  await createCellLease(core, clock, "w2", { agoMs: 1_000 });
  await createCellLease(core, clock, "w1", { agoMs: 200_000 });
  await createCellLease(core, clock, undefined, { agoMs: 3_000 });
  // A copy that somebody made is no heartbeat.
  const labels = { [cellLeaseLabels.heartbeat]: "cell", [cellLeaseLabels.cell]: "w3" };
  await core.create(builtInResources.leases, systemNamespace, {
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: { name: "copy", labels },
  });
  const now = (): ReturnType<typeof clock.epochMicros> => clock.epochMicros();
  const { cells, observer } = await listCells(core.client, systemNamespace, now, stop.signal);
  assert.deepEqual(
    [...cells.values()].map(({ cellID, glance }) => [cellID, glance.heardAgoMs, glance.silentForMs]),
    [
      ["w1", 200_000, 200_000],
      ["w2", 1_000, undefined],
    ],
  );
  assert.deepEqual([observer?.lease.holderIdentity, observer?.glance.heardAgoMs], ["generator-1", 3_000]);
  assert.deepEqual((await listCells(core.client, "default", now, stop.signal)).observer, undefined);
});

test("each fault of a gate says what becomes of deletions, and none says nothing", () => {
  const texts = ["missing", "unreachable", "other-cell w7", "strange"].map((gate) => gateFaultOf({ gate }));
  assert.deepEqual(
    texts.map((fault) => fault?.state),
    ["gate missing", "gate unreachable", "gate wrong", "gate wrong"],
  );
  assert.match(texts[0]?.remark ?? "", /any pod can be deleted/);
  assert.match(texts[1]?.remark ?? "", /deletions of pods are refused/);
  assert.match(texts[2]?.remark ?? "", /for another cell: w7/);
  // As aggregators write it.
  assert.match(
    gateFaultOf({ gate: "other-cell" })?.remark ?? "",
    /another cell: see the end of the URL in its webhook/,
  );
  assert.equal(gateFaultOf({ gate: undefined }), undefined);
});

test("held causes, approvals that still hold, and what was let go are read from the ConfigMap", async () => {
  const { core, clock, stop } = await createFleet();
  const now = clock.epochMicros();
  const [before, after] = [(now - 1_000_000) as EpochMicros, (now + 1_000_000) as EpochMicros];
  const approvals = [
    { cause: "a", at: before, until: after, text: "{}" },
    { cause: "b", at: before, until: before, text: "{}" },
  ];
  await core.create(builtInResources.configMaps, systemNamespace, {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: generatorStateName, annotations: { [annotations.approve]: "text" } },
    data: { [latchesKey]: encodeLatches({ latched: new Map([["c", before]]), approvals }), "uid.1": "why", other: "" },
  });
  const read = await readHeldChanges(core.client, systemNamespace, () => now, stop.signal);
  assert.deepEqual(read.held, [{ cause: "c", since: before }]);
  assert.deepEqual(
    read.approved.map(({ cause }) => cause),
    ["a"],
  );
  assert.deepEqual([read.approval, read.letGo], ["text", [{ uid: "1", note: "why" }]]);
});

test("a ConfigMap that does not exist holds nothing", async () => {
  const { core, clock, stop } = await createFleet();
  const read = await readHeldChanges(core.client, systemNamespace, () => clock.epochMicros(), stop.signal);
  assert.deepEqual([read.held, read.approved, read.approval, read.letGo], [[], [], undefined, []]);
});

/** A fleet whose generator was heard so long ago, and one of whose two Deployments is being deleted. */
async function fleetWithout(generatorHeardAgoMs: number): Promise<Fleet> {
  const fleet = await createFleet();
  await createCellLease(fleet.core, fleet.clock, undefined, { agoMs: generatorHeardAgoMs });
  await somebodyIsHeard(fleet.core, fleet.clock);
  for (const name of ["web", "api"]) {
    const spec = { selector: { matchLabels: { app: name } }, template: { metadata: { labels: { app: name } } } };
    const metadata = { name, finalizers: [finalizer] };
    await fleet.core.create(types.deployments, "shop", { apiVersion: "apps/v1", kind: "Deployment", metadata, spec });
    await createProtector(fleet.core, `deployment-${name}`, {
      metadata: {
        labels: {
          [sourceLabels.kind]: "Deployment",
          [sourceLabels.group]: "apps",
          [sourceLabels.resource]: "deployments",
        },
        ownerReferences: [{ apiVersion: "apps/v1", kind: "Deployment", name, uid: "u" }],
      },
    });
  }
  await fleet.core.client.request({ method: "DELETE", path: "/apis/apps/v1/namespaces/shop/deployments/web" });
  fleet.core.client.log = [];
  return fleet;
}

const waits = /waiting {4}Deployment shop\/web is being deleted for .* s, and stays until a\s+generator leads/;

test("status names what is being deleted while no generator leads", async () => {
  const fleet = await fleetWithout(90_000);
  const { stdout, exitCode } = await fleet.run("status");
  assert.match(stdout, waits);
  assert.doesNotMatch(stdout, /shop\/api is being deleted/);
  assert.equal(exitCode, 1);
  const json = JSON.parse((await fleet.run("status", "-o", "json")).stdout);
  assert.deepEqual(
    json.cores[0].waitingForGenerator.map(({ kind, name }: Record<string, string>) => [kind, name]),
    [["Deployment", "web"]],
  );
});

test("while one leads workloads are not even read", async () => {
  const fleet = await fleetWithout(5_000);
  const { stdout } = await fleet.run("status");
  assert.doesNotMatch(stdout, /is being deleted/);
  assert.deepEqual(
    fleet.core.client.log.filter((line) => line === "GET /apis/apps/v1/deployments"),
    [],
  );
});

test("check names it, with the command that takes the finalizer off", async () => {
  const fleet = await fleetWithout(90_000);
  const { stdout } = await fleet.run("check", "-o", "json");
  const groups = JSON.stringify(JSON.parse(stdout));
  assert.match(groups, /1 workload being deleted until a generator leads: Deployment shop\/web/);
  assert.match(groups, /kubectl -n shop patch deployments\.apps web --type=json/);
});

const look = ({ core, clock, stop }: Fleet) =>
  lookAt({
    core: "core",
    client: core.client,
    namespace: undefined,
    leaseNamespace: systemNamespace,
    clock,
    signal: stop.signal,
  });

test("one look has everything, and an invalid PodProtector among it", async () => {
  const fleet = await createFleet();
  await createCellLease(fleet.core, fleet.clock, "w1");
  await createProtector(fleet.core, "web", { cells: [{ cellID: "w1", available: 2 }] });
  await createProtector(fleet.core, "twice", {
    cells: [
      { cellID: "w1", available: 2 },
      { cellID: "w1", available: 2 },
    ],
  });
  const uid = "11111111-2222-3333-4444-555555555555";
  await createRefusal(fleet, { name: "gone", uid, count: 1, agoMs: 0, reason: "PodProtectorLost", message: "gone" });
  const { protectors, cells, held, events, replicas, tombstones, unread } = await look(fleet);
  assert.deepEqual(
    protectors?.standings.map(({ name, available }) => [name, available]),
    [["web", 2]],
  );
  assert.deepEqual(protectors?.unusable, [
    { namespace: "shop", name: "twice", reason: 'status: the cell "w1" is there twice' },
  ]);
  assert.deepEqual([...(cells?.cells.keys() ?? [])], ["w1"]);
  assert.deepEqual([held?.held, events?.length, replicas, unread], [[], 1, [], []]);
  assert.deepEqual(
    tombstones.map((one) => one.uid),
    [uid],
  );
});

test("what may not be read is left out with a line, except Deployments, which need not be there", async () => {
  const fleet = await createFleet();
  await createProtector(fleet.core, "web", { cells: [{ cellID: "w1", available: 2 }] });
  forbid(fleet.core, /leases|configmaps|deployments|events/);
  const { protectors, cells, held, events, replicas, unread } = await look(fleet);
  assert.equal(protectors?.standings.length, 1);
  assert.deepEqual([cells, held, events, replicas], [undefined, undefined, undefined, undefined]);
  assert.equal(unread.length, 3);
});

test("PodProtectors are listed in pages, and invalid ones are told from valid ones", async () => {
  const { core, stop } = await createFleet();
  for (let index = 0; index < 251; index++) await createProtector(core, `web-${index}`);
  await core.create(core.protectors, "shop", {
    apiVersion: "podseidon.kubewharf.io/v1alpha1",
    kind: "PodProtector",
    metadata: { name: "bad" },
    spec: { minAvailable: "many" },
  });
  core.client.log = [];
  const { valid, invalid } = await listProtectors(core.client, undefined, stop.signal);
  assert.equal(valid.length, 251);
  assert.deepEqual(
    invalid.map(({ namespace, name }) => [namespace, name]),
    [["shop", "bad"]],
  );
  assert.match(invalid[0]?.reason ?? "", /^spec\.minAvailable: /);
  assert.equal(core.client.count(/podprotectors/), 2);
  assert.deepEqual(await listProtectors(core.client, "default", stop.signal), { valid: [], invalid: [] });
});

const now = (Date.UTC(2026, 0, 1, 0, 1) * 1000) as EpochMicros;
const time = (second: number): string => `2026-01-01T00:00:${String(second).padStart(2, "0")}.000000Z`;

test("open promises of every kind are told, the oldest first", () => {
  const buckets = [
    { startTime: time(50), podUID: "a", podName: "web-a", podResourceVersion: "7" },
    { startTime: time(40), podUID: "b" },
    { startTime: time(30), podUIDDigests: packDigests([digestOfUID("c")]), counter: 1, podResourceVersion: "7" },
    { startTime: time(20), counter: 3 },
    { startTime: "", podUID: "d" },
  ] as unknown as readonly Bucket[];
  const promises = openPromises([{ cellID: "w1", admissionHistory: { buckets } }, { cellID: "w2" }], now);
  assert.deepEqual(
    promises.map(({ kind, podUID, podName, podUIDDigests, weight, ageMs }) => [
      kind,
      podUID ?? podUIDDigests[0],
      podName,
      weight,
      ageMs,
    ]),
    [
      ["unknown", undefined, undefined, 3, 40_000],
      ["packed", digestOfUID("c"), undefined, 1, 30_000],
      ["eviction", "b", undefined, 1, 20_000],
      ["delete", "a", "web-a", 1, 10_000],
      ["eviction", "d", undefined, 1, undefined],
    ],
  );
});

test("replicas are those of the Deployments with the labels of the manifests", async () => {
  const { core, stop } = await createFleet();
  const { deployments } = builtInResources;
  const create = async (name: string, labels: JsonObject, ready: number): Promise<void> => {
    const created = await core.create(deployments, systemNamespace, {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name, labels },
      spec: { replicas: 3, selector: { matchLabels: { a: name } }, template: { metadata: { labels: { a: name } } } },
    });
    const body = { ...created, status: { readyReplicas: ready } };
    await core.engine.update(deployments, systemNamespace, name, body, { subresource: "status" });
  };
  const ours = { "app.kubernetes.io/name": "podseidon" };
  await create("webhook", { ...ours, "app.kubernetes.io/component": "webhook" }, 2);
  await create("other", {}, 3);
  await create("unlabelled", ours, 3);
  assert.deepEqual(await listReplicas(core.client, systemNamespace, stop.signal), [
    { name: "webhook", component: "webhook", ready: 2, wanted: 3 },
  ]);
});

const seen = (one: CellLease) => ({ lease: one, glance: glanceAt(one, 0 as EpochMicros) });

/** `cells`: cell to version. */
function fleet(generator: string | undefined, cells: Readonly<Record<string, string | undefined>>): FleetCells {
  const all = Object.entries(cells).map(([cellID, productVersion]) => {
    return [cellID, { cellID, ...seen(lease(cellID, "1", { productVersion })) }] as const;
  });
  return {
    cells: new Map(all),
    observer: generator === undefined ? undefined : seen(lease(undefined, "1", { productVersion: generator })),
  };
}

test("roles of one release have nothing to say, nor has one that tells no release", () => {
  assert.equal(differingVersions(fleet("2", { a: "2", b: "2" })), undefined);
  assert.equal(differingVersions(fleet("2", { a: "2", b: undefined })), undefined);
  assert.equal(differingVersions(fleet(undefined, { a: "1" })), undefined);
  assert.equal(differingVersions(fleet("1", {})), undefined);
});

test("the generator and the aggregators of each release are named where they differ", () => {
  assert.equal(
    differingVersions(fleet("2 (b)", { a: "1 (a)", b: "2 (b)", c: "1 (a)" })),
    "generator 2 (b), aggregators of a, c 1 (a), aggregator of b 2 (b)",
  );
  assert.equal(differingVersions(fleet(undefined, { a: "1", b: "2" })), "aggregator of a 1, aggregator of b 2");
});

test("of many cells of one release the first few are named", () => {
  const cells = Object.fromEntries(Array.from({ length: 8 }, (_, index) => [`c${index}`, "1"]));
  assert.equal(differingVersions(fleet("2", cells)), "generator 2, aggregators of c0, c1, c2, c3, c4 and 3 more 1");
});

async function standing(fields: ProtectorFields): Promise<Standing> {
  const { core, clock, stop } = await createFleet();
  await createCellLease(core, clock, "w1");
  await createCellLease(core, clock, "w2", { agoMs: 240_000 });
  await createProtector(core, "web", fields);
  const { valid } = await listProtectors(core.client, undefined, stop.signal);
  const cells = await listCells(core.client, systemNamespace, () => clock.epochMicros(), stop.signal);
  const read = standingOf(valid[0]!, cells);
  assert(read.ok);
  return read.standing;
}

const bucket = { startTime: "2026-01-01T00:00:00.000000Z", podUID: "x" } as never;

test("the four numbers are those that a webhook judges by", async () => {
  const { mustStay, available, promised, free, states } = await standing({
    minAvailable: 4,
    cells: [{ cellID: "w1", available: 7, buckets: [bucket] }],
  });
  assert.deepEqual([mustStay, available, promised, free, states], [4, 7, 1, 2, ["ok"]]);
});

test("the states are told, the worst first", async () => {
  const cell = (available: number) => ({ cellID: "w1", available });
  const silent = { cellID: "w2", available: 3 };
  const cases: readonly (readonly [ProtectorFields, readonly string[]])[] = [
    [{ minAvailable: 4, cells: [cell(3)] }, ["below floor"]],
    [{ minAvailable: 4, cells: [cell(4)] }, ["at floor"]],
    [{ minAvailable: 0, cells: [cell(0)] }, ["ok"]],
    // With what the silent cell had last there would be enough.
    [{ minAvailable: 5, cells: [cell(3), silent] }, ["cell silent"]],
    [{ minAvailable: 7, cells: [cell(3), silent] }, ["below floor", "cell silent"]],
    [{ minAvailable: 1, cells: [] }, ["below floor", "not counted"]],
    [{ minAvailable: 1, cells: [cell(3), { cellID: "w3" }] }, ["not counted"]],
    [{ cells: [cell(9)], conditions: [{ type: "Dangling" }, { type: "Undrainable" }] }, ["dangling", "undrainable"]],
    [{ cells: [cell(9)], conditions: [{ type: "ChangeHeld", status: "False" }] }, ["ok"]],
    [{ cells: [cell(9), silent], conditions: [{ type: "Implausible" }] }, ["implausible", "cell silent"]],
    [{ minAvailable: 0, cells: [cell(1)], conditions: [{ type: "Unprotected" }] }, ["unprotected"]],
    [{ cells: [cell(9)], metadata: { annotations: { [annotations.mode]: "shadow" } } }, ["shadow"]],
    [{ cells: [cell(9)], metadata: { annotations: { [annotations.released]: "true" } } }, ["released"]],
  ];
  for (const [fields, expected] of cases) {
    assert.deepEqual((await standing(fields)).states, expected, JSON.stringify(fields));
  }
  assert.deepEqual((["cell silent", "undrainable", "at floor", "dangling"] as const).map(isWrong), [
    true,
    false,
    false,
    true,
  ]);
});

test("a status that webhooks cannot use is told with the reason", async () => {
  const { core, stop } = await createFleet();
  await createProtector(core, "web", {
    cells: [
      { cellID: "w1", available: 1 },
      { cellID: "w1", available: 1 },
    ],
  });
  const { valid } = await listProtectors(core.client, undefined, stop.signal);
  assert.deepEqual(standingOf(valid[0]!, undefined), { ok: false, reason: 'status: the cell "w1" is there twice' });
});

test("without the Leases all counts are in force", async () => {
  const { core, clock, stop } = await createFleet();
  await createCellLease(core, clock, "w2", { agoMs: 240_000 });
  await createProtector(core, "web", { cells: [{ cellID: "w2", available: 3, countedAt: ago(clock, 1_000) }] });
  const { valid } = await listProtectors(core.client, undefined, stop.signal);
  const read = standingOf(valid[0]!, undefined);
  assert(read.ok);
  assert.equal(read.standing.available, 3);
});

test("cells are told by their names, in whatever order they were first counted", async () => {
  const { figures } = await standing({
    cells: [
      { cellID: "w9", available: 3 },
      { cellID: "w1", available: 3 },
    ],
  });
  assert.deepEqual(
    figures.cells.map(({ cellID }) => cellID),
    ["w1", "w9"],
  );
});
