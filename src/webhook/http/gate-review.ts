/**
 * Reviews by which an aggregator finds out whether this webhook is asked at all: dry-run deletions of the
 * update-trigger's dummy pod, which alone carries its annotation. They are decided as any other, and every answer that
 * decides, a refusal too, carries the cell in a warning: also of a replica that has not listed its PodProtectors yet.
 */
import { gateWarning } from "../../api/gate-warning.ts";
import { readAnnotations } from "../../api/pod.ts";
import { annotations } from "../../api/v1alpha1/names.ts";
import { type AdmissionRequest } from "../decide/subject.ts";

/** The warnings that the answer to this request carries beside those of its decision. */
export function warningsOf({ dryRun, oldObject }: AdmissionRequest, cellID: string): readonly string[] {
  if (dryRun !== true) return [];
  return Object.hasOwn(readAnnotations(oldObject), annotations.updateTriggerTime) ? [gateWarning(cellID)] : [];
}
