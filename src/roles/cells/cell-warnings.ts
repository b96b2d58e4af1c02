/** What is said about cells when a process starts. */
import { type ClusterConfig, type Config } from "../../config/index.ts";
import { objectNameProblem } from "../../config/types/kubernetes-names.ts";
import { type Logger } from "../../util/logger.ts";

/** Cells named in a line of the log. */
const namedMax = 20;

/** Accounts and admission policies of a single cell carry its name, and need a lower-case DNS name for that. */
export function warnOfCellNames(cellIDs: Iterable<string>, logger: Logger): void {
  const odd = [...new Set(cellIDs)].filter((cellID) => objectNameProblem(cellID) !== undefined);
  if (odd.length === 0) return;
  logger.warn("Use lower-case DNS names for cells: accounts and policies for each cell cannot have these names", {
    cells: odd.slice(0, namedMax),
  });
}

/** In a fleet, callers should not choose cells freely. */
export function warnOfEveryCell({ cores, webhook }: Pick<Config, "cores" | "webhook">, logger: Logger): void {
  const { allowedCells, workerClientProvider: provider } = webhook;
  if (allowedCells.size > 0 || provider.kind === "none") return;
  const workers = provider.kind === "single" ? [provider.cluster] : [...provider.clusters.values()];
  if (workers.length === 1 && workers.every((worker) => cores.values().some((core) => isSameCluster(worker, core))))
    return;
  const known = provider.kind === "map" ? { knownCells: [...provider.clusters.keys()].slice(0, namedMax) } : {};
  logger.warn("Reviews of every cell are served: set --webhook-allowed-cells to the cells of the fleet", known);
}

function isSameCluster(one: ClusterConfig, other: ClusterConfig): boolean {
  return one.kubeConfigPath === other.kubeConfigPath && one.master === other.master;
}
