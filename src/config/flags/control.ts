/** The flags of a controller: its work queue (upstream calls it a worker) and its leader election. */
import { flag, type FlagSpec } from "../flag.ts";
import { namespaceProblem, objectNameProblem } from "../types/kubernetes-names.ts";
import { bool, durationMs, int, text } from "../types/scalar-types.ts";

export const namespaceText = text("NAMESPACE", { allowed: "a namespace name", problemOf: namespaceProblem });
export const objectName = text("NAME", {
  allowed: "a lowercase object name such as my-pod",
  problemOf: objectNameProblem,
});

/** Each concurrent reconcile is one status write in flight; no process needs more. */
const concurrencyMax = 1000;

export const queueFlags = {
  "worker-concurrency": flag(
    int({ min: 1, max: concurrencyMax }),
    1,
    "Number of objects that are reconciled concurrently.",
  ),
  "worker-backoff-base": flag(
    durationMs({ min: "positive" }),
    100,
    "Delay before the first retry of a failed object; doubles with each failure.",
  ),
  "worker-backoff-max": flag(
    durationMs({ min: "positive" }),
    60_000,
    "Maximum delay before a failed object is retried.",
  ),
  "worker-backoff-conflict": flag(
    durationMs({ min: "zero" }),
    10,
    "Maximum delay before a retry after a write conflict.",
  ),
};

/** `cluster` is the one that holds the Lease, `name` the flag of its name. */
export function electorFlags(name: FlagSpec<string>, cluster: "core" | "worker") {
  return {
    enable: flag(bool(), true, "Elect a leader among the replicas; if disabled, every replica is active."),
    namespace: flag(namespaceText, "default", `Namespace of the Lease, in the ${cluster} cluster.`),
    name,
    "lease-duration": flag(
      durationMs({ min: "positive" }),
      15_000,
      "Other replicas may take the Lease when it has not been renewed for this long.",
    ),
    "renew-deadline": flag(
      durationMs({ min: "positive" }),
      10_000,
      "The leader stops when it has failed to renew the Lease for this long.",
    ),
    "retry-period": flag(
      durationMs({ min: "positive" }),
      2_000,
      "Time between attempts to acquire or renew the Lease.",
    ),
  };
}
