/** The flags about cells that fall silent (docs/accounting.md#silent-cells). Each role takes the same values. */
import { flag, inGroup } from "../flag.ts";
import { choice, durationMs } from "../scalar-types.ts";
import { namespaceText } from "./control.ts";

/** Leases are renewed 18 times and listed 12 times as often: with less a fleet would keep its core busy. */
const silentAfterMsMin = 10_000;

export const cellFlags = inGroup(
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
