/** The metric `podseidon_build_info`: which program a process runs, in place of the go_build_info of upstream. */
import { type Metrics } from "../util/metrics.ts";

export interface BuildInfo {
  /** "1.2.3". */
  readonly version: string;
  /** Of the sources; "dev" where they are run directly. */
  readonly commit: string;
  /** "v26.1.0". */
  readonly nodeVersion: string;
}

/** A gauge that is always 1. */
export function showBuildInfo(metrics: Metrics, { version, commit, nodeVersion }: BuildInfo): void {
  metrics
    .gauge("podseidon_build_info", "1, with the version of the program and of Node as labels", [
      "version",
      "commit",
      "node_version",
    ])
    .set({ version, commit, node_version: nodeVersion }, 1);
}
