/** Statuses that nothing can be judged by, whoever wrote them: the PodProtector is invalid then. */
import { type PodProtectorStatus } from "../../api/v1alpha1/pod-protector.ts";
import { statusBucketsMax } from "./status-room.ts";

/**
 * Characters of packed digests in one object: more than etcd's limit for the whole object, and 70 cells at their limit.
 */
const digestCharactersMax = 1_500_000;

/**
 * Says why no review can be judged by the status: a cell that would count twice, or too much to go through. Undefined =
 * it can.
 */
export function flawOf(status: PodProtectorStatus | undefined): string | undefined {
  let buckets = 0;
  let digestCharacters = 0;
  const cells = new Set<string>();
  for (const { cellID, admissionHistory } of status?.cells ?? []) {
    if (cells.has(cellID)) return `status: the cell ${JSON.stringify(cellID)} is there twice`;
    cells.add(cellID);
    buckets += admissionHistory?.buckets?.length ?? 0;
    if (buckets > statusBucketsMax) return `status: more than ${statusBucketsMax} buckets of admission history`;
    for (const { podUIDDigests } of admissionHistory?.buckets ?? []) digestCharacters += podUIDDigests?.length ?? 0;
    if (digestCharacters > digestCharactersMax)
      return `status: more than ${digestCharactersMax} characters of podUIDDigests`;
  }
  return undefined;
}
