/** Flags of the generator. */
import { labels } from "../../api/v1alpha1/names.ts";
import { serverNameProblem } from "../types/address.ts";
import { flag, inGroup, prefixed } from "../flag.ts";
import { choicesOr, list } from "../types/collection-types.ts";
import { coreNameProblem } from "../types/kubernetes-names.ts";
import { bool, choice, labelSelector, optionalText } from "../types/scalar-types.ts";
import { isCustomSourceID, namespaceModes, sourceIDs } from "../generator-rules.ts";
import { electorFlags, objectName, queueFlags } from "./control.ts";

export const generatorFlags = inGroup(
  { title: "Generator", roles: ["generator"] },
  {
    ...prefixed("generator-", {
      ...queueFlags,
      // With one, it would be the answers of the core, one after the other, that bound how soon all workloads of a
      // large core are protected, and not the rate of the client: at 20 ms each, four times as long.
      "worker-concurrency": { ...queueFlags["worker-concurrency"], default: 8 },
      ...prefixed(
        "leader-elector-",
        electorFlags(flag(objectName, "podseidon-generator", "Name of the Lease."), "core"),
      ),
      core: flag(
        optionalText("CORE", "the name of a core", coreNameProblem),
        "",
        "The core of this generator; required when several are configured, since each has generators of its own.",
      ),
      sources: flag(
        choicesOr("RESOURCE,...", sourceIDs, ", and custom resources such as databases.example.com", isCustomSourceID),
        ["deployments.apps"],
        "Kinds of workloads that get PodProtectors: built-in ones, and custom resources with a subresource scale. " +
          "PodProtectors of other kinds stay in force as they are.",
      ),
      "webhook-certificate-names": flag(
        list("NAME,...", serverNameProblem),
        [],
        "DNS names and IP addresses by which API servers call the webhook. If set, its certificate is issued and " +
          "renewed for them, in the Secret podseidon-webhook-tls of --cell-lease-namespace. Empty issues none.",
      ),
      "source-selector": flag(
        labelSelector(),
        {},
        "Sources to protect, other than Deployments, which have a selector of their own; empty selects all.",
      ),
      "default-mode": flag(
        choice("MODE", namespaceModes),
        "enforced",
        `Mode of namespaces without the label ${labels.mode}: enforced; shadow, where everything is judged and ` +
          "recorded and nothing refused; off, without PodProtectors. System namespaces without the label are off.",
      ),
      "percent-rounding": flag(
        choice("RULE", ["at-least-one", "up", "down"]),
        "at-least-one",
        "How a maxUnavailable percentage above zero becomes the number of pods that may go: at-least-one rounds " +
          "down, but never to 0; up rounds as PodDisruptionBudgets and upstream do; down rounds as Deployments do, " +
          "so that the default 25% lets no pod of one to three replicas go, and no drain of their node ends.",
      ),
      "single-replica": flag(
        choice("POLICY", ["drainable", "protected"]),
        "drainable",
        "Sources with one replica whose maxUnavailable is a percentage: drainable leaves it to the rounding, " +
          "which by default gives a floor of 0, so one replica is not protected unless you say protected. " +
          "Then no drain can take it.",
      ),
      "monitor-enable": flag(bool(), true, "Serve sums over all PodProtectors as metrics generator_monitor_*."),
      "mass-change-policy": flag(
        choice("POLICY", ["hold", "trickle", "allow"]),
        "hold",
        "What becomes of deletions and falls of floors that are too many at once for one cause: hold keeps the " +
          "floors until a person approves or the change is undone; trickle lets one pass a second, and raises the " +
          "same alarm; allow neither counts nor holds.",
      ),
      "mass-change-allow": flag(
        list("MANAGER,..."),
        [],
        "Field managers whose changes of replicas, strategy and labels are never held, such as a scheduler that " +
          "scales to zero at night. Through the subresource scale, 0 leaves no name: then the last scaler counts.",
      ),
    }),
    ...prefixed("deployment-plugin-", {
      "protection-selector": flag(labelSelector(), {}, "Deployments to protect; empty selects all."),
      "protect-non-zero": flag(
        bool(),
        false,
        "Keep protecting a Deployment that is being deleted until it is scaled to zero.",
      ),
    }),
  },
);
