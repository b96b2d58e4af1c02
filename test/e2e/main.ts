/**
 * `make e2e`: runs the cases on real API servers and exits with 1 when one fails.
 *
 *   --case=TEXT   only cases whose name contains TEXT, long ones too
 *   --long        the long cases instead of the others (`make e2e-long`)
 *   --keep        keep the logs also when everything passes
 *
 * PODSEIDON_E2E_DEV=1 runs src/main.ts instead of dist/podseidon.
 */
import { mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { KubeAssetsError, resolveKubeAssets } from "../../scripts/kube-assets.ts";
import { budgetCases } from "./cases/generating/budgets.ts";
import { callerCases } from "./cases/rights/callers.ts";
import { cellClusterCases } from "./cases/cells/cell-clusters.ts";
import { chartCases } from "./cases/installing/chart.ts";
import { checkCases } from "./cases/people/check.ts";
import { commandCases } from "./cases/people/commands.ts";
import { coreCases } from "./cases/cells/cores.ts";
import { dashboardCases } from "./cases/people/dashboard.ts";
import { deploymentCases } from "./cases/deleting/deployments.ts";
import { drainCases } from "./cases/deleting/drain.ts";
import { everydayChangeCases } from "./cases/generating/everyday-changes.ts";
import { evictionCases } from "./cases/deleting/evictions.ts";
import { fencingCases } from "./cases/deleting/fencing.ts";
import { firstDayCases } from "./cases/generating/first-day.ts";
import { floorCases, lastKnownCases } from "./cases/deleting/floor.ts";
import { fullCoreCases } from "./cases/cells/full-core.ts";
import { gateCases } from "./cases/deleting/gate.ts";
import { harnessCases } from "./cases/api-servers/harness.ts";
import { installCases } from "./cases/installing/install.ts";
import { issuedCertificateCases } from "./cases/installing/issued-certificate.ts";
import { kubectlOnDoubleCases } from "./cases/api-servers/kubectl-on-double.ts";
import { leaseCases } from "./cases/cells/lease.ts";
import { lostNodeCases } from "./cases/deleting/lost-nodes.ts";
import { foreignPodCases } from "./cases/deleting/foreign-pods.ts";
import { unseenPodCases } from "./cases/deleting/unseen-pods.ts";
import { lostProtectorCases } from "./cases/cells/lost-protectors.ts";
import { manifestCases } from "./cases/installing/manifests.ts";
import { keptWorkloadCases } from "./cases/generating/kept-workloads.ts";
import { massChangeCases } from "./cases/generating/mass-changes.ts";
import { modeCases } from "./cases/generating/modes.ts";
import { namespaceCellCases } from "./cases/cells/namespace-cells.ts";
import { nodeClockCases } from "./cases/deleting/node-clocks.ts";
import { nobodySilentCases } from "./cases/cells/nobody-silent.ts";
import { operableCases } from "./cases/people/operable.ts";
import { oneProcessCases } from "./cases/cells/one-process.ts";
import { otherCounterCases } from "./cases/cells/other-counters.ts";
import { outOfReachCases } from "./cases/cells/out-of-reach.ts";
import { outageCases, recoveryCases } from "./cases/cells/outages.ts";
import { pageCases } from "./cases/people/pages.ts";
import { protobufCases } from "./cases/api-servers/protobuf.ts";
import { retiredCellCases } from "./cases/cells/retired-cell.ts";
import { rightsCases } from "./cases/rights/rights.ts";
import { rollingRestartCases } from "./cases/deleting/rolling-restart.ts";
import { silentCellCases } from "./cases/cells/silent-cells.ts";
import { simulateCases } from "./cases/people/simulate.ts";
import { sourceCases, sourceContractCases } from "./cases/generating/sources.ts";
import { nodeUser, systemDeletionCases } from "./cases/deleting/system-deletions.ts";
import { targetCases } from "./cases/generating/targets.ts";
import { uninstallCases } from "./cases/installing/uninstall.ts";
import { upgradeCases } from "./cases/cells/upgrade.ts";
import { upstreamCrdCases } from "./cases/installing/upstream-crd.ts";
import { upstreamRightsCases } from "./cases/rights/upstream-rights.ts";
import { ProcessSet } from "../../scripts/child-processes.ts";
import { type ClusterOptions } from "./clusters/cluster.ts";
import { ClusterPool } from "./clusters/cluster-pool.ts";
import { defaultControllers } from "./clusters/control-plane.ts";
import { type E2eCase, failures, runCases } from "./runner/runner.ts";

const cases: readonly E2eCase[] = [
  ...harnessCases,
  ...floorCases,
  ...deploymentCases,
  ...sourceCases,
  ...sourceContractCases,
  ...budgetCases,
  ...targetCases,
  ...drainCases,
  ...simulateCases,
  ...firstDayCases,
  ...modeCases,
  ...evictionCases,
  ...fencingCases,
  ...manifestCases,
  ...callerCases,
  ...checkCases,
  ...rightsCases,
  ...protobufCases,
  ...recoveryCases,
  ...outageCases,
  ...rollingRestartCases,
  ...upgradeCases,
  ...lastKnownCases,
  ...leaseCases,
  ...oneProcessCases,
  ...silentCellCases,
  ...retiredCellCases,
  ...fullCoreCases,
  ...outOfReachCases,
  ...cellClusterCases,
  ...namespaceCellCases,
  ...coreCases,
  ...otherCounterCases,
  ...nobodySilentCases,
  ...lostProtectorCases,
  ...lostNodeCases,
  ...nodeClockCases,
  ...unseenPodCases,
  ...foreignPodCases,
  ...gateCases,
  ...operableCases,
  ...massChangeCases,
  ...keptWorkloadCases,
  ...everydayChangeCases,
  ...commandCases,
  ...dashboardCases,
  ...upstreamCrdCases,
  ...upstreamRightsCases,
  ...systemDeletionCases,
  ...kubectlOnDoubleCases,
  ...pageCases,
  ...installCases,
  ...issuedCertificateCases,
  ...uninstallCases,
  ...chartCases,
];

/** For cases that replace its credentials. */
const rotated = { name: "rotated", groups: ["system:masters"] };

const clusters: readonly ClusterOptions[] = [
  { name: "core", controllerManager: true, users: [rotated] },
  { name: "worker-1", controllerManager: true, nodes: 2, users: [{ name: "unfenced" }, rotated] },
  { name: "worker-2", controllerManager: true, users: [rotated] },
  { name: "rebuilt" },
  {
    name: "sightless",
    nodes: 2,
    controllerManager: {
      // Taint eviction uses an index of pods by node that the DaemonSet controller makes.
      controllers: [
        ...defaultControllers,
        "node-lifecycle-controller",
        "taint-eviction-controller",
        "daemonset-controller",
      ],
      args: ["--node-monitor-period=1s", "--node-monitor-grace-period=6s", "--node-startup-grace-period=60s"],
    },
  },
  // Twice what an API server and the rights of the roles need.
  { name: "full", etcdQuotaBytes: 24 * 1024 * 1024 },
  // Nothing else is in it.
  { name: "uninstalled", controllerManager: true },
  // Nothing answers to the workloads that are created there.
  // Without that gate the API server drops the maxUnavailable of StatefulSets.
  {
    name: "sources",
    controllerManager: { controllers: ["garbage-collector-controller"] },
    apiServerArgs: ["--feature-gates=MaxUnavailableStatefulSet=true"],
  },
  {
    name: "system",
    controllerManager: {
      controllers: [
        ...defaultControllers,
        "taint-eviction-controller",
        "daemonset-controller",
        "pod-garbage-collector-controller",
      ],
      args: ["--terminated-pod-gc-threshold=1"],
    },
    scheduler: true,
    nodes: 2,
    users: [{ name: nodeUser, groups: ["system:nodes"] }],
    admissionPlugins: { enable: ["NodeRestriction"] },
  },
];

/** With more, two cores are the limit, and what is slow in a case is no longer what it waits for. */
const lanes = 2;

const resultFile = fileURLToPath(new URL("../../test-results/e2e.json", import.meta.url));
const print = (line: string): void => console.log(line);

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      case: { type: "string", default: "" },
      long: { type: "boolean", default: false },
      keep: { type: "boolean", default: false },
    },
  });
  const chosen = cases.filter(({ name, isLong = false }) =>
    values.case === "" ? isLong === values.long : name.includes(values.case),
  );
  if (chosen.length === 0) {
    print(`No case's name contains "${values.case}". The cases:\n${cases.map(({ name }) => `  ${name}`).join("\n")}`);
    return 1;
  }
  const assets = await resolveKubeAssets(print);
  const directory = mkdtempSync(path.join(os.tmpdir(), "podseidon-e2e-"));
  const processes = new ProcessSet();
  endWithThisProcess(processes, directory);
  const pools = Array.from(
    { length: Math.min(lanes, chosen.length) },
    (_, index) =>
      new ClusterPool(clusters, { assets, processes, directory: path.join(directory, `lane-${index + 1}`) }),
  );
  const results = await runCases({ cases: chosen, pools, assets, processes, directory, resultFile, print });
  for (const { name, startMs, memoryBytes } of pools.flatMap((pool) => pool.figures())) {
    print(`cluster ${name}: started in ${startMs} ms, ${Math.round(memoryBytes / 1e6)} MB`);
  }
  for (const line of failures(results)) print(line);
  const failed = results.filter(({ passed }) => !passed).length;
  if (failed > 0 || values.keep) print(`The logs are in ${directory}`);
  else rmSync(directory, { recursive: true, force: true });
  print(`${results.length - failed} passed, ${failed} failed`);
  return failed === 0 ? 0 : 1;
}

/** Whatever ends this process, short of SIGKILL, ends what it started. */
function endWithThisProcess(processes: ProcessSet, directory: string): void {
  process.once("exit", () => processes.killAll());
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.once(signal, () => {
      processes.killAll();
      print(`Stopped by ${signal}. The logs are in ${directory}`);
      process.exit(128 + os.constants.signals[signal]);
    });
  }
}

try {
  // An open handle that a failed case left behind must not keep the run alive.
  process.exit(await main());
} catch (error) {
  if (!(error instanceof KubeAssetsError)) throw error;
  print(`e2e: ${error.message}`);
  process.exit(1);
}
