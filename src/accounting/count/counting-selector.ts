/**
 * Which pods a PodProtector counts, and which of them it protects. `spec.selector` decides which pods are protected:
 * their deletion is refused below the floor. `spec.aggregationSelector`, or else `spec.selector`, decides which are
 * counted: their number must not fall below the floor, and an admitted deletion of one is recorded
 * (docs/accounting.md#what-is-recorded). The aggregator counts by it (src/aggregator/counting/match-table.ts); the
 * webhook compiles both (src/webhook/protector/protector-view.ts) and finds the PodProtectors of a pod by it.
 */
import { type LabelSelector, type PodProtectorSpec } from "../../api/v1alpha1/pod-protector.ts";

/** The selector of the counted pods. It is meant to select all protected ones too; that is not checked. */
export function countingSelector(spec: Pick<PodProtectorSpec, "selector" | "aggregationSelector">): LabelSelector {
  return spec.aggregationSelector ?? spec.selector;
}
