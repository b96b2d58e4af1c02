/** The flags by which the webhook of a core knows its cells; `scripts/core-cells.ts` writes the same for kustomize. */

/** How the webhook knows who calls it (docs/install.md#api-servers-as-callers). */
export type Callers = "certificates" | "network";

export interface CellFlags {
  /** Where the kubeconfig of each cell is: a key of the Secret podseidon-worker-kubeconfigs. */
  readonly configs: string;
  /** Who may call it for which cell. The certificate of a cell's API server has the name of the cell. */
  readonly callers: readonly string[];
}

/** `cells`: all that it serves. */
export function cellFlags(callers: Callers, cells: readonly string[]): CellFlags {
  const configs = cells.map((cell) => `${cell}=/etc/podseidon/workers/${cell}`).join(",");
  const clients = cells.map((cell) => `${cell}=${cell}`).join(",");
  return {
    configs: `--webhook-worker-client-provider.map-configs=${configs}`,
    callers:
      callers === "certificates"
        ? [`--webhook-client-cells=${clients}`]
        : ["--webhook-client-ca-file=", `--webhook-allowed-cells=${cells.join(",")}`],
  };
}
