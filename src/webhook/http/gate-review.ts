/**
 * Reviews by which an aggregator finds out whether this webhook is asked at all: dry-run deletions of the
 * update-trigger's dummy pod, which alone carries its annotation. They are decided as any other, and every answer that
 * decides, a refusal too, carries the cell and the release of this program in warnings: also of a replica that has not
 * listed its PodProtectors yet.
 */
import { gateWarning, releaseWarning } from "../../api/gate-warning.ts";
import { readAnnotations, readLabels } from "../../api/pod.ts";
import { annotations } from "../../api/v1alpha1/names.ts";
import { type PodCells } from "../decide/subject/pod-cell.ts";
import { type AdmissionRequest } from "../decide/subject/subject.ts";

/** The warnings that the answer to this request carries beside those of its decision. `urlCell`: the end of the URL. */
export function warningsOf(
  { dryRun, oldObject }: AdmissionRequest,
  { cells, productVersion }: { readonly cells: Pick<PodCells, "of">; readonly productVersion: string },
  urlCell: string,
): readonly string[] {
  if (dryRun !== true || !Object.hasOwn(readAnnotations(oldObject), annotations.updateTriggerTime)) return [];
  return [gateWarning(cells.of(readLabels(oldObject), urlCell).cellID), releaseWarning(productVersion)];
}
