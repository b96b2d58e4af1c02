/** Flags of the aggregator and of the update-trigger, which may run inside it. */
import { cellIDRule } from "../../api/cell-id.ts";
import { cellIDProblem } from "../types/address.ts";
import { list, map } from "../types/collection-types.ts";
import { flag, inGroup, prefixed } from "../flag.ts";
import { labelKeyProblem, labelValueProblem, namespaceProblem, objectNameProblem } from "../types/kubernetes-names.ts";
import { bool, choice, durationMs, float, int, labelSelector, text, optionalText } from "../types/scalar-types.ts";
import { systemNamespaces } from "../generator-rules.ts";
import { electorFlags, objectName, queueFlags } from "./control.ts";

const optionalNamespace = text("NAMESPACE", {
  allowed: "a namespace name, or empty",
  problemOf: (value) => (value === "" ? undefined : namespaceProblem(value)),
});
const jitter = float({ min: 0, max: 100 });
const leaseName = flag(
  optionalText("NAME", "a lowercase object name such as my-pod", objectNameProblem),
  "",
  "Name of the Lease. Empty: podseidon-aggregator for the cell default, and podseidon-aggregator-CELL for another " +
    "one, since each cell of a worker cluster needs a leader of its own.",
);
const image = text("IMAGE", {
  allowed: "an image name without spaces",
  problemOf: (value) => (/^\S+$/.test(value) ? undefined : "is not an image name"),
});

export const aggregatorFlags = {
  ...inGroup(
    { title: "Aggregator", roles: ["aggregator"] },
    prefixed("aggregator-", {
      "cell-id": flag(
        text("CELL", {
          allowed: cellIDRule,
          problemOf: cellIDProblem,
        }),
        "default",
        "ID of the cell to count, as it appears in the webhook's URL.",
      ),
      "podprotector-label-selector": flag(labelSelector(), {}, "PodProtectors to aggregate; empty selects all."),
      "pod-label-selector": flag(
        labelSelector(),
        {},
        "Pods that belong to the cell; empty selects all. Evaluated by the API server.",
      ),
      "pod-informer-shards": flag(
        {
          ...int({ min: 1, max: 1 }),
          allowed:
            "only 1: one informer lists 100,000 pods in two seconds, and several have no common version to settle by",
        },
        1,
        "Number of informers that share the pods of the cell. More than 1 is not needed: one lists 100,000 pods in " +
          "two seconds, and an event costs what it changes. A larger cell is better divided into several.",
        { isRare: true },
      ),
      "coverage-excluded-namespaces": flag(
        list("NAMESPACE,...", namespaceProblem),
        systemNamespaces,
        "Namespaces whose pods may lack a PodProtector: those that the webhook configuration leaves out. What is " +
          "given takes the place of the default.",
        { isRare: true },
      ),
      "rate-jitter-low": flag(
        jitter,
        0.5,
        "Lower bound of the random factor that the aggregation rate is multiplied by.",
      ),
      "rate-jitter-high": flag(jitter, 1, "Upper bound of that factor."),
      "informer-synctime-algorithm": flag(
        choice("NAME", ["observed", "clock", "status", "managed-fields", "annotation"]),
        "observed",
        "How the aggregator knows that an admitted deletion is part of its counts. observed (recommended) " +
          "compares the versions of the pod. The others compare times, and may let workloads fall below what must " +
          "stay when the watch lags: an admission settles when the time of a newer pod event is later. That time " +
          "is its arrival (clock), the latest time in the pod's metadata and conditions (status), the latest time " +
          "in its metadata and managedFields (managed-fields), or an annotation.",
      ),
      "informer-synctime-algorithm.annotation-key": flag(
        optionalText("KEY", "an annotation key such as example.com/name", labelKeyProblem),
        "",
        "With annotation: the key of the pod annotation that a patched API server sets on every write. Its value " +
          "is an RFC 3339 time with at most nine fractional digits, such as 2026-01-02T03:04:05.678901Z or " +
          "2026-01-02T05:04:05+02:00, truncated to microseconds. Any other value is ignored.",
      ),
      "ca-bundle-of": flag(
        optionalText("NAME", "the name of an object", objectNameProblem),
        "",
        "ValidatingWebhookConfiguration of this cell whose caBundle is kept equal to what the generator of each core " +
          "publishes (--generator-webhook-certificate-names). Empty leaves every caBundle alone.",
      ),
      "settlement-fence-delay": flag(
        durationMs({ min: "positive" }),
        10_000,
        "How long an admitted pod may stay alive before the aggregator fences it: a patch gives it a new " +
          "version, so that the admitted deletion can no longer commit.",
      ),
      "settle-window": flag(
        durationMs({ min: "positive" }),
        75_000,
        "How long an admitted pod may stay alive before the admission counts as unused, where fencing cannot " +
          "prove it: for evictions, and when the aggregator may not patch pods. API requests take at most 60s.",
      ),
      ...queueFlags,
      ...prefixed("leader-elector-", electorFlags(leaseName, "worker")),
    }),
  ),
  ...inGroup(
    { title: "Update-trigger", roles: ["aggregator", "update-trigger"] },
    prefixed("update-trigger-", {
      enable: flag(
        bool(),
        true,
        "Run the update-trigger, which touches a dummy pod, inside the aggregator. Without it a quiet cell may take " +
          "a minute to settle admissions and to count after an edit. Implied by the role update-trigger.",
      ),
      "update-frequency": flag(durationMs({ min: "positive" }), 1_000, "Time between touches."),
      "dummy-pod-name": flag(objectName, "podseidon-update-trigger", "Name of the dummy pod."),
      "dummy-pod-namespace": flag(
        optionalNamespace,
        "",
        "Namespace of the dummy pod. Empty is --worker-kube-target-namespace, or default when that is empty too.",
      ),
      "dummy-pod-labels": flag(
        map("KEY=VALUE,...", { keyProblem: labelKeyProblem, valueProblem: labelValueProblem }),
        {},
        "Labels of the dummy pod; must match the aggregator's pod label selector.",
      ),
      "dummy-pod-annotations": flag(
        map("KEY=VALUE,...", { keyProblem: labelKeyProblem, valueProblem: () => undefined }),
        {},
        "Annotations of the dummy pod.",
      ),
      "dummy-pod-image": flag(image, ":", "Image of the dummy pod. The pod never runs."),
      "dummy-pod-scheduler": flag(
        objectName,
        "do-not-schedule",
        "Scheduler name of the dummy pod. No such scheduler may exist, so that the pod stays pending.",
      ),
    }),
  ),
};
