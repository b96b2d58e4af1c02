/**
 * A cluster of a soak, in a process of its own: `cluster-process.ts NAME`. The API double, in a worker with controllers
 * and load. Its parent gives orders by messages (cluster.ts), and its end is the end of this one.
 */
import { readFileSync } from "node:fs";
import { load } from "js-yaml";
import { installWebhook } from "../../scripts/demo/world/clusters.ts";
import { createSeededRng } from "../support/seeded-rng.ts";
import {
  asArray,
  asObject,
  builtInResources as types,
  createWebhookClient,
  type FaultScript,
  type JsonObject,
  type KubeObject,
  startApiServer,
  startControllers,
} from "../double/index.ts";
import { type ClusterOrder, type ClusterTally } from "./cluster.ts";
import { type PodCount, type SeenProtector } from "./checks/counts.ts";
import { ReviewTally } from "./checks/review-tally.ts";
import { clusterNames } from "./schedule.ts";
import { Stalls } from "./checks/stalls.ts";
import { WorkerLoad } from "./worker-load.ts";
import { deploymentOf, guarded, namespaces, replicasIn, templateOf, unsteady } from "./workloads.ts";

const name = process.argv[2] ?? "";
const isCore = name === "core";
const crdFile = new URL("../../manifests/base/crd/podprotectors.yaml", import.meta.url);
const nodes = ["node-1", "node-2", "node-3"];
/** Containers start and stop in about that time, each a little later than the other. */
const readyDelayMs = 1_000;
const terminationMs = 700;
const spreadMs = 600;
/** The real controllers wait up to 1,000 s after refusals; a soak of minutes would see one of them. */
const backoffMaxMs = 1_000;
const slowMs = 1_500;
const mergePatch = "application/merge-patch+json";

const nowMs = (): number => performance.now();
const stalls = new Stalls(nowMs);
stalls.watch();
const reviews = new ReviewTally(stalls, nowMs);
const server = await startApiServer({
  crds: isCore ? [load(readFileSync(crdFile, "utf8"))] : [],
  callWebhook: reviews.count(createWebhookClient()),
});
const { engine } = server;
const worker = isCore
  ? undefined
  : new WorkerLoad(engine, createSeededRng(clusterNames.findIndex((one) => one === name)));

for (const namespace of Object.values(namespaces)) {
  const labels = namespace === namespaces.visitors ? { "podseidon.kubewharf.io/mass-changes": "allow" } : {};
  const body = { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace, labels } };
  await engine.create(types.namespaces, undefined, body);
}
if (!isCore) {
  const spreadOf = ({ metadata }: KubeObject): number =>
    (spreadMs * (Number.parseInt(metadata.uid.slice(0, 4), 16) || 0)) / 0x10000;
  await startControllers(engine, {
    nodes,
    readyDelayMs: (pod) => readyDelayMs + spreadOf(pod),
    terminationMs: (pod) => terminationMs + spreadOf(pod),
    backoffMaxMs,
  });
}
for (const service of [...guarded, unsteady]) {
  await engine.create(types.deployments, namespaces.shop, deploymentOf(namespaces.shop, service, isCore));
}

const faults: Readonly<Record<"slow" | "stalled" | "well", FaultScript | undefined>> = {
  slow: () => ({ type: "delay", delayMs: slowMs }),
  stalled: () => ({ type: "stall" }),
  well: undefined,
};

async function patchDeployment(namespace: string, service: string, spec: JsonObject): Promise<void> {
  await engine.patch(types.deployments, namespace, service, { contentType: mergePatch, body: { spec } });
}

function seenProtectors(): readonly SeenProtector[] {
  const type = engine.typeOfKind("podseidon.kubewharf.io/v1alpha1", "PodProtector");
  if (type === undefined) throw new Error("the core does not serve PodProtectors");
  return engine.list(type).items.map(({ metadata, status }) => {
    const cells = asArray(status?.["cells"]).map(asObject);
    const summary = asObject(status?.["summary"]);
    return {
      workload: `${metadata.namespace}/${metadata.name.replace(/^deployment-/, "")}`,
      cells: new Map(
        cells.map((cell): [string, PodCount] => {
          const { totalReplicas, availableReplicas } = asObject(cell["aggregation"]);
          return [String(cell["cellID"]), { total: Number(totalReplicas), available: Number(availableReplicas) }];
        }),
      ),
      summary: {
        total: Number(summary["totalReplicas"]),
        available: Number(summary["aggregatedAvailableReplicas"]),
      },
      buckets: cells.reduce((sum, cell) => sum + asArray(asObject(cell["admissionHistory"])["buckets"]).length, 0),
    };
  });
}

function tally(): ClusterTally {
  return {
    events: worker?.events ?? 0,
    deletions: worker?.deletions ?? 0,
    reviews: reviews.reviews,
    stalls: stalls.count,
    seen: worker?.takeChanges(),
  };
}

async function carryOut(order: ClusterOrder): Promise<unknown> {
  switch (order.do) {
    case "guard":
      return await installWebhook({ name, server }, order.url);
    case "begin":
      return worker?.start(order.eventsPerSecond);
    case "end":
      return worker?.stop();
    case "roll":
      return await patchDeployment(namespaces.shop, order.service, { template: templateOf(order.service, order.turn) });
    case "scale":
      return await patchDeployment(namespaces.shop, unsteady, { replicas: replicasIn(isCore, order.perWorker) });
    case "come":
      return void (await engine.create(
        types.deployments,
        namespaces.visitors,
        deploymentOf(namespaces.visitors, order.service, isCore),
      ));
    case "leave":
      return void (await engine.delete(types.deployments, namespaces.visitors, order.service));
    case "disconnect":
      if (order.forget) engine.forgetHistory();
      return server.dropWatches();
    case "sicken":
      if (worker !== undefined) worker.isSick = order.how !== "well";
      return server.setFaults(faults[order.how]);
    case "hold": {
      const spec = { holderIdentity: order.holder, renewTime: `${new Date().toISOString().slice(0, -1)}000Z` };
      const patch = { contentType: mergePatch, body: { spec } };
      return void (await engine.patch(types.leases, namespaces.system, order.lease, patch));
    }
    case "tally":
      return tally();
    case "counts":
      return worker?.counts();
    case "isSteady":
      return worker?.isSteady ?? true;
    case "protectors":
      return seenProtectors();
    case "workloads":
      return engine.list(types.deployments).items.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`);
  }
}

/** One after the other: what comes is there before it leaves, however late this process is. */
let orders = Promise.resolve();
process.on("message", ({ id, order }: { id: number; order: ClusterOrder }) => {
  orders = orders
    .then(() => carryOut(order))
    .then(
      (answer) => void process.send?.({ id, answer }),
      (error: unknown) => void process.send?.({ id, error: error instanceof Error ? error.message : String(error) }),
    );
});
process.on("disconnect", () => process.exit(0));
process.send?.({ id: 0, answer: server.url });
