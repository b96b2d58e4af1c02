/** What the floor of a source says about its PodProtector, as conditions (docs/conditions.md). Pure. */
import { type FoundConditions } from "../api/v1alpha1/conditions.ts";
import { type Floor, type UndrainableReason, type UnprotectedReason } from "../sources/floor.ts";
import { type SourceKind, type SourceRef } from "../sources/source.ts";
import { assertNever } from "../util/assert.ts";

/** At any number of replicas the same words: scaling alone costs no write. */
export function floorConditions({ kind, name }: Pick<SourceRef, "kind" | "name">, floor: Floor): FoundConditions {
  const found = { Undrainable: false, Unprotected: false } as const;
  switch (floor.kind) {
    case "drainable":
      return found;
    case "undrainable": {
      const message =
        `All replicas of ${kind.kind} ${name} must stay: ${undrainableText(floor.reason, kind)}. ` +
        "Outside rolling updates no deletion or eviction is admitted, so no drain of their nodes ends";
      return { ...found, Undrainable: { reason: floor.reason, message } };
    }
    case "unprotected": {
      const message = `No replica of ${kind.kind} ${name} must stay: ${unprotectedText(floor.reason, kind)}`;
      return { ...found, Unprotected: { reason: floor.reason, message } };
    }
    default:
      return assertNever(floor);
  }
}

function undrainableText(reason: UndrainableReason, { lentBy }: SourceKind): string {
  switch (reason) {
    case "MaxUnavailableZero":
      return `${lentBy} is 0`;
    case "RoundedDownToZero":
      return `${lentBy} rounds down to 0 (--generator-percent-rounding=down)`;
    case "SingleReplica":
      return "it has only one (--generator-single-replica=protected)";
    default:
      return assertNever(reason);
  }
}

function unprotectedText(reason: UnprotectedReason, { lentBy }: SourceKind): string {
  switch (reason) {
    case "SingleReplica":
      return `it has only one, which ${lentBy} lets go; run two, or see --generator-single-replica`;
    case "MaxUnavailableCoversReplicas":
      return `${lentBy} lets all of them go`;
    case "Recreate":
      return "its strategy Recreate takes all of them away";
    default:
      return assertNever(reason);
  }
}
