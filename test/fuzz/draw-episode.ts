/** Draws episodes: what the replica is like, which PodProtectors there are, and what reaches it in which order. */
import { type KubeErrorKind } from "../../src/kube/kube-client.ts";
import { errorKinds } from "../unit/kube/error-kinds.ts";
import { createSeededRng } from "../support/seeded-rng.ts";
import { Draws } from "../support/draws.ts";
import { type Episode, type EpisodeSettings, type Fault, type GivenProtector, type Step } from "./episode.ts";
import { mutated } from "./mutate.ts";
import {
  calmNamespace,
  cellIDs,
  looseProtector,
  mixedNamespace,
  steadyName,
  steadyProtector,
} from "./protector-grammar.ts";
import { drawPod, drawReviewStep } from "./review-grammar.ts";

/** Reviews of one episode: enough to use up quotas, few enough to be read. */
const stepsOfEpisode = 70;
const looseNames: readonly string[] = ["loose-a", "loose-b", "loose-c", "a-first"];

/** The episode number `index` of `seed`. */
export function drawEpisode(seed: number, index: number): Episode {
  const draw = new Draws(createSeededRng(Math.imul(seed, 0x9e3779b1) ^ Math.imul(index + 1, 0x85ebca6b)));
  const settings = drawSettings(draw);
  const podNames = ["p0", "p1", "p2", "odd"];
  const pods = Object.fromEntries(podNames.map((name) => [name, drawWorkerPod(draw, name)]));
  const protectors: GivenProtector[] = [
    { text: JSON.stringify(steadyProtector(draw, calmNamespace, steadyName)), isSteady: true },
    { text: JSON.stringify(steadyProtector(draw, mixedNamespace, "steady-b")), isSteady: true },
  ];
  if (draw.chance(0.3)) {
    protectors.push({ text: JSON.stringify(steadyProtector(draw, calmNamespace, "steady-c")), isSteady: true });
  }
  for (const name of looseNames) {
    if (draw.chance(0.18)) protectors.push({ text: looseProtector(draw, mixedNamespace, name, 0), isSteady: false });
  }
  const steps: Step[] = [];
  for (let number = 0; number < stepsOfEpisode; number += 1) {
    steps.push(
      draw.chance(0.9) ? drawReviewStep(draw, `r${number}`, podNames, settings) : drawDisturbance(draw, number),
    );
    if (draw.chance(0.12)) steps.push({ type: "settle" });
  }
  return { settings, protectors, pods, steps };
}

function drawSettings(draw: Draws): EpisodeSettings {
  return {
    ...(draw.chance(0.04) && { dryRun: true }),
    ...(draw.chance(0.15) && { lends: true }),
    ...(draw.chance(0.93) && { hasWorker: true }),
    ...(draw.chance(0.01) && { isUnsynced: true }),
    ...(draw.chance(0.15) && { pathPrefix: "/hook/v1.0" }),
    ...(draw.chance(0.06) && { allowedCells: cellIDs.slice(0, 3) }),
    ...(draw.chance(0.3) && { compactThreshold: draw.pick([-1, 0, 1, 3]) }),
    ...(draw.chance(0.2) && { requiresPodName: true }),
    ...(draw.chance(0.2) && { latencyMs: draw.pick([0, 1, 200, 1_500]) }),
  };
}

function drawWorkerPod(draw: Draws, name: string): string {
  const pod = { ...drawPod(draw, name) };
  return name === "odd" || draw.chance(0.1) ? mutated(draw, pod) : JSON.stringify(pod);
}

function drawDisturbance(draw: Draws, number: number): Step {
  const name = draw.pick(looseNames);
  return draw.weighted<Step>([
    [4, () => ({ type: "object", text: looseProtector(draw, mixedNamespace, name, number) })],
    [1, () => ({ type: "remove", key: `${mixedNamespace}/${name}` })],
    [5, () => ({ type: "deliver" })],
    [3, () => ({ type: "fault", fault: drawFault(draw, name, number) })],
    [1, () => ({ type: "wait", ms: draw.pick([0, 1, 4, 6, 100, 2_000, 7_000]) })],
  ]);
}

/** Conflicts, sick servers and lost connections are what there is most of. */
const errors: readonly KubeErrorKind[] = [...errorKinds, "conflict", "serverError", "network"];

function drawFault(draw: Draws, name: string, number: number): Fault {
  return draw.weighted<Fault>([
    [
      3,
      () => ({
        kind: "refuse",
        error: draw.pick(errors),
        ...(draw.chance(0.2) && { retryAfterMs: draw.pick([0, 1_000, 60_000, -1]) }),
      }),
    ],
    [1, () => ({ kind: "loseAnswer", error: draw.pick(["network", "timeout", "serverError"]) })],
    [2, () => ({ kind: "answer", text: looseProtector(draw, mixedNamespace, name, number) })],
  ]);
}
