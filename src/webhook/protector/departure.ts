/**
 * Whether a PodProtector that is no longer there is really gone (docs/webhook.md#tombstones). Pure.
 *
 * | last watched state                                | it is gone                                                   |
 * | anything                                          | when it was marked as released, or is let go by list or hand |
 * | anything                                          | after --webhook-tombstone-ttl                                |
 * | ours, dangling, with a deletionTimestamp          | unless the CRD is being deleted, or is another one           |
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
}

/** What is known of a PodProtector that is gone without having been let go. It stays in force from memory. */
export interface Tombstone {
  readonly uid: string;
  readonly maker: Marks["maker"];
  /** When this replica noticed. */
  readonly sinceMs: MonotonicMs;
  readonly since: EpochMicros;
  /** Namespace of the generator's ConfigMap, in which a person lets it go. */
  readonly stateNamespace: string;
}

/**
 * How long the counts of a PodProtector that was made again are not in force. What was admitted on the former object
 * can commit until then, and the new one has no record of it. It is the default of --aggregator-settle-window.
 */
export const remadeSettleMs = 75_000;

/** Of an object as it came, valid or not. Never throws. */
export function marksOf(raw: unknown): Marks {
  const { metadata, status } = fieldsOf(raw);
  const { annotations: noted, labels, finalizers, deletionTimestamp } = fieldsOf(metadata);
  const dangling: ConditionType = "Dangling";
  return {
    maker: makerOf(fieldsOf(noted), fieldsOf(labels), asList(finalizers)),
    isReleased: Object.hasOwn(fieldsOf(noted), annotations.released),
    isTerminating: deletionTimestamp !== undefined && deletionTimestamp !== null,
    isDangling: asList(fieldsOf(status)["conditions"])
      .map(fieldsOf)
      .some(({ type, status: holds }) => type === dangling && holds === "True"),
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
  /** --webhook-tombstone-ttl is over. */
  | "expired";

export type Fate =
  | { readonly kind: "gone"; readonly why: GoneReason }
  /** `awaitsDefinition`: the CRD has to be read to know more. */
  | { readonly kind: "tombstone"; readonly awaitsDefinition: boolean };

/**
 * An original generator deletes without a mark, so what it made may be gone for good. An hour is enough for a person to
 * see what a restore or a lost etcd has done, and to make it again.
 */
const originalGraceMs = 3_600_000;

const remains: Fate = { kind: "tombstone", awaitsDefinition: false };

/** @param ttlMs of tombstones; 0 = for ever */
export function fateOf(last: Marks, evidence: Evidence, ttlMs: number): Fate {
  const { goneForMs, isLetGo, isDeletionSeen } = evidence;
  if (last.isReleased) return { kind: "gone", why: "released" };
  if (isLetGo) return { kind: "gone", why: "let-go" };
  if (ttlMs > 0 && goneForMs >= ttlMs) return { kind: "gone", why: "expired" };
  switch (last.maker) {
    case "generator":
      return last.isDangling && last.isTerminating ? afterDeletion(evidence, "deleted-while-dangling") : remains;
    case "original-generator":
      if (isDeletionSeen) return afterDeletion(evidence);
      return goneForMs >= originalGraceMs ? { kind: "gone", why: "absent-for-long" } : remains;
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
