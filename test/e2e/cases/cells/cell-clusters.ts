/**
 * Which cluster a cell belongs to (docs/accounting.md#silent-cells): two clusters under one name, a cluster that was
 * built anew under its old name, and several cells in one cluster.
 */
import assert from "node:assert/strict";
import { cellLease, cellLeasePath, scaledMs, silenceArgs, waitBeats, waitCellState } from "../../fleet/cell-states.ts";
import { cellLeaseAnnotations } from "../../../../src/api/cell-lease.ts";
import { type Cluster } from "../../clusters/cluster.ts";
import { type Fleet, startFleet } from "../../fleet/fleet.ts";
import { createNamespace, createPods } from "../../objects/pods.ts";
import { type PodseidonProcess, startPodseidon } from "../../fleet/process.ts";
import { startProtectedPods, webLabels } from "../../loads/protected-pods.ts";
import { accountUser, grantIn } from "../../clusters/role-accounts.ts";
import { type CaseContext, e2eCases, type Figures } from "../../runner/runner.ts";
import { present, second, waitFor } from "../../clusters/wait.ts";

const silentAfterMs = 12 * second;
/** Ends a wait for what happens at once, or after a few beats. */
const soonMs = 60 * second;
/** The same for what happens when a cell is silent. */
const silenceLimitMs = scaledMs(240 * second, silentAfterMs) + soonMs;

export const cellClusterCases = e2eCases({
  "cell: of two clusters under one cell name only one counts, until it is silent or the other one is adopted": [
    240 * second,
    twoClusters,
  ],
  "cell: a cluster that is built anew under its old name is counted anew when the old one is silent": [
    240 * second,
    rebuilt,
  ],
  "cell: two cells of one cluster, told apart by a label, are both counted with the default flags": [
    180 * second,
    twoCells,
  ],
});

async function twoClusters(context: CaseContext): Promise<Figures> {
  const [held, foreign] = ["worker-1", "worker-2"] as const;
  const { fleet } = await startProtectedPods(context, {
    workers: [held],
    podsPerCell: 3,
    floor: 1,
    commonArgs: silenceArgs(silentAfterMs),
  });
  const { namespace } = fleet;
  const other = await context.cluster(foreign);
  await createNamespace(other.admin, namespace);
  await createPods(other.admin, { namespace, count: 5, namePrefix: "web", labels: webLabels });
  await waitBeats(fleet, held, 1, soonMs);

  const owner = present(fleet.aggregators[0]);
  const usurper = await startAggregator(context, fleet, other, [cellArg(held)]);
  const waiting = await waitFor("the second cluster says that it does not count", soonMs, async () => {
    const { code } = await usurper.readyz();
    const line = usurper.process
      .log()
      .split("\n")
      .find((one) => one.includes("of another cluster holds its Lease"));
    return code !== 200 && line;
  });
  context.say(waiting);
  // Many beats later it still has not written anything.
  await waitBeats(fleet, held, 6, soonMs);
  assert.equal(await countedSum(fleet), 3);
  assert.equal(await writesOf(usurper), 0);

  const adopt = { metadata: { annotations: { [cellLeaseAnnotations.adopt]: await clusterUIDOf(other) } } };
  await fleet.core.admin.mergePatch(cellLeasePath(fleet, held), adopt);
  const adoptedMs = performance.now();
  await fleet.waitCounted("web", 5, soonMs);
  const adoptMs = Math.round(performance.now() - adoptedMs);
  await waitFor("the first cluster says that it does not count any more", soonMs, async () => {
    return (await owner.readyz()).code !== 200;
  });
  await usurper.waitReady(soonMs);

  // The cluster that was adopted dies: the other one takes the cell over when it has been silent.
  await usurper.kill();
  const diedMs = performance.now();
  await fleet.waitCounted("web", 3, silenceLimitMs);
  const takenOverMs = Math.round(performance.now() - diedMs);
  // Its last beat was up to a beat before, and another one may have been lost on a busy machine.
  assert.ok(takenOverMs >= silentAfterMs - scaledMs(30 * second, silentAfterMs), `took over after ${takenOverMs} ms`);
  await owner.waitReady(soonMs);
  await waitCellState(fleet.webhooks, held, "beating", soonMs);
  return { adoptMs, takenOverMs };
}

async function rebuilt(context: CaseContext): Promise<Figures> {
  const cell = "rebuilt";
  const { fleet } = await startProtectedPods(context, {
    workers: [cell],
    podsPerCell: 4,
    floor: 1,
    commonArgs: silenceArgs(silentAfterMs),
  });
  const { namespace, workers } = fleet;
  const worker = present(workers[0]);
  const aggregator = present(fleet.aggregators[0]);
  await waitBeats(fleet, cell, 1, soonMs);
  const uidBefore = await clusterUIDOf(worker.cluster);

  await aggregator.kill();
  await worker.cluster.rebuild();
  assert.notEqual(await clusterUIDOf(worker.cluster), uidBefore);
  const { admin } = worker.cluster;
  await createNamespace(admin, namespace);
  await grantIn(admin, namespace);
  await createPods(admin, { namespace, count: 6, namePrefix: "web", labels: webLabels });
  const again = await aggregator.startAnother("aggregator-rebuilt", 0);
  fleet.aggregators[0] = again;
  const startedMs = performance.now();
  await waitCellState(fleet.webhooks, cell, "silent", silenceLimitMs);
  await fleet.waitCounted("web", 6, soonMs);
  const recountedMs = Math.round(performance.now() - startedMs);
  await again.waitReady(soonMs);
  await waitCellState(fleet.webhooks, cell, "beating", soonMs);
  const { annotations = {} } = (await cellLease(fleet, cell)).metadata;
  assert.equal(annotations[cellLeaseAnnotations.clusterUID], await clusterUIDOf(worker.cluster));
  return { recountedMs };
}

async function twoCells(context: CaseContext): Promise<Figures> {
  const cells = ["blue", "green"] as const;
  // The fleet's own aggregator has a cell without pods in the same cluster.
  const fleet = await startFleet(context, {
    workers: ["worker-1"],
    aggregatorArgs: [selectorArg("none")],
    commonArgs: silenceArgs(silentAfterMs),
  });
  const { namespace, workers } = fleet;
  const worker = present(workers[0]);
  const { cluster } = worker;
  for (const [index, cell] of cells.entries()) {
    const labels = { ...webLabels, [cellLabel]: cell };
    await createPods(cluster.admin, { namespace, count: 2 + index, namePrefix: cell, labels });
    // No name for the Lease of the election: that is the default's business.
    fleet.aggregators.push(await startAggregator(context, fleet, cluster, [cellArg(cell), selectorArg(cell)]));
  }
  await fleet.protect("web", webLabels, 1, 5);
  for (const cell of cells) {
    await waitBeats(fleet, cell, 2, soonMs);
    await waitCellState(fleet.webhooks, cell, "beating", soonMs);
  }
  const { status } = await fleet.protector("web");
  const counted = status?.cells.map(({ cellID, aggregation }) => [cellID, aggregation?.availableReplicas]);
  assert.deepEqual(Object.fromEntries(counted ?? []), { blue: 2, green: 3 });
  return { counted: 5 };
}

const cellLabel = "e2e/cell";
const cellArg = (cell: string): string => `--aggregator-cell-id=${cell}`;
const selectorArg = (cell: string): string => `--aggregator-pod-label-selector=${cellLabel}=${cell}`;

/** One more aggregator of the cluster, with the default flags but for these. Not ready yet. */
function startAggregator(
  { processes, directory }: CaseContext,
  { core, namespace }: Fleet,
  cluster: Cluster,
  args: readonly string[],
): Promise<PodseidonProcess> {
  const [first = ""] = args;
  const cell = first.split("=").at(-1);
  return startPodseidon({
    processes,
    directory,
    name: `aggregator-${cluster.name}-${cell}`,
    role: "aggregator",
    args: [
      `--core-kube-config=${core.kubeconfigPath(accountUser("podseidon-aggregator", cell))}`,
      // The account may not use the Lease that the default flags elect a leader by.
      `--worker-kube-config=${cluster.kubeconfigPath("admin")}`,
      `--cell-lease-namespace=${namespace}`,
      ...silenceArgs(silentAfterMs),
      ...args,
    ],
    readyLimitMs: 0,
  });
}

/** What tells clusters apart. */
async function clusterUIDOf({ admin }: Cluster): Promise<string> {
  return (await admin.get("/api/v1/namespaces/kube-system")).metadata.uid;
}

async function countedSum(fleet: Fleet): Promise<number | undefined> {
  return (await fleet.protector("web")).status?.summary.aggregatedAvailableReplicas;
}

async function writesOf(aggregator: PodseidonProcess): Promise<number> {
  return (await aggregator.metrics()).value("aggregator_status_write_total") ?? 0;
}
