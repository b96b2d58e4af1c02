/**
 * Annotations of a workload that override what the generator derives from its fields, for every kind alike
 * (docs/generator.md#overrides). Pure.
 *
 * What cannot be read counts as absent and is told: then what is derived holds, never nothing. What can be read is
 * taken at its word, as people know it from PodDisruptionBudgets, with one exception: the floor is never above the
 * number of replicas. So a scale-down passes, and an update with surge pods.
 */
import { type AdmissionHistoryConfig } from "../api/v1alpha1/pod-protector.ts";
import { fieldsOf, type Json } from "../api/json.ts";
import { isGroupKind } from "../api/pod.ts";
import { ignoredAnnotationText } from "../api/ignored-annotation.ts";
import { apiGroup, overrides as names } from "../api/v1alpha1/names.ts";
import { type HealthCriterion, healthCriteria } from "../accounting/count/health-criterion.ts";
import { nearest } from "../config/types/nearest.ts";
import { type Floor, floorFrom, type FloorRule, type IntOrPercent, percentOf, podsOf } from "./floor.ts";

export interface Overrides {
  readonly isOptedOut: boolean;
  readonly floor: FloorOverride | undefined;
  readonly minReadySeconds: number | undefined;
  readonly keep: KeepWord;
  /** Fields of the PodProtector that nothing else derives. */
  readonly healthCriterion: HealthCriterion | undefined;
  readonly maxPodsPerCell: number | undefined;
  readonly historyConfig: AdmissionHistoryConfig;
  /** Kinds of controllers whose pods are left out, besides those that its kind leaves out; undefined = not said. */
  readonly foreignOwners: readonly string[] | undefined;
  /** What is ignored, and why, for people. */
  readonly problems: readonly string[];
}

export interface FloorOverride {
  readonly name: typeof names.minAvailable | typeof names.maxUnavailable;
  readonly value: IntOrPercent;
}

/** Below which number a floor may not fall unheld; true = below half of the last approved one. */
export type Keep = number | true;

/** What is said of it. "unreadable" = something, which takes nothing away; undefined = nothing. */
export type KeepWord = Keep | "unreadable" | undefined;

/** What is overridden: a part of SourceSpec. */
interface Derived {
  readonly replicas: number;
  readonly minReadySeconds: number;
  readonly floorBy: (rule: FloorRule) => Floor;
}

/** Most workloads have none, and share this one. */
const noOverrides: Overrides = {
  isOptedOut: false,
  floor: undefined,
  keep: undefined,
  minReadySeconds: undefined,
  healthCriterion: undefined,
  maxPodsPerCell: undefined,
  historyConfig: {},
  foreignOwners: undefined,
  problems: [],
};

/** So many of one object are told: an Event and a condition hold about a thousand characters. */
const problemsMax = 5;
/** The largest that the fields of a PodProtector hold (int32). */
const numberMax = 2_147_483_647;

const knownNames: readonly string[] = Object.values(names);
const shortNames = knownNames.map(shortNameOf);

/** `raw`: metadata.annotations. Never throws. */
export function readOverrides(raw: unknown): Overrides {
  const all = fieldsOf(raw);
  const keys = Object.keys(all).filter((key) => key.includes("podseidon"));
  if (keys.length === 0) return noOverrides;
  const reader = new Reader(all);
  const protect = reader.read(names.protect, "true or false", (text) =>
    text === "true" || text === "false" ? text : undefined,
  );
  const whole = (name: string, min = 0): number | undefined =>
    reader.read(name, `a whole number from ${min} to ${numberMax}`, (text) => wholeNumber(text, min));
  const found = {
    isOptedOut: protect === "false",
    floor: floorIn(reader),
    keep: keepIn(reader),
    minReadySeconds: whole(names.minReadySeconds),
    healthCriterion: reader.read(names.healthCriterion, `one of ${healthCriteria.join(", ")}`, (text) =>
      healthCriteria.find((criterion) => criterion === text),
    ),
    maxPodsPerCell: whole(names.maxPodsPerCell, 1),
    historyConfig: defined({
      maxConcurrentLag: whole(names.maxConcurrentLag),
      compactThreshold: whole(names.compactThreshold, 1),
      aggregationRateMillis: whole(names.aggregationRateMillis),
    }),
    foreignOwners: reader.read(names.foreignOwners, allowedOwners, readOwners),
  };
  const mistyped = keys.toSorted().flatMap((key) => mistypedText(key) ?? []);
  const problems = [...reader.problems, ...mistyped];
  const more = problems.length > problemsMax ? [`And ${problems.length - problemsMax} more`] : [];
  return { ...found, problems: [...problems.slice(0, problemsMax), ...more] };
}

/** The spec of a source, with its overrides in it. */
export function overridden<T extends Derived>(spec: T, { floor, minReadySeconds }: Overrides): T {
  if (floor === undefined && minReadySeconds === undefined) return spec;
  return {
    ...spec,
    minReadySeconds: minReadySeconds ?? spec.minReadySeconds,
    floorBy: floor === undefined ? spec.floorBy : (rule) => floorBy(floor, spec.replicas, rule),
  };
}

/** Whether both set the floor in the same way, and both ask for protection or neither does. */
export function isSameProtection(a: Overrides, b: Overrides): boolean {
  return a.isOptedOut === b.isOptedOut && a.floor?.name === b.floor?.name && a.floor?.value === b.floor?.value;
}

class Reader {
  readonly #all: Json;
  readonly problems: string[] = [];

  constructor(all: Json) {
    this.#all = all;
  }

  has(name: string): boolean {
    return this.#all[name] !== undefined;
  }

  /** Undefined when it is absent, or is not understood, which becomes a problem. `allowed`: for people. */
  read<T>(name: string, allowed: string, parse: (text: string) => T | undefined): T | undefined {
    const text = this.#all[name];
    if (typeof text !== "string") return undefined;
    const value = parse(text);
    if (value === undefined) this.problems.push(ignoredAnnotationText({ annotation: name, value: text, allowed }));
    return value;
  }
}

function keepIn(reader: Reader): KeepWord {
  return reader.has(names.keep) ? (reader.read(names.keep, allowedKeep, readKeep) ?? "unreadable") : undefined;
}

/** As many as the CRD takes, less those that are left out anyway. */
const ownersMax = 29;
/** Kinds that run replicas: without their pods nothing would be left of a workload, which `protect` says better. */
const replicaOwners: ReadonlySet<string> = new Set([
  "CloneSet.apps.kruise.io",
  "ReplicaSet.apps",
  "ReplicationController",
  "StatefulSet.apps",
  "StatefulSet.apps.kruise.io",
]);
const allowedOwners =
  `up to ${ownersMax} kinds with their groups, such as Job.batch,Workflow.argoproj.io, ` +
  `and none that runs replicas (${[...replicaOwners].join(", ")})`;

function readOwners(text: string): readonly string[] | undefined {
  const kinds = [...new Set(text.split(",").map((kind) => kind.trim()))].filter((kind) => kind !== "");
  const isAllowed = (kind: string): boolean => isGroupKind(kind) && !replicaOwners.has(kind);
  return kinds.length <= ownersMax && kinds.every(isAllowed) ? kinds : undefined;
}

const allowedPods = `a whole number from 0 to ${numberMax}, or a percentage from 0% to 100%`;

function floorIn(reader: Reader): FloorOverride | undefined {
  const [one, other] = [names.minAvailable, names.maxUnavailable] as const;
  if (reader.has(one) && reader.has(other)) {
    reader.problems.push(`Ignoring the annotations ${one} and ${other}: only one of them may be there`);
    return undefined;
  }
  const name = reader.has(one) ? one : other;
  const value = reader.read(name, allowedPods, numberOrPercent);
  return value === undefined ? undefined : { name, value };
}

function wholeNumber(text: string, min: number): number | undefined {
  const value = /^\d{1,10}$/.test(text) ? Number(text) : -1;
  return value >= min && value <= numberMax ? value : undefined;
}

/** For people. */
export const allowedKeep = `true, or a whole number from 1 to ${numberMax}`;

/** Of an annotation or a label; undefined = not understood. Never throws. */
export function readKeep(text: string): Keep | undefined {
  return text === "true" ? true : wholeNumber(text, 1);
}

function numberOrPercent(text: string): IntOrPercent | undefined {
  const percent = percentOf(text);
  return percent === undefined ? wholeNumber(text, 0) : percent <= 100 ? text : undefined;
}

/** `replicas` bound it from above: pods that nobody wants are never there to stay. */
function floorBy({ name, value }: FloorOverride, replicas: number, rule: FloorRule): Floor {
  const by = { overriddenBy: name };
  // No update is thought of: whoever lets less go than it takes has said that it is to wait.
  if (name === names.maxUnavailable)
    return { ...floorFrom({ replicas, maxUnavailable: value, takenByUpdate: 0 }, rule), ...by };
  // A percentage rounds up, as in PodDisruptionBudgets.
  const minAvailable = Math.min(replicas, podsOf(value, replicas, Math.ceil));
  const floor = { minAvailable, replicas, ...by };
  if (replicas > 0 && minAvailable === replicas)
    return { ...floor, kind: "undrainable", reason: "MinAvailableCoversReplicas" };
  if (replicas > 0 && minAvailable === 0) return { ...floor, kind: "unprotected", reason: "MinAvailableZero" };
  return { ...floor, kind: "drainable" };
}

/** Of a key that is one of ours by its looks, and means nothing; undefined = it is none, or known. */
function mistypedText(key: string): string | undefined {
  if (knownNames.includes(key)) return undefined;
  const isOurs = key.startsWith(`${apiGroup}/`);
  // Another prefix is somebody else's, unless what follows is the name of an override.
  if (!isOurs && !shortNames.includes(shortNameOf(key))) return undefined;
  const meant = isOurs ? nearest(shortNameOf(key), shortNames) : shortNameOf(key);
  const advice = meant === undefined ? "" : `; did you mean ${apiGroup}/${meant}?`;
  return `Ignoring the annotation ${shortened(key)}: a workload has none of that name${advice}`;
}

/** Of a name in a message: more than any of ours has. */
const shownMax = 100;

function shortened(key: string): string {
  return key.length > shownMax ? `${key.slice(0, shownMax)}…` : key;
}

function shortNameOf(key: string): string {
  return key.slice(key.indexOf("/") + 1);
}

function defined<T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const entries = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as { [K in keyof T]?: Exclude<T[K], undefined> };
}
