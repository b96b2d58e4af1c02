/**
 * Whether a PodProtector that is no longer there is really gone (docs/webhook.md#tombstones). Pure.
 *
 * | last watched state                                | it is gone                                                   |
 * | anything                                          | when it was marked as released, or is let go by list or hand |
 * | anything                                          | after --webhook-tombstone-ttl                                |
 * | ours, dangling, with a deletionTimestamp          | unless the CRD is being deleted, or is another one           |
 * | it never had a floor                              | always                                                       |
 * | ours, more were released than the list holds      | after an hour                                                |
 * | ours                                              | not by absence, a DELETED event, or the loss of the CRD      |
 * | not ours, a DELETED event was seen                | unless the CRD is being deleted, or is another one           |
 * | an original generator's, absent after a list      | after an hour                                                |
 * | hand-made, absent after a list                    | not by that                                                  |
 *
 * What is not gone is a tombstone: it stays in force from memory.
 */
import { asList, fieldsOf, type Json } from "../../api/json.ts";
import { annotations, finalizer, sourceLabels } from "../../api/v1alpha1/names.ts";
import { type ConditionType } from "../../api/v1alpha1/conditions.ts";
import { type ReadDefinition } from "../../kube/pod-protectors.ts";
import { assertNever } from "../../util/assert.ts";
import { type EpochMicros, type MonotonicMs } from "../../util/clock.ts";

/** What the last state of a PodProtector says about its end. */
export interface Marks {
  /** Who makes it: this generator, which marks what it releases, the original one, which does not, or a person. */
  readonly maker: "generator" | "original-generator" | "person";
  /** The generator has marked it as released. */
  readonly isReleased: boolean;
  /** A DELETE request was seen. */
  readonly isTerminating: boolean;
  /** By the generator's word, its source has vanished. */
  readonly isDangling: boolean;
  /** It protected nothing at any time. */
  readonly neverHadFloor: boolean;
}

/** What is known of a PodProtector that is gone without having been let go. It stays in force from memory. */
export interface Tombstone {
  readonly uid: string;
  readonly maker: Marks["maker"];
  /** Its release may have left the list of releases unseen. */
  mayHaveBeenReleased?: boolean;
  /** When this replica noticed. */
  readonly sinceMs: MonotonicMs;
  readonly since: EpochMicros;
  /** Namespace of the generator's ConfigMap, in which a person lets it go. */
  readonly stateNamespace: string;
}

/** Of an object as it came, valid or not. Never throws. */
export function marksOf(raw: unknown): Marks {
  const { metadata, spec, status } = fieldsOf(raw);
  const { annotations: noted, labels, finalizers, deletionTimestamp, generation } = fieldsOf(metadata);
  const dangling: ConditionType = "Dangling";
  return {
    maker: makerOf(fieldsOf(noted), fieldsOf(labels), asList(finalizers)),
    isReleased: Object.hasOwn(fieldsOf(noted), annotations.released),
    isTerminating: deletionTimestamp !== undefined && deletionTimestamp !== null,
    isDangling: asList(fieldsOf(status)["conditions"])
      .map(fieldsOf)
      .some(({ type, status: holds }) => type === dangling && holds === "True"),
    neverHadFloor: generation === 1 && fieldsOf(spec)["minAvailable"] === 0,
  };
}

function makerOf(noted: Json, labels: Json, finalizers: readonly unknown[]): Marks["maker"] {
  if (Object.hasOwn(noted, annotations.generated)) return "generator";
  // A finalizer is gone from the last state of what was deleted in good order.
  const isGenerated = finalizers.includes(finalizer) || Object.hasOwn(labels, sourceLabels.kind);
  return isGenerated ? "original-generator" : "person";
}

/** What is known since the PodProtector is no longer there. */
export interface Evidence {
  /** The watch has delivered its deletion; else it is only absent. */
  readonly isDeletionSeen: boolean;
  readonly goneForMs: number;
  /** Its UID is in the generator's list of releases, or a person let it go. */
  readonly isLetGo: boolean;
  /** It is not in the list, but may have left it before this process read it (kube/missed-releases.ts). */
  readonly mayHaveBeenReleased: boolean;
  /** The CRD, read after the deletion was seen; undefined = not read yet. */
  readonly definition: ReadDefinition | undefined;
  /** UID of the CRD before that; undefined = it was never read. */
  readonly definitionUID: string | undefined;
}

export type GoneReason =
  | "released"
  | "let-go"
  /** A person deleted it when it had lost its source. */
  | "deleted-while-dangling"
  | "deleted"
  /** Nobody saw its deletion, but the original generator marks nothing. */
  | "absent-for-long"
  /** Nobody saw its release, but not all were seen, and it was not made again. */
  | "perhaps-released"
  | "without-floor"
  /** --webhook-tombstone-ttl is over. */
  | "expired";

export type Fate =
  | { readonly kind: "gone"; readonly why: GoneReason }
  /** `awaitsDefinition`: the CRD has to be read to know more. */
  | { readonly kind: "tombstone"; readonly awaitsDefinition: boolean };

/**
 * What an original generator made may be gone for good, as it deletes without a mark, and so may what was released
 * beyond the list. An hour is enough for a person to see what a restore or a lost etcd has done, and to make it again.
 */
export const unknownGraceMs = 3_600_000;

const remains: Fate = { kind: "tombstone", awaitsDefinition: false };

export interface Patience {
  /** Of tombstones; 0 = for ever. */
  readonly ttlMs: number;
  /** Of what may have been released. */
  readonly graceMs: number;
}

export function fateOf(last: Marks, evidence: Evidence, { ttlMs, graceMs }: Patience): Fate {
  const { goneForMs, isLetGo, isDeletionSeen, mayHaveBeenReleased } = evidence;
  if (last.isReleased) return { kind: "gone", why: "released" };
  if (last.neverHadFloor) return { kind: "gone", why: "without-floor" };
  if (isLetGo) return { kind: "gone", why: "let-go" };
  if (ttlMs > 0 && goneForMs >= ttlMs) return { kind: "gone", why: "expired" };
  switch (last.maker) {
    case "generator":
      if (mayHaveBeenReleased && goneForMs >= graceMs) return { kind: "gone", why: "perhaps-released" };
      return last.isDangling && last.isTerminating ? afterDeletion(evidence, "deleted-while-dangling") : remains;
    case "original-generator":
      if (isDeletionSeen) return afterDeletion(evidence);
      return goneForMs >= graceMs ? { kind: "gone", why: "absent-for-long" } : remains;
    case "person":
      return isDeletionSeen ? afterDeletion(evidence) : remains;
    default:
      return assertNever(last.maker);
  }
}

/** Deleting the CRD deletes its objects like a person, and sends ordinary DELETED events. */
function afterDeletion({ definition, definitionUID }: Evidence, why: GoneReason = "deleted"): Fate {
  const unknown: Fate = { kind: "tombstone", awaitsDefinition: true };
  if (definition === undefined) return unknown;
  const believed: Fate = { kind: "gone", why };
  switch (definition.kind) {
    case "failed":
      return unknown;
    case "forbidden":
      return believed;
    case "gone":
      return remains;
    case "there": {
      const isSame = definitionUID === undefined || definition.uid === definitionUID;
      return isSame && !definition.isTerminating ? believed : remains;
    }
    default:
      return assertNever(definition);
  }
}
