/**
 * What must hold for the steady PodProtectors of an episode, whatever else is sent: no more deletions are allowed than
 * their quota, each is held by a status write, each refusal is true, and nobody else's state is touched. Shares no code
 * with the decision but the digests and the parsers of versions and times.
 */
import { isDeepStrictEqual } from "node:util";
import { parseTime } from "../../src/api/micro-time.ts";
import { parseResourceVersion } from "../../src/api/resource-version.ts";
import { annotations } from "../../src/api/v1alpha1/names.ts";
import { type LabelSelector } from "../../src/api/v1alpha1/pod-protector.ts";
import { digestOfUID, unpackDigests } from "../../src/accounting/history/uid-digest.ts";
import { naiveMatches } from "../unit/label-index/naive.ts";
import { type Json } from "../unit/webhook/support/objects.ts";
import { type ReviewResponse } from "./answer-form.ts";
import { type AcceptedWrite } from "./fuzz-core.ts";

interface Bucket {
  readonly podUID?: string;
  readonly counter?: number;
  readonly podUIDDigests?: string;
}
interface Cell {
  readonly cellID: string;
  readonly aggregation?: Readonly<Record<string, number>>;
  readonly admissionHistory?: { readonly buckets?: readonly Bucket[] };
}
interface Protector {
  readonly metadata: { readonly namespace: string; readonly name: string };
  readonly spec: { readonly minAvailable: number; readonly selector: LabelSelector };
  readonly status: { readonly cells: readonly Cell[] };
}

const countOf = {
  Scheduled: "scheduledReplicas",
  Initialized: "initializedReplicas",
  Running: "runningReplicas",
  Ready: "readyReplicas",
  Available: "availableReplicas",
} as const;
type Criterion = keyof typeof countOf;

/** A pod of a review that needs quota of each PodProtector that selects it, for certain. */
export interface SurePod {
  readonly namespace: string;
  readonly uid: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly criterion: Criterion;
}

/** What is known of one review. */
export interface Asked {
  readonly cellID: string;
  /** Undefined = nobody can say simply. */
  readonly pod: SurePod | undefined;
  /** The pod's, for certain or not. */
  readonly uid: string | undefined;
  readonly isEvaluateOnly: boolean;
}

export class SteadyRules {
  readonly #protectors = new Map<string, Protector>();
  /** By PodProtector and cell: pods that went by its quota, and that it did not hold at the beginning. */
  readonly #allowed = new Map<string, Map<string, Set<string>>>();
  /** By PodProtector: what each pod, by UID, was held by at any time. */
  readonly #held = new Map<string, Set<string>>();
  /** UIDs of pods that were asked for in a way that needs no quota as well. */
  readonly #unsure = new Set<string>();
  readonly #sure = new Map<string, Set<Criterion>>();
  readonly #lends: boolean;
  readonly problems: string[] = [];

  constructor(texts: readonly string[], lends: boolean) {
    this.#lends = lends;
    for (const text of texts) {
      const protector = JSON.parse(text) as Protector;
      const key = `${protector.metadata.namespace}/${protector.metadata.name}`;
      this.#protectors.set(key, protector);
      this.#allowed.set(key, new Map());
    }
  }

  get keys(): ReadonlySet<string> {
    return new Set(this.#protectors.keys());
  }

  /** Before a review is sent. */
  asked({ pod, uid }: Asked): void {
    if (pod === undefined) {
      if (uid !== undefined) this.#unsure.add(uid);
      return;
    }
    this.#sure.set(pod.uid, new Set([...(this.#sure.get(pod.uid) ?? []), pod.criterion]));
    for (const { spec, metadata } of this.#protectors.values()) {
      // Counted only, or not at all.
      if (metadata.namespace === pod.namespace && !naiveMatches(spec.selector, pod.labels)) this.#unsure.add(pod.uid);
    }
  }

  wrote({ key, before, after }: AcceptedWrite): void {
    const cellsBefore = cellsOf(before);
    const cellsAfter = cellsOf(after);
    const growth = weightOf(cellsAfter) - weightOf(cellsBefore);
    if (growth < 0 && !hasTwins(cellsBefore)) this.#problem(key, `a write takes ${-growth} admissions away`);
    for (const { cellID, aggregation } of cellsBefore) {
      const written = cellsAfter.find((cell) => cell.cellID === cellID);
      if (!isDeepStrictEqual(saidBy(written?.aggregation), saidBy(aggregation)))
        this.#problem(key, `a write changes counts of ${cellID}`);
    }
    const uids = [...new Set([...this.#sure.keys(), ...this.#unsure])];
    const had = holderOf(cellsBefore);
    const has = holderOf(cellsAfter);
    const held = this.#held.get(key) ?? new Set<string>();
    this.#held.set(key, held);
    for (const uid of uids) if (has(uid)) held.add(uid);
    const protector = this.#protectors.get(key);
    if (protector === undefined) return;
    const added = uids.filter((uid) => this.#sure.has(uid) && !this.#unsure.has(uid) && has(uid) && !had(uid));
    if (added.length === 0) return;
    const criteria = added.flatMap((uid) => [...(this.#sure.get(uid) ?? [])]);
    const best = Math.max(...criteria.map((criterion) => keptBy(cellsAfter, criterion)));
    // What the same write records without quota does not count against it.
    const estimate = best + (growth - added.length);
    const { minAvailable } = protector.spec;
    if (hasFloor(protector) && estimate < minAvailable)
      this.#problem(key, `a write leaves ${estimate}, required are ${minAvailable}`);
  }

  answered(
    { cellID, pod, uid, isEvaluateOnly }: Asked,
    { allowed, auditAnnotations = {}, status }: ReviewResponse,
  ): void {
    if (auditAnnotations["dry-run"] !== undefined) return;
    if (!allowed) return this.#refused(cellID, auditAnnotations, status?.details?.causes?.[0]?.reason ?? "");
    const admitted = (auditAnnotations["admit-by-podprotectors"] ?? "").split(",").map((part) => part.split("="));
    const needs = new Map(admitted.map(([id = "", need = ""]) => [id.replace("core/", ""), need]));
    if (pod !== undefined) this.#allNeeded(pod, needs);
    if (isEvaluateOnly || uid === undefined) return;
    for (const [key, need] of needs) {
      if (need !== "quota" && need !== "record") continue;
      const isSteady = this.#protectors.has(key);
      if (isSteady && !this.#lends && this.#held.get(key)?.has(uid) !== true)
        this.#problem(key, `${uid} is allowed without a write`);
      if (need === "quota") this.#spent(key, uid, cellID);
    }
  }

  #allNeeded(pod: SurePod, needs: ReadonlyMap<string, string>): void {
    for (const [key, protector] of this.#protectors) {
      const { metadata, spec } = protector;
      if (metadata.namespace !== pod.namespace || !naiveMatches(spec.selector, pod.labels)) continue;
      const wanted = hasFloor(protector) ? "quota" : "best-effort";
      if (needs.get(key) !== wanted) this.#problem(key, `${pod.uid} is allowed without its quota`);
    }
  }

  #spent(key: string, uid: string, cellID: string): void {
    const protector = this.#protectors.get(key);
    const allowed = this.#allowed.get(key);
    if (protector === undefined || allowed === undefined) return;
    const { cells } = protector.status;
    if (!holderOf(cells)(uid)) allowed.set(cellID, (allowed.get(cellID) ?? new Set()).add(uid));
    const criteria = Object.keys(countOf) as Criterion[];
    const quota = Math.max(0, ...criteria.map((criterion) => keptBy(cells, criterion) - protector.spec.minAvailable));
    // A cell that has promised all that it counts has nothing more to take.
    const taken = [...allowed].reduce((sum, [name, { size }]) => {
      const own = cells.filter((cell) => cell.cellID === name);
      return sum + Math.min(size, ...criteria.map((criterion) => keptBy(own, criterion)));
    }, 0);
    if (taken > quota) this.#problem(key, `${taken} pods are allowed with a quota of ${quota}`);
  }

  /** The figures of a refusal are true and explain it. */
  #refused(cellID: string, audit: Readonly<Record<string, string>>, reason: string): void {
    const key = audit["reject-by-podprotector"]?.replace("core/", "") ?? "";
    const protector = this.#protectors.get(key);
    if (protector === undefined) return;
    if (!hasFloor(protector)) return this.#problem(key, "it refuses without a floor");
    if (reason === "UnusablePodProtector") return this.#problem(key, "it is said to be unusable");
    if (audit["criterion"] === undefined) return;
    const { cells } = protector.status;
    const [required, aggregated, unconfirmed] = ["required", "aggregated", "unconfirmed"].map((name) =>
      Number(audit[name]),
    );
    if (required === undefined || aggregated === undefined || unconfirmed === undefined) return;
    const criterion = audit["criterion"] as Criterion;
    const isTrue =
      required === protector.spec.minAvailable &&
      aggregated === countedBy(cells, criterion) &&
      unconfirmed >= aggregated - keptBy(cells, criterion);
    if (!isTrue) this.#problem(key, `the figures of a refusal are wrong: ${JSON.stringify(audit)}`);
    const isCounted = cells.some((cell) => cell.cellID === cellID);
    const isExplained =
      (reason === "TooFewReplicas" && aggregated - 1 < required) ||
      (reason === "UnconfirmedAdmissions" && aggregated - unconfirmed - 1 < required) ||
      (reason === "CountsPending" && !isCounted) ||
      reason === "MaxConcurrentLag";
    if (!isExplained) this.#problem(key, `${reason} does not follow from ${JSON.stringify(audit)}`);
  }

  #problem(key: string, problem: string): void {
    this.problems.push(`${key}: ${problem}`);
  }
}

/** Without one, everything is admitted, and recorded if possible. */
function hasFloor({ spec }: Protector): boolean {
  return spec.minAvailable > 0;
}

function cellsOf(object: Json): readonly Cell[] {
  return (object as unknown as Partial<Protector>).status?.cells ?? [];
}

/** How the fields of counts that are no numbers are read. */
const readersOf: Readonly<Record<string, (value: unknown) => unknown>> = {
  // A field of this name is not kept; no CRD lets one pass.
  ["__proto__"]: () => undefined,
  resourceVersion: parseResourceVersion,
  lastEventTime: parseTime,
  countedAt: parseTime,
  recountedAt: parseTime,
};

/** What counts say: malformed versions and times say nothing, and a moment can be written in several ways. */
function saidBy(counts: object | undefined): unknown {
  return (
    counts &&
    Object.entries(counts)
      .map(([key, value]) => [key, Object.hasOwn(readersOf, key) ? readersOf[key]?.(value) : value] as const)
      .filter(([, value]) => value !== undefined)
  );
}

function weightOf(cells: readonly Cell[]): number {
  const buckets = cells.flatMap(({ admissionHistory }) => admissionHistory?.buckets ?? []);
  return buckets.reduce((sum, { counter }) => sum + Math.max(1, counter ?? 1), 0);
}

/** A pod of a loose PodProtector may have several buckets; a write makes them one. */
function hasTwins(cells: readonly Cell[]): boolean {
  return cells.some(({ admissionHistory }) => {
    const buckets = admissionHistory?.buckets ?? [];
    const singles = buckets.flatMap(({ podUID }) => (podUID === undefined ? [] : digestOfUID(podUID)));
    const digests = [
      ...singles,
      ...buckets.flatMap(({ podUIDDigests = "" }) => unpackDigests(podUIDDigests)?.list() ?? []),
    ];
    return new Set(digests).size < digests.length;
  });
}

function countedBy(cells: readonly Cell[], criterion: Criterion): number {
  return cells.reduce((sum, { aggregation }) => sum + (aggregation?.[countOf[criterion]] ?? 0), 0);
}

/** No cell keeps fewer pods than none. Without counts, the pods may be those of another cell. */
function keptBy(cells: readonly Cell[], criterion: Criterion): number {
  return cells.reduce((sum, cell) => {
    const kept = countedBy([cell], criterion) - weightOf([cell]);
    return sum + (cell.aggregation === undefined ? kept : Math.max(0, kept));
  }, 0);
}

function holderOf(cells: readonly Cell[]): (uid: string) => boolean {
  const buckets = cells.flatMap(({ admissionHistory }) => admissionHistory?.buckets ?? []);
  const uids = new Set(buckets.map(({ podUID }) => podUID));
  const packs = buckets.flatMap(({ podUIDDigests = "" }) => unpackDigests(podUIDDigests) ?? []);
  return (uid) => uids.has(uid) || packs.some((pack) => pack.has(digestOfUID(uid)));
}

/** Reads a pod that is as healthy as can be; anything odd makes it undefined. */
export function surePodOf(raw: unknown): SurePod | undefined {
  const { metadata, status } = (raw ?? {}) as { metadata?: Json; status?: { phase?: unknown; conditions?: unknown } };
  const { namespace, name, uid, resourceVersion, labels, annotations: own = {}, deletionTimestamp } = metadata ?? {};
  const isNamed = [namespace, name, uid].every((text) => typeof text === "string" && text !== "");
  if (!isNamed || typeof resourceVersion !== "string" || !/^[1-9]\d{0,15}$/.test(resourceVersion)) return undefined;
  if (!isTexts(labels) || !isTexts(own) || deletionTimestamp !== undefined) return undefined;
  if (Object.hasOwn(own, annotations.forceDelete) || status?.phase !== "Running") return undefined;
  const conditions = Array.isArray(status.conditions) ? (status.conditions as unknown[]) : [];
  const isTrue = (type: string): boolean => {
    const found = conditions.filter((one) => (one as Json | null)?.["type"] === type) as Json[];
    return found.length === 1 && found[0]?.["status"] === "True";
  };
  if (!["PodScheduled", "Initialized", "Ready"].every(isTrue)) return undefined;
  const asked = own[annotations.healthCriterion] ?? "";
  const criterion = Object.hasOwn(countOf, asked) ? (asked as Criterion) : "Available";
  return { namespace: namespace as string, uid: uid as string, labels, criterion };
}

function isTexts(value: unknown): value is Record<string, string> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  return Object.values(value).every((text) => typeof text === "string");
}
