/** Which pods a PodProtector selects and counts, and how many of them truly stand: the floor of design 2.6. */
import assert from "node:assert/strict";
import { parseTime } from "../../../src/api/micro-time.ts";
import { type PodRecord } from "../../../src/api/pod.ts";
import { type Aggregation, type PodProtector } from "../../../src/api/v1alpha1/pod-protector.ts";
import { countedSpec } from "../../../src/core/counted-spec.ts";
import { availableFrom } from "../../../src/core/health-criterion.ts";
import { compileSelector, formatSelector, matches, type CompiledSelector } from "../../../src/label-index/index.ts";
import { type Admission, type Ledger, type TruePod } from "./ledger.ts";

export class Standing {
  readonly #name: string;
  readonly #ledger: Ledger;
  /** As it is now; undefined = there is none. */
  object: PodProtector | undefined;
  #selector: CompiledSelector | undefined;
  #counting: CompiledSelector | undefined;
  /** What counts must say they have counted; others are not used. */
  spec = "";
  /** When the selectors changed last. */
  editedAtMs = Number.NEGATIVE_INFINITY;
  /** Version of the object since its selectors are what they are. */
  editedRevision = Number.POSITIVE_INFINITY;

  constructor(name: string, ledger: Ledger) {
    this.#name = name;
    this.#ledger = ledger;
  }

  /** The next version of the object, or of another one by its name. */
  edited(object: PodProtector, before: PodProtector | undefined): void {
    const { selector, aggregationSelector = selector } = object.spec;
    if (before?.metadata.uid === object.metadata.uid && judgedBy(before) === judgedBy(object)) return;
    this.editedAtMs = this.#ledger.kernel.nowMs;
    this.editedRevision = Number(object.metadata.resourceVersion);
    const [own, counting] = [compileSelector(selector), compileSelector(aggregationSelector)];
    assert.ok(own.ok && counting.ok);
    const { uid } = object.metadata;
    this.spec = countedSpec(uid, formatSelector(counting.selector), object.spec.minReadySeconds);
    this.#selector = own.selector;
    this.#counting = counting.selector;
  }

  /** The PodProtector protects such a pod. */
  concerns(record: PodRecord): boolean {
    return this.#selector !== undefined && matches(this.#selector, record.labels);
  }

  /** What the aggregated counts should be, were everything seen. */
  trueAvailable(): number {
    const ledger = this.#ledger;
    let available = 0;
    for (const pod of ledger.pods.values()) if (this.isAvailable(pod)) available += 1;
    return available;
  }

  /**
   * Pods that stand whatever the open admissions do: available, or counted and unavailable for reasons of their own (own unavailability,
   * forced deletions: design 2.6). `open`: pods that are taken for deleted because of their records. `former`: pods that are counted as they were
   * before the restore of a worker, by UID.
   */
  count(object: PodProtector, open: ReadonlySet<string>, former: ReadonlyMap<string, TruePod> = new Map()): number {
    const ledger = this.#ledger;
    const counts = new Map((object.status?.cells ?? []).map((cell) => [cell.cellID, cell.aggregation]));
    let standing = 0;
    for (const pod of ledger.pods.values()) {
      const aggregation = counts.get(pod.cell);
      const isCounted = former.has(pod.uid) || (aggregation !== undefined && this.isCounted(pod, aggregation));
      const isLive = pod.goneAt === undefined && pod.versions.at(-1)?.record.terminating === false;
      const isAvailable = isLive && this.isAvailable(pod);
      if (!isCounted && !isAvailable) continue;
      if (open.has(pod.digest) && !ledger.isForced(pod)) continue;
      if (isLive) {
        if (!isAvailable || !this.hasJudged(ledger.doomOf(pod))) standing += 1;
      } else if (this.#isExcused(pod)) standing += 1;
    }
    for (const [uid, pod] of former)
      if (!ledger.pods.has(uid) && !open.has(pod.digest) && !this.hasJudged(pod.end)) standing += 1;
    return standing;
  }

  /** The pod is still counted and is gone, but not by an admission of this PodProtector. */
  #isExcused({ lastLive, end, endedAtMs }: TruePod): boolean {
    // Gone before anybody counted for the present selectors: it must not be counted at all.
    if (endedAtMs !== undefined && endedAtMs < this.editedAtMs) return false;
    return lastLive === undefined || !this.#meets(lastLive, this.#ledger.nowMicros) || !this.hasJudged(end);
  }

  /** True for an admission that this PodProtector has judged: not forced, and not from before its replica knew of it. */
  hasJudged(admission: Admission | undefined): boolean {
    if (admission === undefined || admission.isForced || admission.unknown.has(this.#name)) return false;
    // Counted but not protected: nobody has judged.
    if (this.#selector === undefined || !matches(this.#selector, admission.labels)) return false;
    return admission.atMs > this.editedAtMs;
  }

  isAvailable(pod: TruePod): boolean {
    const present = pod.goneAt === undefined ? pod.versions.at(-1)?.record : undefined;
    return present !== undefined && this.#meets(present, this.#ledger.nowMicros);
  }

  isCounted(pod: TruePod, { resourceVersion, countedAt }: Aggregation): boolean {
    const record = this.#ledger.at(pod, Number(resourceVersion ?? Number.POSITIVE_INFINITY));
    if (record === undefined) return false;
    return this.#meets(record, parseTime(countedAt) ?? this.#ledger.nowMicros);
  }

  isMember({ labels, terminating, terminal }: PodRecord): boolean {
    return this.#counting !== undefined && matches(this.#counting, labels) && !terminating && !terminal;
  }

  #meets(record: PodRecord, nowMicros: number): boolean {
    if (this.#counting === undefined || !matches(this.#counting, record.labels)) return false;
    const from = availableFrom(record, this.object?.spec.minReadySeconds ?? 0);
    return from !== undefined && from <= nowMicros;
  }
}

/** What decides which pods are protected and counted. */
function judgedBy({ spec }: PodProtector): string {
  return JSON.stringify([spec.selector, spec.aggregationSelector, spec.minReadySeconds]);
}
