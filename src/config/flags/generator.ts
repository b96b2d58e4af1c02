/** Flags of the generator. */
import { flag, inGroup, prefixed } from "../flag.ts";
import { bool, choice, labelSelector } from "../scalar-types.ts";
import { electorFlags, objectName, queueFlags } from "./control.ts";

export const generatorFlags = inGroup(
  { title: "Generator", roles: ["generator"] },
  {
    ...prefixed("generator-", {
      ...queueFlags,
      ...prefixed(
        "leader-elector-",
        electorFlags(flag(objectName, "podseidon-generator", "Name of the Lease."), "core"),
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
        "Deployments with one replica whose maxUnavailable is a percentage: drainable leaves it to the rounding, " +
          "which by default gives a floor of 0, so one replica is not protected unless you say protected. " +
          "Then no drain can take it.",
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
