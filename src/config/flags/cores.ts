/** Flags of the core clusters: one, called `core`, by --core-kube-*, or several by name. */
import { masterUrlProblem } from "../types/address.ts";
import { map } from "../types/collection-types.ts";
import { flag, inGroup, prefixed } from "../flag.ts";
import { coreNameProblem } from "../types/kubernetes-names.ts";
import { choice } from "../types/scalar-types.ts";
import { kubeFlags } from "./kube.ts";

const names = { keyProblem: coreNameProblem };

export const coreFlags = inGroup(
  { title: "Core clusters", roles: ["generator", "aggregator", "webhook"] },
  {
    ...prefixed("core-kube-", kubeFlags),
    "podprotector-source-provider": flag(
      choice("PROVIDER", ["core-only", "map"]),
      "core-only",
      "Where PodProtectors are read and written: core-only (upstream's only provider) is one core cluster, called " +
        "core, that of --core-kube-config and --core-kube-master; map is several, each with a name. PodProtectors of " +
        "one name in two cores are two budgets, and both must agree.",
    ),
    ...prefixed("podprotector-source-provider.map-", {
      configs: flag(
        map("CORE=PATH,...", { ...names, valueProblem: () => undefined }),
        {},
        "Path to the kubeconfig file of each core; an empty path means the pod's own ServiceAccount. The other " +
          "flags of --core-kube-* hold for each core.",
      ),
      masters: flag(
        map("CORE=URL,...", { ...names, valueProblem: masterUrlProblem }),
        {},
        "URL of the API server, for some of these cores; overrides the one in the kubeconfig.",
        { mayHoldPassword: true },
      ),
    }),
  },
);
