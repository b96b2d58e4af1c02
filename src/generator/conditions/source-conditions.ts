/** What a source says about its PodProtector, as conditions (docs/conditions.md). Pure. */
import { type FoundConditions } from "../../api/v1alpha1/conditions.ts";
import { overrides } from "../../api/v1alpha1/names.ts";
import { type PodProtectorSpec } from "../../api/v1alpha1/pod-protector.ts";
import { type Floor, type FloorRule, type UndrainableReason, type UnprotectedReason } from "../../sources/floor.ts";
import { type SourceRecord, type SourceRef } from "../../sources/source.ts";
import { assertNever } from "../../util/assert.ts";
import { type DroppedFields } from "../sources/source-plan.ts";

/** `dropped`: fields that the CRD does not know. */
export function sourceConditionsOf(source: SourceRecord, rule: FloorRule, dropped: DroppedFields): FoundConditions {
  const ignored = Array.from(dropped).filter((field) => source.overrides[field] !== undefined);
  const message = [...source.overrides.problems, ...ignored.map(droppedText)].join(". ");
  const OverrideIgnored = message !== "" && ({ reason: "InvalidAnnotation", message } as const);
  return { ...floorConditions(source, source.spec.floorBy(rule)), OverrideIgnored };
}

function droppedText(field: keyof typeof overrides & keyof PodProtectorSpec): string {
  return (
    `Ignoring the annotation ${overrides[field]}: the CRD of PodProtectors does not know ` +
    `spec.${field}; apply the CRD of this release, and restart the generator`
  );
}

/** At any number of replicas the same words: scaling alone costs no write. */
export function floorConditions({ kind, name }: Pick<SourceRef, "kind" | "name">, floor: Floor): FoundConditions {
  const { overriddenBy } = floor;
  const lentBy = overriddenBy === undefined ? kind.lentBy : `its annotation ${overriddenBy}`;
  // A floor by the fields of the source never does that.
  const updates = overriddenBy === undefined ? "" : ", nor an update that takes pods before new ones are there";
  const found = { Undrainable: false, Unprotected: false } as const;
  switch (floor.kind) {
    case "drainable":
      return found;
    case "undrainable": {
      const message =
        `All replicas of ${kind.kind} ${name} must stay: ${undrainableText(floor.reason, lentBy)}. ` +
        `Outside rolling updates no deletion or eviction is admitted, so no drain of their nodes ends${updates}`;
      return { ...found, Undrainable: { reason: floor.reason, message } };
    }
    case "unprotected": {
      const message = `No replica of ${kind.kind} ${name} must stay: ${unprotectedText(floor.reason, lentBy)}`;
      return { ...found, Unprotected: { reason: floor.reason, message } };
    }
    default:
      return assertNever(floor);
  }
}

function undrainableText(reason: UndrainableReason, lentBy: string): string {
  switch (reason) {
    case "MaxUnavailableZero":
      return `${lentBy} is 0`;
    case "RoundedDownToZero":
      return `${lentBy} rounds down to 0 (--generator-percent-rounding=down)`;
    case "SingleReplica":
      return "it has only one (--generator-single-replica=protected)";
    case "MinAvailableCoversReplicas":
      return `${lentBy} asks for all of them`;
    default:
      return assertNever(reason);
  }
}

function unprotectedText(reason: UnprotectedReason, lentBy: string): string {
  switch (reason) {
    case "SingleReplica":
      return `it has only one, which ${lentBy} lets go; run two, or see --generator-single-replica`;
    case "MaxUnavailableCoversReplicas":
      return `${lentBy} lets all of them go`;
    case "Recreate":
      return "its strategy Recreate takes all of them away";
    case "MinAvailableZero":
      return `${lentBy} asks for none`;
    case "DeletionsNotGuarded":
      return "it guards neither deletions nor evictions";
    default:
      return assertNever(reason);
  }
}
