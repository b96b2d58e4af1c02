/**
 * The heartbeat of a cell: one Lease per cell in each core, renewed by the aggregator that leads the cell
 * (docs/accounting.md#silent-cells). Beside it stands one Lease of the generator, which marks silent cells.
 */
import { hash } from "node:crypto";
import { isCellID } from "./cell-id.ts";
import { type IgnoredAnnotation } from "./ignored-annotation.ts";
import { fieldsOf } from "./json.ts";
import { type MicroTime, readMicroTime } from "./micro-time.ts";
import { type V1Lease, type V1LeaseSpec, type V1ObjectMeta } from "./models.ts";
import { type EpochMicros } from "../util/clock.ts";

const prefix = "podseidon.kubewharf.io";

/** Labels of the Leases. Every one of them has `heartbeat`, so that one LIST returns them all. */
export const cellLeaseLabels = {
  /** "cell", "observer" for the Lease of the generator, or "witness". */
  heartbeat: `${prefix}/heartbeat`,
  /** The cell's name. */
  cell: `${prefix}/cell`,
} as const;

export const cellLeaseAnnotations = {
  /** Of the program that renews the Lease. */
  productVersion: `${prefix}/product-version`,
  /** UID of the namespace kube-system of the worker cluster: tells two clusters under one cell name apart. */
  clusterUID: `${prefix}/cluster-uid`,
  /** By the aggregator: base64 of 64-bit digests of the UIDs of PodProtectors that it could not count or write. */
  behind: `${prefix}/behind`,
  /** By the aggregator, while pod deletions, or those of some namespaces, are not reviewed as this cell's: why. */
  gate: `${prefix}/gate`,
  /** By the generator, MicroTime: nothing was heard from the cell since. The next beat clears it. */
  silentSince: `${prefix}/silent-since`,
  /** By a person, RFC 3339: until then the cell's counts stay in force even if it is silent. */
  keepUntil: `${prefix}/keep-until`,
  /** By a person: UID of the kube-system namespace of the cluster that may take the cell over at once. */
  adopt: `${prefix}/adopt`,
  /**
   * By a person, "true": the cell is retired; the generator removes it from every PodProtector, and then the Lease.
   * "now": also where its entry changes.
   */
  forget: `${prefix}/forget`,
} as const;

/** How the annotation gate begins while deletions in some namespaces are not sent to the webhook. */
const notGuarded = "not-guarded ";
/** Namespaces in one annotation: 3 kB, in a Lease that is written every few seconds. */
const notGuardedMax = 50;

/** What the annotation gate says of namespaces that are left out: `not-guarded pay,shop`, `… +3` for further ones. */
export function notGuardedGate(names: readonly string[]): string {
  const more = names.length > notGuardedMax ? ` +${names.length - notGuardedMax}` : "";
  return `${notGuarded}${names.slice(0, notGuardedMax).join(",")}${more}`;
}

/** The namespaces that are named; undefined = the annotation says something else, or nothing. */
export function namespacesNotGuarded(gate: string | undefined): readonly string[] | undefined {
  if (gate?.startsWith(notGuarded) !== true) return undefined;
  return (gate.slice(notGuarded.length).split(" ")[0] ?? "").split(",").filter((name) => name !== "");
}

/** Lease of the generator that marks silent cells; in the same namespace as those of the cells. */
export const observerLeaseName = "podseidon-cell-observer";

/** Lease that observers write to make sure that the core takes writes; in the same namespace. */
export const witnessLeaseName = "podseidon-cell-witness";

/** `cell-` and 16 hexadecimal digits of the SHA-256 of the cell: names of Leases are lower case, those of cells not. */
export function cellLeaseName(cellID: string): string {
  return `cell-${hash("sha256", cellID, "hex").slice(0, 16)}`;
}

/**
 * The renewTime of a renewal at `now`. Others compare renewals for equality, and an API server skips a write that
 * changes nothing: so each is later than the writer's `last` one, also on a clock that was set back.
 */
export function nextRenewal(now: EpochMicros, last: EpochMicros): EpochMicros {
  return Math.max(now, last + 1) as EpochMicros;
}

export interface CellLease {
  readonly name: string;
  readonly uid: string;
  /** For preconditions of writes. */
  readonly resourceVersion: string;
  /** Undefined on the Leases of the generator and of the observers. */
  readonly cellID: string | undefined;
  /**
   * Changes with each beat, and with nothing else: holderIdentity, renewTime and leaseTransitions. Compared for
   * equality only.
   */
  readonly beat: string;
  readonly holderIdentity: string;
  /** By the clock of whoever renewed it: for people only. */
  readonly renewedAt: MicroTime | undefined;
  readonly productVersion: string | undefined;
  readonly clusterUID: string | undefined;
  readonly behind: string | undefined;
  /** Why pod deletions are not reviewed as this cell's; undefined = they are, as far as is known. */
  readonly gate: string | undefined;
  readonly silentSince: MicroTime | undefined;
  readonly keepUntil: MicroTime | undefined;
  readonly adopt: string | undefined;
  readonly isForgotten: boolean;
  /** The request is to take the cell out also where its entry changes. */
  readonly isHurried: boolean;
  /** The silent-cell-after of whoever renews the Lease. */
  readonly durationSeconds: number | undefined;
  /** What a person wrote that cannot be read, and so counts as absent. */
  readonly ignored: readonly IgnoredAnnotation[];
}

/** By the label `heartbeat`: of Leases that are no cell's. */
const ownNames: ReadonlyMap<string | undefined, string> = new Map([
  ["observer", observerLeaseName],
  ["witness", witnessLeaseName],
]);

/** The annotations that people write. */
const writtenByPeople: readonly (Omit<IgnoredAnnotation, "value"> & {
  readonly isValid: (value: string) => boolean;
})[] = [
  {
    annotation: cellLeaseAnnotations.keepUntil,
    allowed: "an RFC 3339 time, such as 2026-01-31T14:00:00Z",
    isValid: (value) => readMicroTime(value) !== undefined,
  },
  { annotation: cellLeaseAnnotations.forget, allowed: "true or now", isValid: isRequest },
  {
    annotation: cellLeaseAnnotations.adopt,
    allowed: "the UID of the namespace kube-system of the cluster that takes over",
    isValid: (value) => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(value),
  },
];

/**
 * Reads a Lease from a list or an answer. Undefined when it is no heartbeat: without the label, or with a name that
 * does not belong to its cell (a person may have copied one). A wrong value of an annotation counts as absent.
 */
export function readCellLease(value: unknown): CellLease | undefined {
  const { metadata, spec } = fieldsOf<V1Lease>(value);
  const meta = fieldsOf<V1ObjectMeta>(metadata);
  const name = textOf(meta, "name");
  const resourceVersion = textOf(meta, "resourceVersion");
  if (name === undefined || resourceVersion === undefined) return undefined;
  const labels = fieldsOf(meta.labels);
  const kind = textOf(labels, cellLeaseLabels.heartbeat);
  const cellID = textOf(labels, cellLeaseLabels.cell);
  if (kind !== "cell" && name !== ownNames.get(kind)) return undefined;
  if (kind === "cell" && (cellID === undefined || !isCellID(cellID) || cellLeaseName(cellID) !== name))
    return undefined;
  const annotations = fieldsOf(meta.annotations);
  const fields = fieldsOf<V1LeaseSpec>(spec);
  const duration = fields.leaseDurationSeconds;
  const time = (key: string): MicroTime | undefined => readMicroTime(textOf(annotations, key) ?? "");
  return {
    name,
    uid: textOf(meta, "uid") ?? "",
    resourceVersion,
    cellID: kind === "cell" ? cellID : undefined,
    beat: JSON.stringify([fields.holderIdentity, fields.renewTime, fields.leaseTransitions]),
    holderIdentity: textOf(fields, "holderIdentity") ?? "",
    renewedAt: readMicroTime(textOf(fields, "renewTime") ?? ""),
    productVersion: textOf(annotations, cellLeaseAnnotations.productVersion),
    clusterUID: textOf(annotations, cellLeaseAnnotations.clusterUID),
    behind: textOf(annotations, cellLeaseAnnotations.behind),
    gate: textOf(annotations, cellLeaseAnnotations.gate),
    silentSince: time(cellLeaseAnnotations.silentSince),
    keepUntil: time(cellLeaseAnnotations.keepUntil),
    adopt: textOf(annotations, cellLeaseAnnotations.adopt),
    isForgotten: isRequest(textOf(annotations, cellLeaseAnnotations.forget)),
    isHurried: textOf(annotations, cellLeaseAnnotations.forget) === "now",
    durationSeconds: typeof duration === "number" ? duration : undefined,
    ignored: writtenByPeople.flatMap(({ annotation, allowed, isValid }) => {
      const value = textOf(annotations, annotation);
      return value === undefined || isValid(value) ? [] : [{ annotation, value, allowed }];
    }),
  };
}

function isRequest(value: string | undefined): boolean {
  return value === "true" || value === "now";
}

function textOf<Key extends string>(fields: { readonly [K in Key]?: unknown }, key: Key): string | undefined {
  const value = fields[key];
  return typeof value === "string" ? value : undefined;
}
