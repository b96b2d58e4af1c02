/** What the floor of a Deployment says about its PodProtector, as conditions (docs/conditions.md). Pure. */
import { type DeploymentFacts } from "../api/deployment.ts";
import { type FoundConditions } from "../api/v1alpha1/conditions.ts";
import { assertNever } from "../util/assert.ts";
import { type Floor, type UndrainableReason, type UnprotectedReason } from "./floor.ts";

/** At any number of replicas the same words: scaling alone costs no write. */
export function floorConditions({ name }: DeploymentFacts, floor: Floor): FoundConditions {
  const found = { Undrainable: false, Unprotected: false } as const;
  switch (floor.kind) {
    case "drainable":
      return found;
    case "undrainable": {
      const message =
        `All replicas of Deployment ${name} must stay: ${undrainableText(floor.reason)}. ` +
        "Outside rolling updates no deletion or eviction is admitted, so no drain of their nodes ends";
      return { ...found, Undrainable: { reason: floor.reason, message } };
    }
    case "unprotected": {
      const message = `No replica of Deployment ${name} must stay: ${unprotectedText(floor.reason)}`;
      return { ...found, Unprotected: { reason: floor.reason, message } };
    }
    default:
      return assertNever(floor);
  }
}

function undrainableText(reason: UndrainableReason): string {
  switch (reason) {
    case "MaxUnavailableZero":
      return "its maxUnavailable is 0";
    case "RoundedDownToZero":
      return "its maxUnavailable rounds down to 0 (--generator-percent-rounding=down)";
    case "SingleReplica":
      return "it has only one (--generator-single-replica=protected)";
    default:
      return assertNever(reason);
  }
}

function unprotectedText(reason: UnprotectedReason): string {
  switch (reason) {
    case "SingleReplica":
      return "it has only one, which its maxUnavailable lets go; run two, or see --generator-single-replica";
    case "MaxUnavailableCoversReplicas":
      return "its maxUnavailable lets all of them go";
    case "Recreate":
      return "its strategy Recreate takes all of them away";
    default:
      return assertNever(reason);
  }
}
