/**
 * More PodProtectors on one pod than are asked about one deletion (docs/refusals.md#too-many-podprotectors). What
 * becomes of each review is in told/crowd.txt.
 */
import { annotations } from "../../../../src/api/v1alpha1/names.ts";
import { cell, deleteReview, endReview, evictReview, type Json, pod, protector } from "../support/objects.ts";
import { tellsAll } from "../support/told.ts";
import { workerOf } from "../support/worker.ts";

const forced = { annotations: { [annotations.forceDelete]: "" } };

/** PodProtectors that would each let 20 pods go. */
function roomy(count: number, healthCriterion?: string, prefix = "p"): Json[] {
  return Array.from({ length: count }, (_, index) => {
    const object = protector({ name: `${prefix}-${index + 10}`, cells: [cell("c1", 100)] });
    return healthCriterion === undefined
      ? object
      : { ...object, spec: { ...(object["spec"] as Json), healthCriterion } };
  });
}

const deleted = deleteReview(pod("p"));
const unready = deleteReview(pod("p", { ready: false }));
const choosy = () => roomy(1, "Running")[0]!;
const released = () => {
  const metadata = choosy()["metadata"] as Json;
  return { ...choosy(), metadata: { ...metadata, annotations: { [annotations.released]: "" } } };
};
const orphan = endReview(pod("p", { nodeName: "node-1" }));

tellsAll(new URL("told/crowd.txt", import.meta.url), {
  "50 PodProtectors on one pod are asked one by one, and the deletion is recorded in each": {
    of: roomy(50),
    do: [deleted],
  },
  "a pod with more than 50 PodProtectors is refused before any write, with what a person needs": {
    of: roomy(51),
    do: [deleted],
  },
  "pods of other labels or another namespace are not affected by a crowd of PodProtectors": {
    of: [...roomy(51), protector({ namespace: "other", cells: [cell("c1", 100)] })],
    do: [{ labels: { app: "db" } }, { namespace: "other" }].map((parts) => deleteReview(pod("p", parts))),
  },
  "with too many PodProtectors what needs no quota goes as ever, and without a write": {
    of: roomy(51),
    do: [{ terminating: true }, { phase: "Failed" }, { phase: "Succeeded" }, { ready: false }].flatMap((parts) => [
      deleteReview(pod("p", parts)),
      endReview(pod("p", parts)),
    ]),
  },
  "with too many PodProtectors a NotReady pod stays if the criterion of one of them needs it": (
    [
      [1, "Running"],
      [1, "Ready"],
      [50, "Ready"],
      [51, "Ready"],
    ] as const
  ).map(([count, criterion]) => ({ of: [...roomy(51), ...roomy(count, criterion, "z-p")], do: [unready] })),
  "a criterion that a crowd of PodProtectors had once, or was released with, keeps no NotReady pod": [
    roomy(1)[0]!,
    released(),
  ].map((after) => ({
    of: [...roomy(52).slice(1), choosy()],
    do: [unready, ({ core }) => core.put(after), unready],
  })),
  "dry runs and evictions of a pod with too many PodProtectors get the same refusal": {
    of: roomy(51),
    with: workerOf(pod("p")),
    do: [
      deleteReview(pod("p"), { dryRun: true }),
      evictReview("p"),
      evictReview("p", { deleteOptions: { dryRun: ["All"] } }),
    ],
  },
  "a forced deletion passes a crowd of PodProtectors, is recorded in no one of it, and is counted": [
    { of: roomy(51), do: [deleteReview(pod("p", forced))] },
    { of: roomy(51), with: { dryRun: true }, do: [deleted] },
  ],
  "too many PodProtectors in one core refuse for all, and the others record a forced deletion": {
    of: { a: roomy(2), b: roomy(51) },
    do: [deleted, deleteReview(pod("p", forced))],
  },
  "pods of a lost node with too many PodProtectors are kept from garbage collection for its grace": {
    of: roomy(51),
    with: { orphanedPodGraceMs: 60_000 },
    do: [orphan, ({ clock }) => clock.advance(60_000), orphan],
  },
});
