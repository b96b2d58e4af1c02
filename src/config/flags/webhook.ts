/** Flags of the admission webhook. */
import { annotations } from "../../api/v1alpha1/names.ts";
import { cellIdProblem, certificateNameProblem, masterUrlProblem, pathPrefixProblem } from "../address.ts";
import { list, map } from "../collection-types.ts";
import { flag, inGroup, prefixed, type FlagGroup } from "../flag.ts";
import { labelKeyProblem } from "../kubernetes-names.ts";
import { bool, choice, durationMs, int, text } from "../scalar-types.ts";
import { clientFlags, kubeFlags } from "./kube.ts";
import { serverFlags } from "./server.ts";

const group: FlagGroup = { title: "Webhook", roles: ["webhook"] };
const evictionGroup: FlagGroup = { title: "Webhook: pods of evictions", roles: ["webhook"] };
const annotationKey = text("KEY", {
  allowed: "an annotation key such as example.com/name",
  problemOf: labelKeyProblem,
});
const annotationValue = text("VALUE", {
  allowed: "a text that is not empty",
  problemOf: (value) => (value === "" ? "is empty" : undefined),
});
const cells = { keyProblem: cellIdProblem };

/**
 * With the 7 s that the rest of the stop may take it stays within the 60 s of terminationGracePeriodSeconds in the
 * manifests.
 */
export const drainDelayMsMax = 45_000;

/** The criteria that an annotation can ask for; the default one (Available) needs none. */
export const annotatedCriteria = ["Scheduled", "Initialized", "Running", "Ready"] as const;

function criterionFlags(criterion: (typeof annotatedCriteria)[number]) {
  return {
    key: flag(annotationKey, annotations.healthCriterion, `Annotation that asks to judge a pod by being ${criterion}.`),
    value: flag(annotationValue, criterion, "Value of that annotation; exact, with upper and lower case."),
  };
}

export const webhookFlags = {
  ...inGroup(group, {
    ...prefixed("webhook-", {
      ...serverFlags("admission reviews", { http: 8080, https: 8843 }),
      "path-prefix": flag(
        text("PATH", {
          allowed: "nothing, or a path that begins with / and does not end with it",
          problemOf: pathPrefixProblem,
        }),
        "",
        "Path before /CELL in the URL of the webhook.",
      ),
      "allowed-cells": flag(
        list("CELL,...", cellIdProblem),
        [],
        "The cells whose reviews are answered; others get a 404. Empty means all.",
      ),
      "client-ca-file": flag(
        text("PATH"),
        "",
        "PEM file of the authorities of client certificates; read again when it changes. With it, HTTPS takes only clients with such a certificate.",
      ),
      "client-allowed-names": flag(
        list("NAME,...", certificateNameProblem),
        [],
        "With a client CA: the common names or subject alternative names (DNS, IP, URI, email) of the clients that are answered; others get a 403. Empty means all that the CA vouches for.",
      ),
      "drain-delay": flag(
        durationMs({ min: "zero" }),
        3_000,
        "How long reviews are still taken after the signal to stop, while readiness already fails, so that no API server finds a closed port. At most 45s.",
      ),
      "dry-run": flag(bool(), false, "Never refuse; everything else happens as usual."),
      "core-unavailable-policy": flag(
        choice("POLICY", ["refuse", "last-known"]),
        "refuse",
        "While the core takes no writes: refuse deletions that need quota, or admit them by the quota that was known last. The label podseidon.kubewharf.io/core-unavailable-policy of a namespace in the core goes first.",
      ),
      "core-unavailable-replicas": flag(
        int({ min: 1, max: 1_000 }),
        3,
        "With last-known: the number of webhook replicas. Each may use its share of the quota, so that together they never use more.",
      ),
    }),
    ...prefixed("webhook-handler-", {
      "cold-start-delay": flag(
        durationMs({ min: "zero" }),
        0,
        "Wait of the first batch of a quiet PodProtector, so that more reviews join it.",
      ),
      "retry-backoff-base": flag(
        durationMs({ min: "zero" }),
        100,
        "Least wait after a status write that failed, or that conflicts again and again; the first conflicts are retried at once.",
      ),
      "retry-jitter": flag(durationMs({ min: "zero" }), 100, "Random wait on top of it, from 0 to this."),
      ...prefixed("health-criterion-scheduled-", criterionFlags("Scheduled")),
      ...prefixed("health-criterion-initialized-", criterionFlags("Initialized")),
      ...prefixed("health-criterion-running-", criterionFlags("Running")),
      ...prefixed("health-criterion-ready-", criterionFlags("Ready")),
    }),
    "webhook-requires-pod-name": flag(
      choice("WHEN", ["always", "by-cell", "never"]),
      "never",
      "Whether to write pod names into the admission history.",
    ),
    "webhook-requires-pod-name.by-cell-filter": flag(
      list("CELL,...", cellIdProblem),
      [],
      "With by-cell: the cells whose pod names are written.",
    ),
  }),
  ...inGroup(evictionGroup, {
    "webhook-worker-client-provider": flag(
      choice("HOW", ["none", "single", "map"]),
      "none",
      "How to read the pod of an eviction: not at all (evictions are refused), one worker cluster for all cells, or one per cell.",
    ),
    ...prefixed("webhook-worker-client-provider.single-kube-", kubeFlags),
    ...prefixed("webhook-worker-client-provider.map-", {
      configs: flag(
        map("CELL=PATH,...", { ...cells, valueProblem: () => undefined }),
        {},
        "Kubeconfig file of each cell; an empty path means the ServiceAccount of the own pod.",
      ),
      masters: flag(
        map("CELL=URL,...", { ...cells, valueProblem: masterUrlProblem }),
        {},
        "URL of the API server of some of these cells; overrides the kubeconfig's.",
        { mayHoldPassword: true },
      ),
      ...clientFlags,
    }),
  }),
};
