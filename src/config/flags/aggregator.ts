/** Flags of the aggregator and of the update-trigger, which may run inside of it. */
import { cellIdProblem } from "../address.ts";
import { map } from "../collection-types.ts";
import { flag, inGroup, prefixed } from "../flag.ts";
import { labelKeyProblem, labelValueProblem } from "../kubernetes-names.ts";
import { bool, choice, durationMs, float, labelSelector, text } from "../scalar-types.ts";
import { electorFlags, namespaceText, objectName, workerFlags } from "./control.ts";

const jitter = float({ min: 0, max: 100 });
const image = text("IMAGE", {
  allowed: "an image name without spaces",
  problemOf: (value) => (/^\S+$/.test(value) ? undefined : "is not an image name"),
});

export const aggregatorFlags = {
  ...inGroup(
    { title: "Aggregator", roles: ["aggregator"] },
    prefixed("aggregator-", {
      "cell-id": flag(
        text("CELL", { allowed: "a text without spaces, slashes and the signs , = ? # %", problemOf: cellIdProblem }),
        "default",
        "The cell that is counted; the same text as in the webhook's URL.",
      ),
      "podprotector-label-selector": flag(labelSelector(), {}, "PodProtectors that are counted; nothing selects all."),
      "pod-label-selector": flag(
        labelSelector(),
        {},
        "Pods that belong to the cell; nothing selects all. Evaluated by the API server.",
      ),
      "rate-jitter-low": flag(jitter, 0.5, "Lower end of the random factor of the aggregation rate."),
      "rate-jitter-high": flag(jitter, 1, "Upper end of that factor."),
      "informer-synctime-algorithm": flag(
        choice("NAME", ["observed", "clock", "status", "managed-fields", "annotation"]),
        "observed",
        "When an admitted deletion counts as seen. observed: by the versions of its pod. The others, which can break the floor when the watch lags: once the newest pod event has a later time, which is its arrival (clock), or the newest of creation, deletion request, update-trigger time and the times of conditions (status) or managedFields (managed-fields), or an annotation.",
      ),
      "informer-synctime-algorithm.annotation-key": flag(
        text("KEY", {
          allowed: "nothing, or an annotation key such as example.com/name",
          problemOf: (value) => (value === "" ? undefined : labelKeyProblem(value)),
        }),
        "",
        "With annotation: the key of the pod annotation that a patched API server stamps on every write. Its value is an RFC 3339 time with at most nine fractional digits, such as 2026-01-02T03:04:05.678901Z or 2026-01-02T05:04:05+02:00; below microseconds it is cut; anything else counts as no time.",
      ),
      "settlement-fence-delay": flag(
        durationMs({ min: "positive" }),
        10_000,
        "Age of an admission whose pod is still alive before the pod's version is moved, so that the deletion cannot commit any more.",
      ),
      "settle-window": flag(
        durationMs({ min: "positive" }),
        75_000,
        "Age at which an admission counts as unused when no version proves it: evictions, and where fencing is forbidden. API requests live at most 60s.",
      ),
      ...workerFlags,
      ...prefixed("leader-elector-", electorFlags("podseidon-aggregator", "worker")),
    }),
  ),
  ...inGroup(
    { title: "Update-trigger", roles: ["aggregator", "update-trigger"] },
    prefixed("update-trigger-", {
      enable: flag(bool(), false, "Touch a dummy pod inside the aggregator. The role update-trigger implies it."),
      "update-frequency": flag(durationMs({ min: "positive" }), 1_000, "Time between two touches."),
      "dummy-pod-name": flag(objectName, "podseidon-update-trigger", "Name of the dummy pod."),
      "dummy-pod-namespace": flag(
        namespaceText,
        "default",
        "Namespace of the dummy pod. Upstream has no usable default.",
      ),
      "dummy-pod-labels": flag(
        map("KEY=VALUE,...", { keyProblem: labelKeyProblem, valueProblem: labelValueProblem }),
        {},
        "Labels of the dummy pod; they have to match the aggregator's pod label selector.",
      ),
      "dummy-pod-annotations": flag(
        map("KEY=VALUE,...", { keyProblem: labelKeyProblem, valueProblem: () => undefined }),
        {},
        "Annotations of the dummy pod.",
      ),
      "dummy-pod-image": flag(image, ":", "Image of the dummy pod, which never runs."),
      "dummy-pod-scheduler": flag(
        objectName,
        "do-not-schedule",
        "Scheduler name of the dummy pod; no scheduler answers to it.",
      ),
    }),
  ),
};
