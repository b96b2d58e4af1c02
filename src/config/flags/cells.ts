/**
 * The flags about cells that fall silent (docs/accounting.md#silent-cells) and about cells by label
 * (docs/cells.md#cells-by-label). Each role takes the same values.
 */
import { flag, inGroup } from "../flag.ts";
import { labelKeyProblem } from "../types/kubernetes-names.ts";
import { choice, durationMs, text } from "../types/scalar-types.ts";
import { namespaceText } from "./control.ts";

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
      text("KEY", {
        allowed: "empty, or a label key such as example.com/cell",
        problemOf: (value) => (value === "" ? undefined : labelKeyProblem(value)),
      }),
      "",
      "Label of pods whose value is the cell of the pod, for several cells in one worker cluster; the URL of the " +
        "webhook then ends with /by-label. The aggregators of these cells take the same value, so that what does not " +
        "fit is found at their start. Empty: the end of the URL is the cell.",
    ),
  },
);

export const cellFlags = { ...silentCellFlags, ...cellLabelFlags };
