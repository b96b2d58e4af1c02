/**
 * PodProtectors: steady ones, whose rules are checked, and loose ones with everything that the API and its abuse allow.
 */
import { digestOfUID, packDigests } from "../../src/accounting/history/uid-digest.ts";
import { cell, type Json, protector } from "../unit/webhook/support/objects.ts";
import { type Draws } from "../support/draws.ts";
import { mutated } from "./mutate.ts";

export const cellIDs: readonly string[] = ["c1", "c2", "c3", "Zelle_1.a"];
/** Here are steady PodProtectors only. */
export const calmNamespace = "calm";
/** One that every episode has there. */
export const steadyName = "steady-a";
export const mixedNamespace = "mixed";

/** Well-formed, with counts of most cells and a quota of a few pods. */
export function steadyProtector(draw: Draws, namespace: string, name: string): Json {
  const cells = cellIDs.slice(0, 1 + draw.below(3)).map((cellID) => {
    const count = 5 + draw.below(30);
    const extra = draw.chance(0.3)
      ? { readyReplicas: count + draw.below(3), runningReplicas: count + draw.below(5) }
      : {};
    return cell(cellID, count, extra, draw.chance(0.4) ? buckets(draw) : []);
  });
  const counted = cells.reduce(
    (sum, { aggregation }) => sum + (aggregation as { availableReplicas: number }).availableReplicas,
    0,
  );
  return protector({
    namespace,
    name,
    minAvailable: Math.max(1, counted - draw.below(25)),
    cells,
    ...(draw.chance(0.2) && {
      selector: { matchExpressions: [{ key: "app", operator: "In", values: ["web", "web", "api"] }] },
    }),
    ...(draw.chance(0.15) && {
      selector: { matchLabels: { app: "web", tier: "front" } },
      aggregationSelector: { matchLabels: { app: "web" } },
    }),
    ...(draw.chance(0.2) && {
      admissionHistoryConfig: draw.pick<Json>([
        { compactThreshold: 2 },
        { maxConcurrentLag: 3 },
        { compactThreshold: 0, maxConcurrentLag: -1 },
      ]),
    }),
  });
}

/** Of every kind, well-formed as the API server would let them pass; no pod is in two of them. */
function buckets(draw: Draws): Json[] {
  return Array.from({ length: draw.below(4) }, (_, index): Json =>
    draw.weighted<Json>([
      [
        3,
        () => ({
          startTime: "2026-01-01T00:00:00.000001Z",
          podUID: `uid-p${index}`,
          podResourceVersion: String(400 + index),
        }),
      ],
      [1, () => ({ startTime: "2026-01-01T00:00:00Z", podUID: `uid-old${index}`, endTime: "2026-01-01T00:00:01Z" })],
      [
        1,
        () => ({
          startTime: "2026-01-01T00:00:00Z",
          endTime: "2026-01-01T00:00:01Z",
          counter: draw.pick([-5, 0, 2, 4]),
        }),
      ],
      [2, () => packed(draw, 6 + 3 * index)],
    ]),
  );
}

function packed(draw: Draws, first: number): Json {
  const digests = Array.from({ length: 1 + draw.below(3) }, (_, index) => digestOfUID(`uid-p${first + index}`));
  return {
    startTime: "2026-01-01T00:00:00Z",
    counter: digests.length,
    podResourceVersion: "450",
    podUIDDigests: packDigests(digests),
  };
}

const looseSelectors: readonly Json[] = [
  { matchLabels: { app: "web" } },
  { matchLabels: { app: "web" } },
  {},
  { matchLabels: { app: "api" } },
  { matchExpressions: [{ key: "app", operator: "In", values: ["web", "web"] }] },
  { matchExpressions: [{ key: "tier", operator: "DoesNotExist" }] },
  { matchExpressions: [{ key: "app", operator: "NotIn", values: [] }] },
  { matchExpressions: [{ key: "app", operator: "Gt", values: ["1"] }] },
  { matchExpressions: [{ key: "__proto__", operator: "Exists" }] },
  { matchLabels: { constructor: "x", toString: "y" } },
  { matchExpressions: [{ key: "app", operator: "In", values: Array.from({ length: 40 }, (_, index) => `v${index}`) }] },
];

/** JSON of an object that anybody who may write PodProtectors could have written; or not even that. */
export function looseProtector(draw: Draws, namespace: string, name: string, generation: number): string {
  const cells = Array.from({ length: draw.below(5) }, () =>
    cell(draw.pick(cellIDs), draw.below(40), looseCounts(draw), buckets(draw)),
  );
  const object = protector({
    namespace,
    name,
    uid: draw.chance(0.9) ? `uid-of-${name}` : `uid-of-${name}-${generation}`,
    minAvailable: draw.pick([0, 0, 1, 5, 20, -3, 2 ** 31]),
    minReadySeconds: draw.pick([0, 0, 10, 3_600, -5, 1e12]),
    selector: draw.pick(looseSelectors),
    cells,
    ...(draw.chance(0.2) && { aggregationSelector: draw.pick(looseSelectors) }),
    ...(draw.chance(0.1) && { annotations: { "podseidon.kubewharf.io/released": "" } }),
    ...(draw.chance(0.2) && {
      admissionHistoryConfig: { compactThreshold: draw.pick([-1, 0, 1, 5]), maxConcurrentLag: draw.pick([-1, 0, 1]) },
    }),
  });
  return draw.weighted<string>([
    [5, () => JSON.stringify(object)],
    [5, () => mutated(draw, object)],
    [0.1, () => JSON.stringify(withHugeStatus(draw, object))],
  ]);
}

function looseCounts(draw: Draws): Json {
  return draw.weighted<Json>([
    [6, () => ({})],
    [1, () => ({ countedSpec: "of another spec" })],
    [1, () => ({ countedAt: "2026-01-01T00:00:00.000000Z", recountedAt: "2026-01-01T00:00:00.000000Z" })],
    [1, () => ({ resourceVersion: draw.pick(["10", "999999999999999999999", "x", ""]) })],
    [1, () => ({ availableReplicas: draw.pick([-3, 1e300, 0]) })],
  ]);
}

function withHugeStatus(draw: Draws, object: Json): Json {
  const one = { startTime: "2026-01-01T00:00:00Z", counter: draw.pick([1, -5, 1e15]) };
  return {
    ...object,
    status: {
      ...(object["status"] as Json),
      cells: [
        cell(
          "c1",
          100,
          {},
          Array.from({ length: 10_100 }, () => one),
        ),
      ],
    },
  };
}
