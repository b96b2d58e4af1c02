/**
 * PodProtectors that nobody should write: invalid specs, and statuses that no aggregator or webhook
 * left.
 */
import { type JsonObject } from "../../../double/engine/object.ts";
import { type Draws } from "../../../support/draws.ts";
import { drawBrokenSelector } from "../selectors.ts";

/** More buckets and digests than a webhook goes through. */
const tooManyBuckets = 10_001;
const tooManyDigestCharacters = 1_500_001;

/** `sound`: a spec that can be understood, of which a part is broken. */
export function drawBrokenSpec(draws: Draws, sound: JsonObject): unknown {
  return draws.oneOf<unknown>(
    undefined,
    "nothing",
    { ...sound, minAvailable: draws.oneOf<unknown>("many", 1.5, null, "x".repeat(2_000)) },
    { ...sound, selector: { matchExpressions: [{ key: "tier", operator: "N".repeat(2_000) }] } },
    { ...sound, minReadySeconds: "soon" },
    { ...sound, minAvailable: -3, minReadySeconds: -1 },
    { ...sound, selector: drawBrokenSelector(draws) },
    { ...sound, selector: drawBrokenSelector(draws) },
    { ...sound, aggregationSelector: drawBrokenSelector(draws) },
    { ...sound, admissionHistoryConfig: { compactThreshold: "few" } },
  );
}

export function drawBrokenStatus(draws: Draws): unknown {
  const startTime = "2026-01-01T00:00:00.000000Z";
  const summary = { totalReplicas: 0, aggregatedAvailableReplicas: 0, estimatedAvailableReplicas: 0 };
  const cell = { cellID: draws.oneOf("a", "elsewhere") };
  const aggregation = { totalReplicas: 3, availableReplicas: 3 };
  const withBuckets = (buckets: readonly JsonObject[], counts: JsonObject = {}): JsonObject => ({
    summary,
    cells: [{ ...cell, ...counts, admissionHistory: { buckets } }],
  });
  const draw = draws.between(0, 1);
  if (draw < 0.02) return withBuckets(Array.from({ length: tooManyBuckets }, () => ({ startTime })));
  // Counted in a history of the worker that is no more.
  if (draw > 0.85)
    return { summary, cells: [{ cellID: "a", aggregation: { ...aggregation, resourceVersion: "99999999" } }] };
  if (draw < 0.04) return withBuckets([{ startTime, podUIDDigests: "A".repeat(tooManyDigestCharacters) }]);
  return draws.oneOf<unknown>(
    "fine",
    { summary, cells: "none" },
    { summary, cells: null },
    { summary, cells: [cell, cell] },
    { summary, cells: [{ ...cell, aggregation: { totalReplicas: -1, availableReplicas: 0 } }] },
    { summary, cells: [{ ...cell, aggregation: { totalReplicas: 1, availableReplicas: 1, readyReplicas: 1 } }] },
    { summary, cells: [{ ...cell, aggregation: { ...aggregation, resourceVersion: "99999999" } }] },
    { cells: [] },
    // Of many clusters, most of which are gone.
    {
      summary,
      cells: ["a", ...Array.from({ length: 11 }, (_, index) => `former-${index}`)].map((cellID) => ({
        cellID,
        aggregation: { totalReplicas: 1, availableReplicas: 1 },
      })),
    },
    withBuckets([{ startTime: "soon" }, { startTime, podUID: 5 }]),
    withBuckets([
      { startTime: "soon", podUID: "x", podResourceVersion: "99999999" },
      { startTime, counter: -5 },
    ]),
    withBuckets(
      Array.from({ length: 701 }, (_, index) => ({ startTime, podUID: `p${index}` })),
      { aggregation },
    ),
    withBuckets(
      Array.from({ length: 2_001 }, (_, index) => ({
        startTime,
        podUID: `q${index}`,
        podResourceVersion: "99999999",
      })),
      { aggregation },
    ),
  );
}
