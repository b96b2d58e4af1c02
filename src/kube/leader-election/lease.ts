/** The Lease object as the elector sees it (coordination.k8s.io/v1, as client-go's LeaseLock writes it). */
import { asObject, fieldsOf } from "../../api/json.ts";
import { type Unchecked, type V1Lease, type V1LeaseSpec } from "../../api/models.ts";
import { formatMicroTime } from "../../api/micro-time.ts";
import { type EpochMicros } from "../../util/clock.ts";
import { KubeError } from "../kube-client.ts";

/**
 * What of the spec belongs to the election. Times are MicroTime texts, kept as they are: they are never compared with a
 * clock.
 */
export interface LeaseRecord {
  /** "" = none. */
  readonly holderIdentity: string;
  readonly leaseDurationSeconds: number;
  readonly acquireTime: string | undefined;
  readonly renewTime: string | undefined;
  readonly leaseTransitions: number;
}

/** A Lease as read: the record, and the whole object so that a write keeps what other programs put there. */
export interface ObservedLease {
  readonly record: LeaseRecord;
  readonly raw: Unchecked<V1Lease>;
}

/** Throws KubeError "malformed" when `value` is no object. Missing fields count as empty, as in Go. */
export function decodeLease(value: unknown): ObservedLease {
  if (typeof value !== "object" || value === null) throw new KubeError("malformed", "the Lease is not an object");
  const raw: Unchecked<V1Lease> = value;
  const spec = fieldsOf<V1LeaseSpec>(raw.spec);
  const text = (name: keyof V1LeaseSpec): string | undefined => {
    const field = spec[name];
    return typeof field === "string" ? field : undefined;
  };
  const number = (name: keyof V1LeaseSpec): number => {
    const field = spec[name];
    return typeof field === "number" ? field : 0;
  };
  return {
    raw,
    record: {
      holderIdentity: text("holderIdentity") ?? "",
      leaseDurationSeconds: number("leaseDurationSeconds"),
      acquireTime: text("acquireTime"),
      renewTime: text("renewTime"),
      leaseTransitions: number("leaseTransitions"),
    },
  };
}

/** The object to send: `record` over what was read, or a new Lease. */
export function encodeLease(
  at: { readonly namespace: string; readonly name: string },
  record: LeaseRecord,
  previous: ObservedLease | undefined,
): Unchecked<V1Lease> {
  return {
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: previous?.raw.metadata ?? { namespace: at.namespace, name: at.name },
    spec: { ...asObject(previous?.raw.spec), ...record } satisfies Unchecked<V1LeaseSpec>,
  };
}

/** The record of a candidate that takes or keeps the Lease at `now`. */
export function heldBy(
  identity: string,
  leaseDurationMs: number,
  now: EpochMicros,
  previous: LeaseRecord | undefined,
): LeaseRecord {
  const time = formatMicroTime(now);
  const isKept = previous?.holderIdentity === identity;
  return {
    holderIdentity: identity,
    leaseDurationSeconds: leaseSeconds(leaseDurationMs),
    acquireTime: isKept ? (previous.acquireTime ?? time) : time,
    renewTime: time,
    // A created Lease starts at 0; each change of the holder adds one, also from none.
    leaseTransitions: previous === undefined ? 0 : previous.leaseTransitions + (isKept ? 0 : 1),
  };
}

/** Whole seconds, rounded up: others must not consider it lost earlier than this process does. */
function leaseSeconds(leaseDurationMs: number): number {
  return Math.ceil(leaseDurationMs / 1000);
}

/** The record of a released Lease: without a holder, and with the shortest duration that is valid, one second. */
export function released(now: EpochMicros, previous: LeaseRecord): LeaseRecord {
  const time = formatMicroTime(now);
  return {
    holderIdentity: "",
    leaseDurationSeconds: 1,
    acquireTime: time,
    renewTime: time,
    leaseTransitions: previous.leaseTransitions,
  };
}

export function sameRecord(a: LeaseRecord, b: LeaseRecord): boolean {
  return (
    a.holderIdentity === b.holderIdentity &&
    a.leaseDurationSeconds === b.leaseDurationSeconds &&
    a.acquireTime === b.acquireTime &&
    a.renewTime === b.renewTime &&
    a.leaseTransitions === b.leaseTransitions
  );
}
