/**
 * JSON of the API as cases read it: every field that some case looks at, all optional, because the server is what is
 * being judged.
 */

export type Labels = Readonly<Record<string, string>>;

interface Condition {
  readonly type?: string;
  readonly status?: string;
  readonly reason?: string;
  readonly message?: string;
}

export interface Metadata {
  readonly name?: string;
  readonly generateName?: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly generation?: number;
  readonly creationTimestamp?: string | null;
  readonly deletionTimestamp?: string;
  readonly deletionGracePeriodSeconds?: number;
  readonly labels?: Labels;
  readonly annotations?: Labels;
  readonly finalizers?: readonly string[];
  readonly continue?: string;
  readonly remainingItemCount?: number;
}

export interface Spec {
  readonly replicas?: number;
  readonly nodeName?: string;
  readonly finalizers?: readonly string[];
  readonly restartPolicy?: string;
  readonly schedulerName?: string;
  readonly selector?: unknown;
  readonly holderIdentity?: string | null;
  readonly renewTime?: string;
  readonly minAvailable?: number | string;
  readonly minReadySeconds?: number;
  readonly unknown?: unknown;
  readonly containers?: readonly { readonly name?: string; readonly image?: string }[];
}

export interface PodProtectorCell {
  readonly cellID?: string;
  readonly admissionHistory?: { readonly buckets?: readonly unknown[] };
}

/** The status of an object; of a metav1.Status it is a word. */
export interface StatusFields {
  readonly phase?: string;
  readonly replicas?: number;
  readonly selector?: string;
  readonly conditions?: readonly Condition[];
  readonly disruptionsAllowed?: number;
  readonly disruptedPods?: Readonly<Record<string, string>>;
  readonly cells?: readonly PodProtectorCell[];
  readonly summary?: Readonly<Record<string, unknown>>;
  readonly podIP?: string;
}

interface StatusCause {
  readonly reason?: string;
  readonly message?: string;
  readonly field?: string;
}

export interface StatusDetails {
  readonly name?: string;
  readonly group?: string;
  readonly kind?: string;
  readonly uid?: string;
  readonly causes?: readonly StatusCause[];
  readonly retryAfterSeconds?: number;
}

export interface ColumnDefinition {
  readonly name: string;
  readonly type: string;
  readonly format: string;
  readonly priority: number;
}

interface ApiResource {
  readonly name: string;
  readonly singularName: string;
  readonly namespaced: boolean;
  readonly kind: string;
  readonly group?: string;
  readonly version?: string;
  readonly verbs: readonly string[];
  readonly shortNames?: readonly string[];
}

export interface Thing {
  readonly kind?: string;
  readonly apiVersion?: string;
  readonly metadata?: Metadata;
  readonly spec?: Spec;
  readonly status?: StatusFields | string;
  readonly data?: Labels;
  readonly items?: readonly Thing[];
  // metav1.Status
  readonly code?: number;
  readonly reason?: string;
  readonly message?: string;
  readonly details?: StatusDetails;
  // Event
  readonly count?: number;
  readonly type?: string;
  readonly involvedObject?: unknown;
  // Table
  readonly columnDefinitions?: readonly ColumnDefinition[] | null;
  readonly rows?: readonly { readonly cells: readonly unknown[]; readonly object?: Thing | null }[];
  // Discovery
  readonly resources?: readonly ApiResource[];
  readonly groups?: readonly { readonly name: string; readonly preferredVersion: { readonly groupVersion: string } }[];
  readonly versions?: readonly unknown[];
  readonly groupVersion?: string;
  readonly preferredVersion?: unknown;
  readonly major?: string;
}

/** The metadata of an object; empty when there is none. */
export function meta(thing: Thing): Metadata {
  return thing.metadata ?? {};
}

export function versionOf(thing: Thing): string {
  const version = thing.metadata?.resourceVersion;
  if (version === undefined) throw new Error(`no resourceVersion in ${JSON.stringify(thing)}`);
  return version;
}

/** Below 0 when `a` is older than `b`. Versions are compared, never computed with. */
export function compareVersions(a: string, b: string): number {
  const difference = BigInt(a) - BigInt(b);
  return difference < 0n ? -1 : difference > 0n ? 1 : 0;
}

/** Names of the items of a list. */
export function names(list: Thing): readonly string[] {
  return (list.items ?? []).map((item) => item.metadata?.name ?? "");
}

/** `name type format priority` of each column of a Table. */
export function columnsOf(table: Thing): readonly string[] {
  return (table.columnDefinitions ?? []).map(({ name, type, format, priority }) =>
    [name, type, format, priority].join(" ").replace("  ", " "),
  );
}
