/** Answers as tables: what `kubectl get` and `kubectl get -w` ask for. */
import assert from "node:assert/strict";
import { bodies, cellStatus } from "../bodies.ts";
import { theme } from "../case.ts";
import { ok } from "../expect.ts";
import { columnsOf, meta, type Thing, versionOf } from "../thing.ts";

const age = /^\d+s$/;

/** The cells of each row by the names of the columns. */
function rows(table: Thing): readonly Readonly<Record<string, unknown>>[] {
  const headings = (table.columnDefinitions ?? []).map(({ name }) => name);
  return (table.rows ?? []).map(({ cells }) => Object.fromEntries(cells.map((cell, at) => [headings[at] ?? "", cell])));
}

const shape = theme("table", {
  "of a custom resource has the columns of its definition": async (t) => {
    const protectors = (await t.space()).of("podprotectors");
    await protectors.create(bodies.podProtector("a"));
    assert.deepEqual(columnsOf(ok(await protectors.table(""))), [
      "Name string name 0",
      "Must Stay integer 0",
      "Available integer 0",
      "Promised integer 0",
      "Free integer 0",
      "Cells integer 0",
      "State string 0",
      "Total integer 1",
      "Ready integer 1",
      "Lag ms integer 1",
      "Age date 0",
    ]);
    ok(await protectors.merge("a/status", { status: cellStatus("cell") }));
    const [{ Age, ...cells } = {}] = rows(ok(await protectors.table("")));
    assert.match(String(Age), age);
    assert.deepEqual(cells, {
      Name: "a",
      "Must Stay": 1,
      Available: 1,
      Promised: null,
      Free: null,
      Cells: null,
      State: null,
      Total: 1,
      Ready: null,
      "Lag ms": null,
    });
  },
  "has the metadata of its list, page by page": async (t) => {
    const { configMaps } = await t.space();
    for (const name of ["a", "b", "c"]) await configMaps.create(bodies.configMap(name));
    const first = ok(await configMaps.table("", { limit: 2 }));
    assert.equal(first.rows?.length, 2);
    assert.equal(meta(first).remainingItemCount, 1);
    const second = ok(await configMaps.table("", { limit: 2, continue: meta(first).continue! }));
    assert.deepEqual(
      rows(second).map(({ Name }) => Name),
      ["c"],
    );
    assert.equal(versionOf(second), versionOf(first));
  },
  "of one object has one row, and the version of the object": async (t) => {
    const { configMaps } = await t.space();
    const created = await configMaps.create(bodies.configMap("a", { k: "1", l: "2" }));
    const table = ok(await configMaps.table("a"), 200);
    assert.equal(versionOf(table), versionOf(created));
    assert.deepEqual(
      rows(table).map(({ Name, Data }) => [Name, String(Data)]),
      [["a", "2"]],
    );
  },
  "shows the metadata of each object, the whole object or nothing, as the client wants": async (t) => {
    const { configMaps } = await t.space();
    const created = await configMaps.create(bodies.configMap("a", { k: "1" }));
    const objectOf = async (query: { includeObject?: string }): Promise<Thing | null | undefined> =>
      ok(await configMaps.table("", query)).rows?.[0]?.object;
    const partial = await objectOf({});
    assert.deepEqual([partial?.kind, partial?.apiVersion], ["PartialObjectMetadata", "meta.k8s.io/v1"]);
    assert.deepEqual(partial?.metadata, created.metadata);
    assert.deepEqual(await objectOf({ includeObject: "Object" }), created);
    assert.equal((await objectOf({ includeObject: "None" })) ?? null, null);
    assert.equal((await configMaps.table("", { includeObject: "Frob" })).code, 400);
  },
});

const podCells = async (thing: Thing): Promise<unknown> => {
  const [{ Age, ...cells } = {}] = rows(thing);
  assert.match(String(Age), age);
  return cells;
};

const cells = theme("table row", {
  "of a pod tells its state": async (t) => {
    const { pods } = await t.space();
    await pods.create(bodies.pod("a", { nodeName: "node-0" }));
    const none = "<none>";
    const rest = { IP: none, Node: "node-0", "Nominated Node": none, "Readiness Gates": none };
    const row = async (): Promise<unknown> => await podCells(ok(await pods.table("a")));
    assert.deepEqual(await row(), { Name: "a", Ready: "0/1", Status: "Pending", Restarts: "0", ...rest });

    const running = { name: "main", image: "web:1", imageID: "", ready: true, restartCount: 0 };
    const containerStatuses = [{ ...running, state: { running: {} } }];
    ok(await pods.merge("a/status", { status: { phase: "Running", containerStatuses } }));
    assert.deepEqual(await row(), { Name: "a", Ready: "1/1", Status: "Running", Restarts: "0", ...rest });

    const waiting = { ...running, ready: false, state: { waiting: { reason: "CrashLoopBackOff" } } };
    ok(await pods.merge("a/status", { status: { containerStatuses: [waiting] } }));
    assert.deepEqual(await row(), { Name: "a", Ready: "0/1", Status: "CrashLoopBackOff", Restarts: "0", ...rest });

    ok(await pods.delete("a"));
    assert.deepEqual(await row(), { Name: "a", Ready: "0/1", Status: "Terminating", Restarts: "0", ...rest });
  },
  "of an Event tells what happened to what": async (t) => {
    const space = await t.space();
    const events = space.of("events");
    const times = { firstTimestamp: new Date().toISOString(), lastTimestamp: new Date().toISOString(), count: 3 };
    const seconds = Object.fromEntries(
      Object.entries(times).map(([key, value]) => [key, typeof value === "string" ? `${value.slice(0, 19)}Z` : value]),
    );
    const involved = { kind: "PodProtector", name: "web", namespace: space.name };
    await events.create(bodies.event("a", involved, { ...seconds, source: { component: "podseidon" } }));
    const [row = {}] = rows(ok(await events.table("")));
    const { "Last Seen": last, "First Seen": first, ...rest } = row;
    assert.match(String(last), age);
    assert.match(String(first), age);
    assert.deepEqual(rest, {
      Type: "Warning",
      Reason: "Refused",
      Object: "podprotector/web",
      Subobject: "",
      Source: "podseidon",
      Message: "a deletion was refused",
      Count: 3,
      Name: "a",
    });
  },
  "of a Secret counts its entries": async (t) => {
    const secrets = (await t.space()).of("secrets");
    const metadata = { name: "a" };
    await secrets.create({ apiVersion: "v1", kind: "Secret", metadata, type: "Opaque", data: { k: "MQ==" } });
    const [{ Type, Data } = {}] = rows(ok(await secrets.table("")));
    assert.deepEqual([Type, Data], ["Opaque", 1]);
  },
  "of a Deployment counts its pods": async (t) => {
    const deployments = (await t.space()).of("deployments");
    await deployments.create(bodies.deployment("a", { replicas: 3 }));
    const status = { replicas: 3, updatedReplicas: 3, readyReplicas: 2, availableReplicas: 1 };
    ok(await deployments.merge("a/status", { status }));
    const [{ Name, Ready, Available, Containers, Images, Selector, ...row } = {}] = rows(
      ok(await deployments.table("")),
    );
    assert.deepEqual([Name, Ready, Available, row["Up-to-date"]].map(String), ["a", "2/3", "1", "3"]);
    assert.deepEqual([Containers, Images, Selector], ["main", "web:1", "app=web"]);
  },
  "of a node tells whether it is ready and schedulable": async (t) => {
    const nodes = t.cluster("/api/v1", "nodes");
    const name = t.unique("node");
    await nodes.create({ apiVersion: "v1", kind: "Node", metadata: { name }, spec: { unschedulable: true } });
    const state = async (): Promise<unknown> => rows(ok(await nodes.table(name)))[0]?.["Status"];
    assert.equal(await state(), "Unknown,SchedulingDisabled");
    ok(await nodes.merge(`${name}/status`, { status: { conditions: [{ type: "Ready", status: "True" }] } }));
    assert.equal(await state(), "Ready,SchedulingDisabled");
    ok(await nodes.merge(name, { spec: { unschedulable: null } }));
    assert.equal(await state(), "Ready");
    ok(await nodes.delete(name));
  },
});

const watched = theme("table watch", {
  "sends tables of one row, with the columns in the first": async (t) => {
    const { configMaps } = await t.space();
    await configMaps.create(bodies.configMap("a"));
    const stream = await configMaps.tableWatch({});
    const first = await stream.next();
    assert.equal(first.type, "ADDED");
    assert.equal(first.object.kind, "Table");
    assert.deepEqual(columnsOf(first.object), ["Name string name 0", "Data string 0", "Age string 0"]);
    assert.equal(first.object.rows?.[0]?.cells[0], "a");
    ok(await configMaps.delete("a"));
    const second = await stream.next();
    assert.deepEqual([second.type, second.object.columnDefinitions ?? null], ["DELETED", null]);
    assert.equal(second.object.rows?.[0]?.object?.metadata?.name, "a");
    stream.close();
  },
  "ends with a plain status when its version is nonsense": async (t) => {
    const { configMaps } = await t.space();
    const resourceVersion = String(BigInt(await configMaps.version()) + 1_000_000n);
    const query = { sendInitialEvents: true, resourceVersionMatch: "NotOlderThan", allowWatchBookmarks: true };
    const stream = await configMaps.tableWatch({ ...query, resourceVersion, timeoutSeconds: 2 });
    const events = await stream.rest();
    assert.deepEqual(
      events.map(({ type, object }) => [type, object.kind, object.code]),
      [["ERROR", "Status", 504]],
    );
  },
});

export const tableCases = [...shape, ...cells, ...watched];
