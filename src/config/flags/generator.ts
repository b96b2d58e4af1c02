/** Flags of the generator. */
import { flag, inGroup, prefixed } from "../flag.ts";
import { bool, labelSelector } from "../scalar-types.ts";
import { electorFlags, queueFlags } from "./control.ts";

export const generatorFlags = inGroup(
  { title: "Generator", roles: ["generator"] },
  {
    ...prefixed("generator-", {
      ...queueFlags,
      ...prefixed("leader-elector-", electorFlags("podseidon-generator", "core")),
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
