/** What deletions of pods would come to that are asked for in one go, none of them settled before the last. Pure. */
import { type ProtectorID } from "../../api/object-key.ts";
import { type Answer, Guard, type Guarding, type GuardOptions } from "./guard.ts";
import { type Obstacle, obstaclesOf } from "./obstacles.ts";
import { deletionOf, type SimulatedPod } from "./simulated-pods.ts";

export interface JudgedDeletion {
  readonly pod: SimulatedPod;
  readonly protectors: readonly ProtectorID[];
  readonly answer: Answer;
}

/** In the order given: the first ones get what is free. */
export function judgeDeletions(
  options: GuardOptions,
  pods: readonly SimulatedPod[],
  cellID: string,
): readonly JudgedDeletion[] {
  const guard = new Guard(options);
  return pods.map((pod) => ({
    pod,
    protectors: guard.protectorsOf(pod.record).map(({ id }) => id),
    answer: guard.ask(deletionOf(pod, "delete", cellID)),
  }));
}

export type FoundObstacle = Obstacle & { readonly pods: readonly string[] };

/** What is in the way of those that are refused, each once, with the pods that it keeps. */
export function obstaclesOfDeletions(
  judged: readonly JudgedDeletion[],
  protectors: readonly Guarding[],
  cellID: string,
): readonly FoundObstacle[] {
  const refused = { protectors: new Map(protectors.map((one) => [one.id, one])), cellID };
  return gathered(
    judged.flatMap(({ pod, answer }) =>
      answer.kind === "refused"
        ? [{ pod, obstacles: obstaclesOf({ by: "podprotectors", refusals: answer.refusals }, refused) }]
        : [],
    ),
  );
}

/** Each obstacle once, with the pods that it keeps. */
export function gathered(
  kept: readonly { readonly pod: SimulatedPod; readonly obstacles: readonly Obstacle[] }[],
): readonly FoundObstacle[] {
  const found = new Map<string, Obstacle & { pods: string[] }>();
  for (const { pod, obstacles } of kept) {
    for (const obstacle of obstacles) {
      const key = JSON.stringify([obstacle.by, obstacle.text]);
      const known = found.get(key) ?? { ...obstacle, pods: [] };
      known.pods.push(pod.record.key);
      found.set(key, known);
    }
  }
  return [...found.values()];
}
