/**
 * Reads a PodProtector from JSON that came from outside.
 * - Unknown fields are kept, so that a status written back loses nothing that a newer version put there.
 * - Times of the status get Kubernetes' own form, to the microsecond. One that is malformed becomes `MalformedTime` in
 *   a bucket, and absent elsewhere. Malformed versions of the status are absent.
 * - Malformed conditions are absent.
 * - Counters are taken as they are; accounting/history/bucket.ts gives odd ones a safe meaning.
 */
import * as v from "valibot";
import { type Condition, type PodProtector } from "./pod-protector.ts";
import { readMicroTime } from "../micro-time.ts";
import { parseResourceVersion } from "../resource-version.ts";
import { requirementFields, selectorFields, stringMap } from "./label-selector.ts";
import { apiVersion } from "./names.ts";

const count = v.pipe(v.number(), v.integer(), v.minValue(0));

const labelSelector = v.looseObject(selectorFields(v.looseObject(requirementFields)));
const bucket = v.looseObject({
  startTime: v.string(),
  podName: v.optional(v.string()),
  podUID: v.optional(v.string()),
  endTime: v.optional(v.string()),
  counter: v.optional(v.pipe(v.number(), v.integer())),
  podResourceVersion: v.optional(v.string()),
  evictionResourceVersion: v.optional(v.string()),
  podUIDDigests: v.optional(v.string()),
});
const aggregation = v.looseObject({
  totalReplicas: count,
  availableReplicas: count,
  readyReplicas: v.optional(count),
  scheduledReplicas: v.optional(count),
  runningReplicas: v.optional(count),
  initializedReplicas: v.optional(count),
  unseenReplicas: v.optional(count),
  foreignReplicas: v.optional(count),
  countedOwners: v.optional(v.array(v.string())),
  lastEventTime: v.optional(v.string()),
  resourceVersion: v.optional(v.string()),
  countedAt: v.optional(v.string()),
  countedAhead: v.optional(v.string()),
  recountedAt: v.optional(v.string()),
  countedSpec: v.optional(v.string()),
  countedMinReadySeconds: v.optional(v.number()),
  countedGeneration: v.optional(v.number()),
});
const cell = v.looseObject({
  cellID: v.string(),
  aggregation: v.optional(aggregation),
  admissionHistory: v.optional(v.looseObject({ buckets: v.optional(v.array(bucket)) })),
});
// For people only: a malformed list is left out, and the object stays valid. Nobody changes one, so none is copied.
const isConditions = (value: unknown): boolean => Array.isArray(value) && value.every(isCondition);
const conditions = v.fallback(v.optional(v.custom<readonly Condition[]>(isConditions)), undefined);
const status = v.looseObject({
  // Go writes null for a nil slice.
  cells: v.pipe(
    v.nullish(v.array(cell), []),
    v.transform((cells) => cells ?? []),
  ),
  summary: v.looseObject({
    totalReplicas: v.number(),
    aggregatedAvailableReplicas: v.number(),
    estimatedAvailableReplicas: v.number(),
  }),
  conditions,
});
const podProtector = v.looseObject({
  apiVersion: v.literal(apiVersion),
  kind: v.literal("PodProtector"),
  metadata: v.looseObject({
    name: v.string(),
    namespace: v.string(),
    uid: v.string(),
    resourceVersion: v.string(),
    deletionTimestamp: v.optional(v.string()),
    labels: v.optional(stringMap),
    annotations: v.optional(stringMap),
    finalizers: v.optional(v.array(v.string())),
  }),
  spec: v.looseObject({
    minAvailable: v.pipe(v.number(), v.integer()),
    minReadySeconds: v.pipe(v.number(), v.integer()),
    selector: labelSelector,
    aggregationSelector: v.optional(labelSelector),
    maxPodsPerCell: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1))),
    foreignOwners: v.optional(v.array(v.string())),
    admissionHistoryConfig: v.optional(
      v.looseObject({
        maxConcurrentLag: v.optional(v.number()),
        compactThreshold: v.optional(v.number()),
        aggregationRateMillis: v.optional(v.number()),
      }),
    ),
  }),
  status: v.optional(status),
});

function isCondition(value: Partial<Record<keyof Condition, unknown>> | null): boolean {
  const { type, status: state, reason, message, lastTransitionTime: time } = value ?? {};
  const isKnown = state === "True" || state === "False" || state === "Unknown";
  return isKnown && [type, reason, message, time].every((text) => typeof text === "string");
}

/** The conditions of an object that need not be valid otherwise; undefined = there are none. */
export function readConditions(raw: unknown): readonly Condition[] | undefined {
  return v.parse(conditions, raw);
}

export type DecodeResult =
  | { readonly ok: true; readonly protector: PodProtector }
  /** `reason` names the field and what is wrong with it. */
  | { readonly ok: false; readonly reason: string };

/** Never throws, and leaves `raw` as it is. List items lack apiVersion and kind; pass them with `withTypeMeta`. */
export function decodePodProtector(raw: unknown): DecodeResult {
  const result = v.safeParse(podProtector, raw);
  if (result.success) {
    for (const one of result.output.status?.cells ?? []) parseCell(one);
    return { ok: true, protector: result.output as unknown as PodProtector };
  }
  const issue = result.issues[0];
  return { ok: false, reason: `${v.getDotPath(issue) ?? "object"}: ${issue.message}` };
}

/**
 * Parses versions and times in place; `cell` is valibot's copy. Not by the schema: a transformation costs more than the
 * check, and nearly all texts stay as they are.
 */
function parseCell({ aggregation: counts, admissionHistory }: v.InferOutput<typeof cell>): void {
  if (counts !== undefined) {
    if (!isVersion(counts.resourceVersion)) delete counts.resourceVersion;
    for (const name of ["lastEventTime", "countedAt", "countedAhead", "recountedAt"] as const) {
      const time = counts[name] === undefined ? undefined : readMicroTime(counts[name]);
      if (time === undefined) delete counts[name];
      else counts[name] = time;
    }
  }
  for (const bucket of admissionHistory?.buckets ?? []) {
    bucket.startTime = readMicroTime(bucket.startTime) ?? "";
    if (bucket.endTime !== undefined) bucket.endTime = readMicroTime(bucket.endTime) ?? "";
    for (const name of ["podResourceVersion", "evictionResourceVersion"] as const)
      if (bucket[name] !== undefined && !isVersion(bucket[name])) delete bucket[name];
  }
}

function isVersion(text: string | undefined): boolean {
  return parseResourceVersion(text) !== undefined;
}

/** Adds the apiVersion and kind that the items of a list do not carry. */
export function withTypeMeta(raw: unknown): unknown {
  return typeof raw === "object" && raw !== null ? { apiVersion, kind: "PodProtector", ...raw } : raw;
}
