/** Flags of the admission webhook. */
import { annotations } from "../../api/v1alpha1/names.ts";
import {
  cellIDProblem,
  certificateNameProblem,
  isLoopback,
  masterUrlProblem,
  pathPrefixProblem,
  clientCellProblem,
} from "../types/address.ts";
import { list, map } from "../types/collection-types.ts";
import { flag, inGroup, prefixed, type FlagGroup } from "../flag.ts";
import { coreNameProblem, labelKeyProblem, objectPathProblem } from "../types/kubernetes-names.ts";
import { bool, choice, durationMs, int, text, optionalText } from "../types/scalar-types.ts";
import { clientFlags, kubeFlags } from "./kube.ts";
import { serverFlags } from "./server.ts";

const group: FlagGroup = { title: "Webhook", roles: ["webhook"] };
const evictionGroup: FlagGroup = { title: "Webhook: evictions", roles: ["webhook"] };
const annotationKey = text("KEY", {
  allowed: "an annotation key such as example.com/name",
  problemOf: labelKeyProblem,
});
const annotationValue = text("VALUE", {
  allowed: "any string that is not empty",
  problemOf: (value) => (value === "" ? "is empty" : undefined),
});
const cells = { keyProblem: cellIDProblem };

/**
 * The rest of the stop may take 7 s: together they stay within the 60 s of terminationGracePeriodSeconds in the
 * manifests.
 */
export const drainDelayMsMax = 45_000;

/** What is not settled within a second takes several more; a controller has few workers, which would all wait. */
export const refusalHoldMsMax = 1_000;

/** The criteria that an annotation can select; the default, Available, needs none. */
export const annotatedCriteria = ["Scheduled", "Initialized", "Running", "Ready"] as const;

/** What becomes of deletions that need quota while a core takes no writes. */
export const corePolicies = ["refuse", "last-known"] as const;

const corePolicyProblem = (text: string): string | undefined =>
  corePolicies.some((policy) => policy === text) ? undefined : `is not one of ${corePolicies.join(", ")}`;

function criterionFlags(criterion: (typeof annotatedCriteria)[number]) {
  return {
    key: flag(
      annotationKey,
      annotations.healthCriterion,
      `Key of the annotation that selects the health criterion ${criterion}.`,
      { isRare: true },
    ),
    value: flag(annotationValue, criterion, "Value of that annotation; case-sensitive.", { isRare: true }),
  };
}

export const webhookFlags = {
  ...inGroup(group, {
    ...prefixed("webhook-", {
      ...serverFlags(
        "admission reviews",
        { http: 8080, https: 8843 },
        {
          httpHelp: " Unless it is given, it is false where --webhook-bind-addr is beyond loopback.",
          // Plain HTTP answers everybody who reaches it: beyond loopback only where it is asked for.
          defaultBy: {
            flag: "webhook-bind-addr",
            value: (address) => (isLoopback(String(address)) ? undefined : false),
          },
        },
      ),
      "https-issued-certificate": flag(
        bool(),
        false,
        "Serve HTTPS with the certificate that the generator issues, read from the Secret podseidon-webhook-tls in " +
          "--cell-lease-namespace of the core, in place of the two files.",
      ),
      "path-prefix": flag(
        optionalText("PATH", "a path that begins with / and does not end with /", pathPrefixProblem),
        "",
        "Path before /CELL in the URL of the webhook.",
      ),
      "allowed-cells": flag(
        list("CELL,...", cellIDProblem),
        [],
        "Cells whose reviews are served; other cells get a 404. Empty allows all.",
      ),
      "client-ca-file": flag(
        text("PATH"),
        "",
        "PEM file with the CAs of client certificates; reloaded when it changes. If set, HTTPS clients need a " +
          "certificate that one of these CAs has signed.",
      ),
      "client-allowed-names": flag(
        list("NAME,...", certificateNameProblem),
        [],
        "With a client CA: the common names or subject alternative names (DNS, IP, URI, email) of allowed " +
          "clients; other clients get a 403. Empty allows every certificate of the CA.",
      ),
      "client-cells": flag(
        list(
          "NAME=CELL,...",
          clientCellProblem,
          "a comma-separated list of distinct pairs such as a=worker-1,a=worker-2,b=worker-3",
        ),
        [],
        "With a client CA: the cells that each client may speak for, by a common name or subject alternative name of " +
          "its certificate. A client that is not named, or names another cell in the URL, gets a 403. Then " +
          "--webhook-allowed-cells is not needed. Empty binds no client to cells.",
      ),
      deployment: flag(
        optionalText(
          "NAMESPACE/NAME",
          "a namespace and a name such as podseidon-system/podseidon-webhook",
          objectPathProblem,
        ),
        "",
        "The Deployment of this webhook in the core cluster, which gets an Event when a certificate is about to " +
          "expire. Empty: no Event.",
      ),
      "drain-delay": flag(
        durationMs({ min: "zero" }),
        3_000,
        "How long to keep serving reviews after the signal to stop, while readiness already fails, so that no " +
          "API server meets a closed port. At most 45s.",
      ),
      "dry-run": flag(bool(), false, "Admit every deletion, and do everything else as usual."),
      "core-unavailable-policy": flag(
        choice("POLICY", corePolicies),
        "refuse",
        "While writes to the core cluster fail: refuse deletions that need quota, or admit them against the last " +
          "known quota. The label podseidon.kubewharf.io/core-unavailable-policy of a namespace in the core " +
          "cluster takes precedence.",
      ),
      "core-unavailable-policy.by-core": flag(
        map("CORE=POLICY,...", { keyProblem: coreNameProblem, valueProblem: corePolicyProblem }),
        {},
        "That policy for some of several cores; the others have the one above.",
        { isRare: true },
      ),
      "core-unavailable-replicas": flag(
        int({ min: 1, max: 1_000 }),
        3,
        "With last-known: the number of webhook replicas. Each replica may use its share of the quota, so that " +
          "all replicas together never exceed it.",
      ),
      "legacy-cell-hold": flag(
        durationMs({ min: "zero" }),
        10_000,
        "In cells that an aggregator of the Go original counts: for how long an admission of this replica goes on " +
          "being subtracted when it vanishes from the history. Longer than the watch of that aggregator is late. " +
          "0 is upstream's behaviour.",
      ),
      "refusal-hold": flag(
        durationMs({ min: "zero" }),
        1_000,
        "For how long a review is held at most, instead of being refused at once, when promised deletions are in the " +
          "way that may settle within a moment. A DELETE at a generated floor, which may be about to fall, is held " +
          "for 250ms, and once a minute for 2.25s; never for longer than half of the time that its caller waits. " +
          "At most 1s. 0 holds none.",
      ),
      "tombstone-ttl": flag(
        durationMs({ min: "zero" }),
        0,
        "For how long a PodProtector that is gone from the core cluster without having been released stays in force. " +
          "0 is for ever.",
      ),
    }),
    ...prefixed("webhook-handler-", {
      "cold-start-delay": flag(
        durationMs({ min: "zero" }),
        0,
        "Delay of the first batch of an idle PodProtector, so that more reviews can join it.",
      ),
      "retry-backoff-base": flag(
        durationMs({ min: "zero" }),
        100,
        "Minimum delay before a retry of a status write that failed or keeps conflicting. The first conflicts " +
          "are retried at once.",
      ),
      "retry-jitter": flag(durationMs({ min: "zero" }), 100, "Maximum random delay that is added to it."),
      ...prefixed("health-criterion-scheduled-", criterionFlags("Scheduled")),
      ...prefixed("health-criterion-initialized-", criterionFlags("Initialized")),
      ...prefixed("health-criterion-running-", criterionFlags("Running")),
      ...prefixed("health-criterion-ready-", criterionFlags("Ready")),
    }),
    "orphaned-pod-grace": flag(
      durationMs({ min: "zero" }),
      3_600_000,
      "Pods whose Node object is gone: for how long pod garbage collection is refused where too few pods would be " +
        "left, counted while it goes on asking about that node. Then they are let go, because the node may be dead. " +
        "0 never refuses it.",
    ),
    "webhook-requires-pod-name": flag(
      choice("WHEN", ["always", "by-cell", "never"]),
      "never",
      "For which cells pod names are written into the admission history.",
    ),
    "webhook-requires-pod-name.by-cell-filter": flag(
      list("CELL,...", cellIDProblem),
      [],
      "With by-cell: the cells whose pod names are written.",
    ),
  }),
  ...inGroup(evictionGroup, {
    "webhook-worker-client-provider": flag(
      choice("HOW", ["none", "single", "map"]),
      "none",
      "How to read the pod of an eviction: none (evictions are refused), single (one worker cluster for all " +
        "cells), or map (one worker cluster per cell).",
    ),
    ...prefixed("webhook-worker-client-provider.single-kube-", kubeFlags),
    ...prefixed("webhook-worker-client-provider.map-", {
      configs: flag(
        map("CELL=PATH,...", { ...cells, valueProblem: () => undefined }),
        {},
        "Path to the kubeconfig file of each cell; an empty path means the pod's own ServiceAccount.",
      ),
      masters: flag(
        map("CELL=URL,...", { ...cells, valueProblem: masterUrlProblem }),
        {},
        "URL of the API server, for some of these cells; overrides the one in the kubeconfig.",
        { mayHoldPassword: true },
      ),
      ...clientFlags,
    }),
  }),
};
