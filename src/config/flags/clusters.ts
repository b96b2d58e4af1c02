/**
 * Flags of clusters: cores (one, called `core`, by --core-kube-*, or several by name), cells that fall silent
 * (docs/accounting.md#silent-cells) and cells by label (docs/cells.md#cells-by-label). Each role takes the same values.
 */
import { masterUrlProblem } from "../types/address.ts";
import { map } from "../types/collection-types.ts";
import { flag, inGroup, prefixed } from "../flag.ts";
import { coreNameProblem, labelKeyProblem } from "../types/kubernetes-names.ts";
import { choice, durationMs, optionalText } from "../types/scalar-types.ts";
import { kubeFlags } from "./kube.ts";
import { namespaceText } from "./control.ts";

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

/** Leases are renewed 18 times and listed 12 times as often: with less a fleet would keep its core busy. */
const silentAfterMsMin = 10_000;

const silentCellFlags = inGroup(
  { title: "Cells", roles: ["generator", "aggregator", "webhook"] },
  {
    "cell-lease-namespace": flag(
      namespaceText,
      "default",
      "Namespace of the Leases in the core cluster by which cells show that they are alive.",
    ),
    "silent-cell-after": flag(
      durationMs({ min: silentAfterMsMin }),
      180_000,
      "A cell whose Lease has not been renewed for this long is silent. The time between beats and all other times " +
        "of silent cells scale with it; use the same value everywhere.",
    ),
    "silent-cell-policy": flag(
      choice("POLICY", ["zero", "keep"]),
      "zero",
      "What the pods of a silent cell count for: nothing (zero), or what was counted last (keep), as upstream has it.",
    ),
  },
);

const cellLabelFlags = inGroup(
  { title: "Cells by label", roles: ["aggregator", "webhook"] },
  {
    "webhook-cell-label": flag(
      optionalText("KEY", "a label key such as example.com/cell", labelKeyProblem),
      "",
      "Label of pods whose value is the cell of the pod, for several cells in one worker cluster; the URL of the " +
        "webhook then ends with /by-label. The aggregators of these cells take the same value, so that what does not " +
        "fit is found at their start. Empty: the end of the URL is the cell.",
    ),
  },
);

export const cellFlags = { ...silentCellFlags, ...cellLabelFlags };
