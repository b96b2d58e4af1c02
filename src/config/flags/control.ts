/** The flags of a controller: its work queue and its leader election; upstream's names. */
import { flag } from "../flag.ts";
import { namespaceProblem, objectNameProblem } from "../kubernetes-names.ts";
import { bool, durationMs, int, text } from "../scalar-types.ts";

export const namespaceText = text("NAMESPACE", { allowed: "a namespace name", problemOf: namespaceProblem });
export const objectName = text("NAME", {
  allowed: "a lower-case object name such as my-pod",
  problemOf: objectNameProblem,
});

/** One process never needs more reconciles at once: each is one status write in flight. */
const concurrencyMax = 1000;

export const workerFlags = {
  "worker-concurrency": flag(int({ min: 1, max: concurrencyMax }), 1, "Objects reconciled at the same time."),
  "worker-backoff-base": flag(durationMs({ min: "positive" }), 100, "First delay after a failure; doubles each time."),
  "worker-backoff-max": flag(durationMs({ min: "positive" }), 60_000, "Longest delay after failures of one object."),
  "worker-backoff-conflict": flag(durationMs({ min: "zero" }), 10, "Longest delay after a write conflict."),
};

/** `cluster` says where the Lease lives. */
export function electorFlags(leaseName: string, cluster: "core" | "worker") {
  return {
    enable: flag(bool(), true, "Elect one leader among the replicas; without it each replica works."),
    namespace: flag(namespaceText, "default", `Namespace of the Lease in the ${cluster} cluster.`),
    name: flag(objectName, leaseName, "Name of the Lease."),
    "lease-duration": flag(
      durationMs({ min: "positive" }),
      15_000,
      "A lease that was not renewed for so long may be taken.",
    ),
    "renew-deadline": flag(
      durationMs({ min: "positive" }),
      10_000,
      "A leader that cannot renew for so long stops its work.",
    ),
    "retry-period": flag(durationMs({ min: "positive" }), 2_000, "Time between attempts to take or renew the lease."),
  };
}
