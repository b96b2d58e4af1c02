/**
 * What is really true in a world: every version of every pod, and which deletions have been admitted and may still
 * happen. Checkers compare the product's records with it; the product never sees it.
 */
import { type Labels, readPodRecord, type PodRecord } from "../../../../src/api/pod.ts";
import { digestOfUID } from "../../../../src/accounting/history/uid-digest.ts";
import { assert } from "../../../../src/util/assert.ts";
import { type JsonObject, asArray, asObject, asString } from "../../../double/engine/object.ts";
import { annotations } from "../../../../src/api/v1alpha1/names.ts";
import { builtInResources } from "../../../double/engine/resources.ts";
import { type Change } from "../../../double/engine/store.ts";
import { type SimApiServer } from "../../clusters/api-server.ts";
import { Exclusions } from "./exclusions.ts";
import { epochMs } from "../../kernel/node.ts";
import { type Kernel } from "../../kernel/kernel.ts";

/** With each of an aggregator's writes to a worker, one of them changes. */
const ownAnnotations = [annotations.fence, annotations.updateTriggerTime];

const evictionReason = "EvictionByEvictionAPI";

/** Versions of a pod kept: enough for the longest lag of a snapshot. */
const versionsMax = 64;

export interface PodVersion {
  readonly atMs: number;
  readonly revision: number;
  readonly record: PodRecord;
  /** An aggregator has made it. */
  readonly isFence: boolean;
  /** Since when it has been Ready with this very time, by the true clock; undefined = it is not. */
  readonly readyAtMs: number | undefined;
}

export interface TruePod {
  readonly cell: string;
  readonly uid: string;
  /** Of the UID, as packed buckets have it. */
  readonly digest: string;
  readonly name: string;
  /** Oldest first; the last one is the present or final state. */
  readonly versions: PodVersion[];
  /** Revision of its removal. */
  goneAt: number | undefined;
  /**
   * The admission by which its deletion came about; undefined = by nobody's leave (an eviction's successor), or not at
   * all.
   */
  end: Admission | undefined;
  /** When it began to terminate, or went. */
  endedAtMs: number | undefined;
  /** Its last version before it terminated or went. */
  lastLive: PodVersion | undefined;
}

export interface Admission {
  /** Undefined = for any version (an eviction that names none). One that names it moves it by its own condition. */
  version: string | undefined;
  readonly isEviction: boolean;
  readonly isForced: boolean;
  /** Of an eviction: the pod came under its name while another one was judged. */
  readonly isSuccessor: boolean;
  readonly atMs: number;
  /** The pod's then. */
  readonly labels: Labels;
  /** PodProtectors that the replica had not been told of. */
  readonly unknown: ReadonlySet<string>;
  /** Those that it may have taken for being in shadow. */
  readonly shadowed: ReadonlySet<string>;
  /** Those in which it has recorded this admission. */
  readonly recorded: ReadonlySet<string>;
}

/** One DELETE, deletecollection or eviction that somebody has asked for. */
export interface Operation {
  readonly id: string;
  readonly cell: string;
  /** The pod that is deleted by force. */
  readonly forcedName: string | undefined;
  /** By UID. */
  readonly admitted: Map<string, Admission>;
}

/** The pods of a cell up to the moment when a restore ended that history. */
export interface FormerHistory {
  /** As they were then. */
  readonly pods: readonly TruePod[];
  readonly endedAtMs: number;
  /** What is at or below this revision belongs to the history that follows, too. */
  readonly forkRevision: number;
}

/**
 * For so long after the restore of a worker, counts and settlements may be those of the history that it has ended:
 * until an aggregator has noticed, whose watch died silently just then (150 s without a byte, and its longest backoff).
 */
const noticedWithinMs = 150_000 + 30_000;

export class Ledger {
  readonly kernel: Kernel;
  readonly exclusions: Exclusions;
  /** By UID. */
  readonly pods = new Map<string, TruePod>();
  /** By digest of the UID. */
  readonly byDigest = new Map<string, TruePod>();
  readonly operations = new Map<string, Operation>();
  /** By cell: lost for ever, and nothing has kept anybody from noticing since then. */
  readonly unheardSinceMs = new Map<string, number>();
  /** By cell: when which revision of its pods was committed, in order. */
  readonly #changes = new Map<string, { readonly atMs: number; readonly revision: number }[]>();
  /** By cell: the histories that restores have ended, oldest first. */
  readonly #former = new Map<string, FormerHistory[]>();
  /** By cell: when an aggregator's last write to the worker was committed, a fence or a touch. */
  readonly #wroteAtMs = new Map<string, number>();
  #operations = 0;
  #podsSeen = 0;

  constructor(kernel: Kernel, silentAfterMs = 180_000) {
    this.kernel = kernel;
    this.exclusions = new Exclusions(kernel, silentAfterMs);
  }

  /** Follows the pods of a cell from now on. */
  follow(cell: string, server: SimApiServer): void {
    this.#changes.set(cell, []);
    server.engine.onChange(builtInResources.pods, (change) => this.#onPod(cell, change));
  }

  /** The cell went back to a backup: what was written since has never been. */
  restored(cell: string, server: SimApiServer): void {
    this.#changes.set(cell, []);
    const forkRevision = server.engine.revision;
    const present = new Map(
      server.engine.list(builtInResources.pods).items.map((object) => [object.metadata.uid, object] as const),
    );
    const own = [...this.pods.values()].filter((pod) => pod.cell === cell);
    const pods = own.map((pod) => ({ ...pod, versions: [...pod.versions] }));
    this.#former.set(cell, [...this.formerOf(cell), { pods, endedAtMs: this.kernel.nowMs, forkRevision }]);
    for (const pod of own) {
      if (pod.goneAt !== undefined && pod.goneAt <= forkRevision) continue;
      const object = present.get(pod.uid);
      if (object === undefined) {
        this.pods.delete(pod.uid);
        this.byDigest.delete(pod.digest);
        continue;
      }
      const kept = pod.versions.filter(({ revision }) => revision < Number(object.metadata.resourceVersion));
      const restored = this.#versionOf(object, kept.at(-1));
      pod.goneAt = undefined;
      if (!restored.record.isTerminating) {
        pod.end = undefined;
        pod.endedAtMs = undefined;
      }
      pod.versions.splice(0, pod.versions.length, ...kept, restored);
    }
  }

  /** Histories of the cell that restores have ended, oldest first. */
  formerOf(cell: string): readonly FormerHistory[] {
    return this.#former.get(cell) ?? [];
  }

  /** A worker came back from a backup: in no other world does a restore excuse anything. */
  hasRestored(): boolean {
    return this.#former.size > 0;
  }

  /** An aggregator may not know yet that the history is over. */
  mayBeUnnoticed({ endedAtMs }: FormerHistory): boolean {
    return this.kernel.nowMs - endedAtMs <= noticedWithinMs;
  }

  /** Pods that there have ever been, also in histories that have ended. */
  get podsSeen(): number {
    return this.#podsSeen;
  }

  /** A new operation; its id is to be the name of the caller. */
  begin(cell: string, forcedName?: string): Operation {
    this.#operations += 1;
    const operation: Operation = { id: `op-${this.#operations}`, cell, forcedName, admitted: new Map() };
    this.operations.set(operation.id, operation);
    return operation;
  }

  /** Nothing of the operation can happen any more. */
  end(operation: Operation): void {
    this.operations.delete(operation.id);
  }

  /** A webhook's "allowed" has left its replica. */
  admitted(
    cell: string,
    request: JsonObject,
    uid: string,
    how: Pick<Admission, "isForced" | "isSuccessor" | "unknown" | "shadowed" | "recorded">,
  ): void {
    const user = asString(asObject(request["userInfo"])["username"]) ?? "";
    const operation = this.operations.get(user);
    const pod = this.pods.get(uid);
    if (operation === undefined || pod === undefined) return;
    assert(operation.cell === cell, "an operation stays in its cell");
    const isEviction = request["operation"] === "CREATE";
    const named = asObject(asObject(asObject(request["object"])["deleteOptions"])["preconditions"]);
    if (isEviction && named["uid"] !== undefined && named["uid"] !== uid) return;
    const bound = isEviction ? named : asObject(asObject(request["oldObject"])["metadata"]);
    const version = asString(bound["resourceVersion"]);
    const labels = pod.versions.at(-1)?.record.labels ?? {};
    operation.admitted.set(uid, { version, isEviction, atMs: this.kernel.nowMs, labels, ...how });
  }

  /** An admitted deletion of the pod that may still happen. */
  doomOf(pod: TruePod): Admission | undefined {
    const present = pod.versions.at(-1);
    if (present === undefined || pod.goneAt !== undefined || present.record.isTerminating) return undefined;
    for (const operation of this.operations.values()) {
      const admission = operation.admitted.get(pod.uid);
      if (admission === undefined) continue;
      if (admission.version === undefined || admission.version === present.record.resourceVersion) return admission;
    }
    return undefined;
  }

  /** Somebody is deleting the pod by force. */
  isForced(pod: TruePod): boolean {
    return this.operations.values().some(({ cell, forcedName }) => cell === pod.cell && forcedName === pod.name);
  }

  /** The pod that has the name now. */
  present(cell: string, name: string): TruePod | undefined {
    return this.pods.values().find((pod) => pod.cell === cell && pod.name === name && pod.goneAt === undefined);
  }

  /** The state of the pod in the snapshot of that revision; undefined when it was not there. */
  at(pod: TruePod, revision: number): PodRecord | undefined {
    return this.versionAt(pod, revision)?.record;
  }

  versionAt(pod: TruePod, revision: number): PodVersion | undefined {
    if (pod.goneAt !== undefined && pod.goneAt <= revision) return undefined;
    return pod.versions.findLast((version) => version.revision <= revision);
  }

  /** The true time in epoch microseconds. */
  get nowMicros(): number {
    return this.microsAt(this.kernel.nowMs);
  }

  microsAt(virtualMs: number): number {
    return (epochMs + virtualMs) * 1000;
  }

  /** An aggregator has fenced the pod since then, and the snapshot of that revision has it. */
  isFenced(pod: TruePod, sinceMs: number | undefined, revision: number): boolean {
    return pod.versions.some((one) => one.isFence && one.revision <= revision && one.atMs > (sinceMs ?? 0));
  }

  cells(): Iterable<string> {
    return this.#changes.keys();
  }

  /** The newest change of the cell's pods that was committed by then. */
  revisionAt(cell: string, atMs: number): number {
    return this.#changes.get(cell)?.findLast((change) => change.atMs <= atMs)?.revision ?? 0;
  }

  /** Whether an aggregator has written to the worker since. */
  hasWrittenSince(cell: string, atMs: number): boolean {
    return (this.#wroteAtMs.get(cell) ?? Number.NEGATIVE_INFINITY) > atMs;
  }

  #onPod(cell: string, change: Change): void {
    if (ownAnnotations.some((name) => annotationOf(change.object, name) !== annotationOf(change.previous, name)))
      this.#wroteAtMs.set(cell, this.kernel.nowMs);
    this.#changes.get(cell)?.push({ atMs: this.kernel.nowMs, revision: change.revision });
    const { object } = change;
    const { uid, name } = object.metadata;
    let pod = this.pods.get(uid);
    if (pod === undefined) {
      pod = {
        cell,
        uid,
        digest: digestOfUID(uid),
        name,
        versions: [],
        goneAt: undefined,
        end: undefined,
        endedAtMs: undefined,
        lastLive: undefined,
      };
      this.pods.set(uid, pod);
      this.byDigest.set(pod.digest, pod);
      this.#podsSeen += 1;
    }
    const before = pod.versions.at(-1);
    const isFence = annotationOf(object, annotations.fence) !== annotationOf(change.previous, annotations.fence);
    const version = { ...this.#versionOf(object, before), isFence };
    if (isEvicting(object) && !isEvicting(change.previous)) this.#moveEvictions(uid, before, version);
    if (
      before !== undefined &&
      !before.record.isTerminating &&
      (version.record.isTerminating || change.type === "DELETED")
    ) {
      pod.lastLive = before;
      pod.end = this.#endOf(pod, before.record);
      pod.endedAtMs = this.kernel.nowMs;
    }
    pod.versions.push(version);
    if (pod.versions.length > versionsMax) pod.versions.shift();
    if (change.type === "DELETED") pod.goneAt = change.revision;
    const { isReady, isTerminating, resourceVersion } = version.record;
    this.kernel.note(
      `${cell} pod ${name} ${change.type} ` +
        `${resourceVersion}${isTerminating ? " terminating" : ""}${isReady ? " ready" : ""}`,
    );
  }

  /** Those that named the version which the condition of an eviction has just moved, theirs or another's. */
  #moveEvictions(uid: string, before: PodVersion | undefined, { record }: PodVersion): void {
    for (const { admitted } of this.operations.values()) {
      const admission = admitted.get(uid);
      if (admission?.isEviction !== true || admission.version === undefined) continue;
      if (admission.version === before?.record.resourceVersion) admission.version = record.resourceVersion;
    }
  }

  #endOf(pod: TruePod, before: PodRecord): Admission | undefined {
    let forced: Admission | undefined;
    for (const operation of this.operations.values()) {
      const admission = operation.admitted.get(pod.uid);
      if (admission === undefined) continue;
      if (admission.version !== undefined && admission.version !== before.resourceVersion) continue;
      if (!admission.isForced) return admission;
      forced = admission;
    }
    return forced;
  }

  #versionOf(object: Change["object"], before: PodVersion | undefined): PodVersion {
    const record = readPodRecord(object);
    assert(record !== undefined, "the double's pods can be read");
    const { nowMs } = this.kernel;
    const sinceMs = before?.record.readySince === record.readySince ? before?.readyAtMs : undefined;
    const readyAtMs = record.isReady ? (sinceMs ?? nowMs) : undefined;
    return { revision: Number(object.metadata.resourceVersion), atMs: nowMs, record, isFence: false, readyAtMs };
  }
}

/** It has the condition that the eviction API writes before it deletes. */
function isEvicting(object: Change["previous"]): boolean {
  return asArray(asObject(object?.status)["conditions"]).some(
    (condition) => asObject(condition)["reason"] === evictionReason,
  );
}

function annotationOf(object: Change["previous"], name: string): string | undefined {
  return asString(asObject(object?.metadata.annotations)[name]);
}
