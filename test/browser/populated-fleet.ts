/** A fleet in the API double in which everything that the page can show happens, within the last quarter of an hour. */
import { type Condition } from "../../src/api/v1alpha1/pod-protector.ts";
import { finalizer, sourceLabels } from "../../src/api/v1alpha1/names.ts";
import { builtInResources, type JsonObject } from "../double/index.ts";
import { podBody } from "../double/cluster.ts";
import {
  createCellLease,
  createFleet,
  createProtector,
  type CountedCell,
  type Fleet,
  systemNamespace,
} from "../unit/commands/support/fleet.ts";

interface Workload {
  readonly namespace: string;
  readonly name: string;
  readonly mustStay: number;
  /** By cell. */
  readonly available: readonly number[];
  readonly promised?: number;
  readonly conditions?: readonly Partial<Condition>[];
  readonly annotations?: Readonly<Record<string, string>>;
}

const cells = ["eu-west", "eu-north", "us-east"];
const prefix = "podseidon.kubewharf.io";

/** Those that a person has to look at. */
const notable: readonly Workload[] = [
  { namespace: "payments", name: "ledger", mustStay: 12, available: [5, 6, 0] },
  { namespace: "shop", name: "checkout", mustStay: 34, available: [16, 18, 0], promised: 0 },
  { namespace: "shop", name: "search", mustStay: 90, available: [60, 57, 0], promised: 3 },
  { namespace: "shop", name: "billing", mustStay: 9, available: [5, 4, 4] },
  {
    namespace: "shop",
    name: "api",
    mustStay: 3,
    available: [2, 1, 0],
    conditions: [{ type: "Undrainable", message: "All 3 replicas must stay: maxUnavailable is 0" }],
  },
  {
    namespace: "media",
    name: "thumbnails",
    mustStay: 20,
    available: [14, 12, 0],
    conditions: [
      { type: "ChangeHeld", message: "Its Deployment asks for a floor of 2, as do 41 others of namespace media" },
    ],
  },
  {
    namespace: "media",
    name: "transcoder-of-the-year-with-a-rather-long-name",
    mustStay: 4,
    available: [4, 3, 0],
    conditions: [{ type: "Dangling", message: "The Deployment vanished without being deleted" }],
  },
  { namespace: "lab", name: "trial", mustStay: 2, available: [3, 0, 0], annotations: { [`${prefix}/mode`]: "shadow" } },
];

/** Those in good order. */
const others: readonly Workload[] = ["auth", "feed", "mail", "media", "notes", "shop"].flatMap((namespace) =>
  Array.from({ length: 9 }, (_, index) => ({
    namespace,
    name: `service-${index + 1}`,
    mustStay: 2 + index,
    available: [2 + index, 2, 0],
  })),
);

export async function createPopulatedFleet(): Promise<Fleet> {
  const fleet = await createFleet("eu-west");
  const { core, clock } = fleet;
  for (const namespace of new Set([...notable, ...others].map((one) => one.namespace))) {
    if (namespace === "shop") continue;
    const metadata = { name: namespace };
    await core.create(builtInResources.namespaces, undefined, { apiVersion: "v1", kind: "Namespace", metadata });
  }
  const version = { [`${prefix}/product-version`]: "0.1.0" };
  for (const [index, cell] of cells.entries()) {
    await createCellLease(core, clock, cell, { agoMs: index === 2 ? 240_000 : 2_000, annotations: version });
  }
  await createCellLease(core, clock, undefined);
  for (const workload of [...notable, ...others]) await createWorkload(fleet, workload);
  await createInvalid(fleet);
  await createHeldChange(fleet);
  await createEvents(fleet);
  await createAvailablePod(fleet);
  return fleet;
}

async function createAvailablePod({ clusters }: Fleet): Promise<void> {
  const { create, engine } = clusters.get("eu-west")!;
  const pod = await create(
    builtInResources.pods,
    "shop",
    podBody("checkout-7d9f-x2x", { labels: { app: "checkout" } }),
  );
  const ready = { type: "Ready", status: "True", lastTransitionTime: "2025-12-31T20:00:00Z" };
  const status = { phase: "Running", conditions: [ready] };
  await engine.update(
    builtInResources.pods,
    "shop",
    "checkout-7d9f-x2x",
    { ...pod, status },
    { subresource: "status" },
  );
}

async function createWorkload({ core }: Fleet, workload: Workload): Promise<void> {
  const { namespace, name, mustStay, available, promised = 0, conditions = [], annotations = {} } = workload;
  const { kind, group, name: ofName } = sourceLabels;
  const source = { [kind]: "Deployment", [group]: "apps", [ofName]: name };
  const counted = available.flatMap((count, index): CountedCell[] => {
    const buckets = Array.from({ length: index === 0 ? promised : 0 }, (_, pod) => {
      return { startTime: "2026-01-01T00:00:00.000000Z" as never, podUID: `${name}-${pod}` };
    });
    return count === 0 ? [] : [{ cellID: cells[index]!, available: count, buckets }];
  });
  await createProtector(core, `deployment-${name}`, {
    namespace,
    minAvailable: mustStay,
    labels: { app: name },
    metadata: { labels: source, annotations, finalizers: [finalizer] },
    cells: counted,
    conditions,
  });
}

/** Its schema keeps everything, as that of another release may. */
async function createInvalid({ core }: Fleet): Promise<void> {
  await core.create(core.protectors, "lab", {
    apiVersion: "podseidon.kubewharf.io/v1alpha1",
    kind: "PodProtector",
    metadata: { name: "by-hand", namespace: "lab" },
    spec: { minAvailable: "half", selector: {} },
  });
}

async function createHeldChange({ core }: Fleet): Promise<void> {
  const latched = [["namespace/media", "2025-12-31T23:48:00.000000Z"]];
  await core.create(builtInResources.configMaps, systemNamespace, {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "podseidon-generator-state" },
    data: { latches: JSON.stringify({ latched, approvals: [] }) },
  });
}

async function createEvents(fleet: Fleet): Promise<void> {
  await tell(fleet, "deployment-checkout", {
    reason: "TooFewReplicas",
    message:
      "Refused 251 deletions in 60 s (by system:serviceaccount:fed:runaway 240, alice@example.com 11); last: " +
      'Deletion of pod checkout-7d9f-x2x in cell "eu-west": Must stay 34, available 34, promised 0, free 0',
    count: 251,
    ago: 4,
  });
  await tell(fleet, "deployment-api", {
    reason: "TooFewReplicas",
    message:
      "Refused 40 deletions in 300 s (by system:serviceaccount:kube-system:node-upgrader 40); last: Eviction of pod " +
      'api-55b6-q9d in cell "eu-north": Must stay 3, available 3, promised 0, free 0',
    count: 40,
    ago: 35,
  });
  await tell(fleet, "deployment-billing", {
    reason: "CellSilent",
    component: "podseidon-generator",
    message: 'Nothing was heard from cell "us-east" for 3 minutes, so its pods do not count',
    count: 1,
    ago: 61,
  });
  await tell(fleet, "deployment-search", {
    reason: "WouldRefuse",
    message: "Evictions by node-upgrader would be refused; last: Eviction of pod trial-1",
    count: 7,
    ago: 200,
  });
}

interface Told {
  readonly reason: string;
  readonly component?: string;
  readonly message: string;
  readonly count: number;
  /** Seconds. */
  readonly ago: number;
}

/** Writes an Event about a PodProtector in shop. */
export async function tell({ core, clock }: Fleet, about: string, told: Told): Promise<void> {
  const { reason, component = "podseidon-webhook", message, count, ago } = told;
  const time = new Date(clock.epochMicros() / 1000 - ago * 1000).toISOString().replace(/\.\d+Z$/, "Z");
  await core.create(builtInResources.events, "shop", {
    apiVersion: "v1",
    kind: "Event",
    metadata: { namespace: "shop", name: `${about}.${reason.toLowerCase()}.${ago}` },
    involvedObject: { kind: "PodProtector", namespace: "shop", name: about },
    type: "Warning",
    reason,
    message,
    source: { component },
    firstTimestamp: time,
    lastTimestamp: time,
    count,
  });
}

/** Sets how many pods of a PodProtector are available in its first cell. */
export async function setAvailable({ core }: Fleet, namespace: string, name: string, available: number): Promise<void> {
  const object = structuredClone(core.engine.get(core.protectors, namespace, name)) as JsonObject;
  const status = object["status"] as { cells: { aggregation: { availableReplicas: number } }[] };
  status.cells[0]!.aggregation.availableReplicas = available;
  await core.engine.update(core.protectors, namespace, name, object, { subresource: "status" });
}

/** The cells beat, but for the silent one. */
async function beat({ core, clock }: Fleet): Promise<void> {
  const leases = core.engine.list(builtInResources.leases, systemNamespace, {});
  for (const lease of leases.items) {
    const body = structuredClone(lease) as JsonObject & { metadata: { name: string; labels: JsonObject } };
    if (body.metadata.labels[`${prefix}/cell`] === "us-east") continue;
    const spec = body["spec"] as Record<string, unknown>;
    spec["renewTime"] = new Date(clock.epochMicros() / 1000 - 1_000).toISOString().replace("Z", "000Z");
    await core.engine.update(builtInResources.leases, systemNamespace, body.metadata.name, body);
  }
}

/** A quarter of an hour in which pods come and go, for those who watch. */
export async function playQuarterHour(fleet: Fleet): Promise<void> {
  const curve = [60, 60, 58, 55, 52, 50, 51, 54, 57, 60, 60, 59, 57, 56, 58, 60, 60, 60];
  for (const [index, search] of curve.entries()) {
    await setAvailable(fleet, "shop", "deployment-search", search);
    await setAvailable(
      fleet,
      "shop",
      "deployment-checkout",
      index < 8 ? 22 - Math.floor(index / 3) : 20 - Math.min(4, index - 8),
    );
    if (index > 9) await setAvailable(fleet, "payments", "deployment-ledger", index > 12 ? 5 : 8);
    await beat(fleet);
    await fleet.clock.advance(50_000);
  }
  await setAvailable(fleet, "shop", "deployment-checkout", 16);
  await beat(fleet);
  await fleet.clock.advance(5_000);
}
