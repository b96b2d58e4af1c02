/**
 * Hand-made PodProtectors whose floor follows the replicas of workloads (docs/generator.md#hand-made-podprotectors):
 * the fields that ask for it, and how many pods must stay by them. How many replicas there are is not in the object:
 * src/generator/feeds/followed-floors.ts asks the workloads. Pure.
 */
import * as v from "valibot";
import { type FieldWriter, laterWriter, readFieldWriters } from "../api/field-writers.ts";
import { fieldsOf } from "../api/json.ts";
import { requirementFields, selectorFields } from "../api/v1alpha1/label-selector.ts";
import { objectKey } from "../api/object-key.ts";
import { parseResourceVersion } from "../api/resource-version.ts";
import { annotations, apiGroup, apiVersion, finalizer, podProtectorResource } from "../api/v1alpha1/names.ts";
import { type FloorTarget, type PodProtector } from "../api/v1alpha1/pod-protector.ts";
import { type Member } from "../scale/expected-replicas.ts";
import { assert } from "../util/assert.ts";
import { floorFrom, intOrPercent, type IntOrPercent, percentOf } from "./floor.ts";
import { readOverrides } from "./overrides.ts";
import { type SourceKind, type SourceRecord } from "./source.ts";

/** The PodProtector is its own source. Of what is generated for it, only the floor is written. */
export const followedProtectors: SourceKind = {
  id: `${podProtectorResource}.${apiGroup}`,
  resource: { group: apiGroup, version: "v1alpha1", resource: podProtectorResource },
  apiVersion,
  kind: "PodProtector",
  prefix: "",
  strategyField: undefined,
  floorFields: "spec.maxUnavailable or spec.minAvailablePercent",
  lentBy: "its maxUnavailable or minAvailablePercent",
  isOnlyProtectedAlone: false,
  isNeverWritten: true,
  // It depends on the workloads, too.
  readSpec: () => undefined,
};

export interface FloorWish {
  /** The fields as they are, to compare wishes by. */
  readonly text: string;
  readonly maxUnavailable: IntOrPercent;
  /** "maxUnavailable 25%", for people. */
  readonly words: string;
  /** Undefined: what spec.selector selects. */
  readonly targets: readonly FloorTarget[] | undefined;
  /** Who wrote these fields last. */
  readonly writer: FieldWriter | undefined;
}

export type ReadWish =
  | { readonly kind: "wish"; readonly wish: FloorWish }
  /** Nothing is asked for: minAvailable is what a person has set. */
  | { readonly kind: "none" }
  /** `text` names the field, the value and what is allowed. */
  | { readonly kind: "wrong"; readonly text: string };

const fields = ["maxUnavailable", "minAvailablePercent", "targets"] as const;
/** As the CRD has it. */
const targetsMax = 64;
/** Of a value in a message. */
const shownMax = 100;

const target = v.pipe(
  v.object({
    apiVersion: v.pipe(v.string(), v.nonEmpty("is empty")),
    kind: v.pipe(v.string(), v.nonEmpty("is empty")),
    name: v.optional(v.pipe(v.string(), v.nonEmpty("is empty"))),
    selector: v.optional(v.object(selectorFields(v.object(requirementFields)))),
  }),
  v.check(
    ({ name, selector }) => (name === undefined) !== (selector === undefined),
    "a target has either a name or a selector",
  ),
);
const number = v.check(isNumberOrPercent, "a whole number from 0, or a percentage from 0% to 100%, is needed");
const schema = v.object({
  maxUnavailable: v.optional(v.pipe(intOrPercent, number)),
  minAvailablePercent: v.optional(
    v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(100, "from 0 to 100 is allowed")),
  ),
  targets: v.optional(
    v.pipe(v.array(target), v.minLength(1, "at least one is needed"), v.maxLength(targetsMax, "64 are allowed")),
  ),
});

/** Whether people have made it, and it is in force. Of what is generated these fields mean nothing. */
export function isHandMade({ metadata }: PodProtector): boolean {
  const { annotations: set = {}, finalizers = [], deletionTimestamp } = metadata;
  if (set[annotations.generated] === "true" || finalizers.includes(finalizer)) return false;
  return set[annotations.released] === undefined && deletionTimestamp === undefined;
}

/** Whether its floor follows workloads, or should. */
export function isFollowing(protector: PodProtector): boolean {
  return isHandMade(protector) && fields.some((field) => protector.spec[field] !== undefined);
}

/** Never throws. */
export function readWish({ metadata, spec }: PodProtector): ReadWish {
  const asked = Object.fromEntries(
    fields.flatMap((field) => (spec[field] === undefined ? [] : [[field, spec[field]]])),
  );
  if (Object.keys(asked).length === 0) return { kind: "none" };
  const read = v.safeParse(schema, asked);
  if (!read.success) {
    const [{ message, input }] = read.issues;
    return wrong(`spec.${v.getDotPath(read.issues[0]) ?? ""}: ${message}, and not ${shown(input)}`);
  }
  const { maxUnavailable, minAvailablePercent, targets } = read.output;
  if (maxUnavailable !== undefined && minAvailablePercent !== undefined)
    return wrong("spec.maxUnavailable and spec.minAvailablePercent: only one of them may be there");
  const asShare = minAvailablePercent === undefined ? undefined : `${100 - minAvailablePercent}%`;
  const value = maxUnavailable ?? asShare;
  if (value === undefined) return wrong("spec.targets: maxUnavailable or minAvailablePercent is needed with it");
  const words = asShare === undefined ? `maxUnavailable ${value}` : `minAvailablePercent ${minAvailablePercent}`;
  const { managedFields } = fieldsOf(metadata);
  const writers = fields.map((field) => readFieldWriters(managedFields, field).strategy);
  return {
    kind: "wish",
    wish: {
      text: JSON.stringify([value, targets]),
      maxUnavailable: value,
      words,
      targets: targets as readonly FloorTarget[] | undefined,
      writer: writers.reduce(laterWriter),
    },
  };
}

/** The PodProtector as a source of itself, by the workloads that it follows. */
export function followedSource(
  { metadata, spec }: PodProtector,
  wish: FloorWish,
  found: { readonly replicas: number; readonly members: readonly Member[] },
): SourceRecord {
  const { namespace, name, uid, labels = {}, finalizers = [] } = metadata;
  const resourceVersion = parseResourceVersion(metadata.resourceVersion);
  assert(resourceVersion !== undefined, "it is checked when the object is read");
  const { maxUnavailable } = wish;
  const { replicas, members } = found;
  return {
    kind: followedProtectors,
    namespace,
    name,
    uid,
    resourceVersion,
    key: objectKey(namespace, name),
    labels,
    finalizers,
    isTerminating: false,
    deletedAt: undefined,
    owner: undefined,
    isControlled: false,
    // Who wrote the replicas is a matter of which of the workloads fell (generator/mass-changes/fallen-workloads.ts).
    writers: { replicas: undefined, strategy: wish.writer, labels: undefined, overrides: undefined },
    overrides: readOverrides(undefined),
    spec: {
      replicas,
      minReadySeconds: spec.minReadySeconds,
      selector: spec.selector,
      // Nobody updates pods by it: a number is taken at its word.
      floorBy: (rule) => floorFrom({ replicas, maxUnavailable, takenByUpdate: 0 }, rule),
    },
    // Another wish is a person's word about the workloads that there are.
    workloads: { asked: wish.text, members },
  };
}

function isNumberOrPercent(value: IntOrPercent): boolean {
  if (typeof value === "number") return Number.isSafeInteger(value) && value >= 0;
  const percent = percentOf(value);
  return percent !== undefined && percent <= 100;
}

function wrong(text: string): ReadWish {
  return { kind: "wrong", text };
}

function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? "nothing";
  return text.length > shownMax ? `${text.slice(0, shownMax)}…` : text;
}
