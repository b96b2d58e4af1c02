/** The metrics of PodProtectors that several roles count: one name, one help text and one set of labels each. */
import { type Metrics } from "../util/metrics.ts";

/**
 * `ppr_index_error`, upstream's name and label (docs/compatibility.md#metrics). The counter is to be called once for
 * each state of a PodProtector that is delivered and invalid; its reason is logged. The only value of the label is
 * "Invalid".
 */
export function createIndexErrorCounter(metrics: Metrics): () => void {
  const errors = metrics.counter("ppr_index_error", "Invalid states of PodProtectors received from the core", [
    "error",
  ]);
  return () => errors.inc({ error: "Invalid" });
}

/**
 * `extension_fields_pruned_total` (docs/compatibility.md#extensions). The counter is to be called once for each
 * accepted status write in whose answer the extension fields are missing; `core` is the name of the core.
 */
export function createPrunedCounter(metrics: Metrics, role: "webhook" | "aggregator"): (core: string) => void {
  const writes = metrics.counter(
    "extension_fields_pruned_total",
    "Accepted status writes whose extension fields the CRD of the core dropped",
    ["role", "core"],
  );
  return (core) => writes.inc({ role, core });
}
