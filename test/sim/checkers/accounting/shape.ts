/** What holds of a status by itself: its summary is that of its cells, and no pod has two buckets. */
import {
  type PodProtectorSpec,
  type PodProtectorStatus,
  type Summary,
} from "../../../../src/api/v1alpha1/pod-protector.ts";
import { summarize } from "../../../../src/accounting/count/summary.ts";
import { type Kernel } from "../../kernel/kernel.ts";
import { entriesOf } from "./history.ts";

/** What upstream, and releases before these fields, always write. They leave out the others, or what is 0. */
const always: ReadonlySet<string> = new Set<keyof Summary>([
  "totalReplicas",
  "aggregatedAvailableReplicas",
  "estimatedAvailableReplicas",
]);
const extensions: ReadonlySet<string> = new Set<keyof Summary>(["promised", "disruptionsAllowed", "countedCells"]);

/** `before`: the status of the version before, of the same object. */
export function checkShape(
  kernel: Kernel,
  name: string,
  status: PodProtectorStatus,
  spec: PodProtectorSpec,
  before: PodProtectorStatus | undefined,
): void {
  const { maxLatencyMillis: _latency, ...summary } = status.summary;
  const { maxLatencyMillis: _other, ...wanted } = summarize(status.cells, spec);
  const shown: Readonly<Record<string, unknown>> = summary;
  const isAsWanted = ([field, value]: readonly [string, number | undefined]): boolean => {
    if (shown[field] === value) return true;
    if (shown[field] === undefined) return !always.has(field) && (value === 0 || extensions.has(field));
    // After an edit of the spec it is what it was, until the status is written.
    return field === "disruptionsAllowed" && shown[field] === before?.summary.disruptionsAllowed;
  };
  if (!Object.entries(wanted).every(isAsWanted) || Object.keys(shown).some((field) => !Object.hasOwn(wanted, field)))
    kernel.fail(`${name}: the summary ${JSON.stringify(summary)} is not ${JSON.stringify(wanted)}`);
  for (const cell of status.cells) {
    const digests = entriesOf(cell).map(({ digest }) => digest);
    if (new Set(digests).size < digests.length) kernel.fail(`${name}: a pod has two buckets in ${cell.cellID}`);
  }
}
