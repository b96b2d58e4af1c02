/**
 * Workloads that are being deleted and have the finalizer of the generator: they stay until it has released their
 * floor, however long that takes. While none leads, somebody else has to say so (docs/generator.md#when-none-leads).
 */
import { asList, fieldsOf } from "../api/json.ts";
import { parseTime } from "../api/micro-time.ts";
import { finalizer, sourceLabels } from "../api/v1alpha1/names.ts";
import { type ObjectMeta } from "../api/v1alpha1/pod-protector.ts";
import { type KubeClient, type Resource, resourceText } from "../kube/kube-client.ts";
import { listAll } from "../kube/watch/index.ts";
import { type EpochMicros } from "../util/clock.ts";
import { sourceKinds } from "./index.ts";
import { type SourceKind } from "./source.ts";

/** A kind that has PodProtectors. */
export interface GuardedKind {
  readonly apiVersion: string;
  readonly kind: string;
  readonly resource: Resource;
}

export interface WaitingWorkload extends GuardedKind {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly deletedAt: EpochMicros | undefined;
  /** Place of our finalizer among those of the object. */
  readonly finalizerIndex: number;
}

/** More kinds than a fleet protects. Anybody who may make PodProtectors could name any number of them. */
const kindsMax = 20;
const labelledMax = 1_000;
/** Some 2 kB of metadata each; pages of 500. */
const pagesMax = 200;
/** A page of metadata has a megabyte. */
const timeoutMs = 10_000;

/**
 * The kinds that these PodProtectors were generated for, custom ones too; without those that get no finalizer. The
 * built-in ones come first: labels that somebody makes up are not to leave them out.
 */
export function guardedKinds(protectors: Iterable<ObjectMeta>): readonly GuardedKind[] {
  const found = new Map<string, GuardedKind>();
  for (const metadata of protectors) {
    const kind = guardedKind(metadata);
    if (kind !== undefined && found.size < labelledMax)
      found.set(`${kind.resource.resource}.${kind.resource.group}`, kind);
  }
  const byOrigin = Array.from(found.values(), (kind) => ({ kind, builtIn: builtIn(kind) }));
  return byOrigin
    .filter(({ builtIn: known }) => known?.isNeverWritten !== true)
    .sort((a, b) => Number(a.builtIn === undefined) - Number(b.builtIn === undefined))
    .map(({ kind }) => kind)
    .slice(0, kindsMax);
}

function guardedKind({ labels = {}, ownerReferences = [] }: ObjectMeta): GuardedKind | undefined {
  const { [sourceLabels.group]: group, [sourceLabels.resource]: resource, [sourceLabels.kind]: kind } = labels;
  const apiVersion = ownerReferences.find((owner) => owner.kind === kind)?.apiVersion;
  if (group === undefined || resource === undefined || kind === undefined || apiVersion === undefined) return undefined;
  const [version = "", ownGroup = ""] = apiVersion.split("/").toReversed();
  return ownGroup === group ? { apiVersion, kind, resource: { group, version, resource } } : undefined;
}

function builtIn({ resource: { group, resource } }: GuardedKind): SourceKind | undefined {
  return sourceKinds.find(({ resource: known }) => known.group === group && known.resource === resource);
}

/** `namespace`: undefined = all. Throws KubeError. */
export async function listWaiting(
  client: KubeClient,
  kind: GuardedKind,
  namespace: string | undefined,
  signal: AbortSignal,
): Promise<readonly WaitingWorkload[]> {
  const found: WaitingWorkload[] = [];
  await listAll(
    client,
    { resource: kind.resource, namespace, preferMetadata: true },
    (raw) => {
      const metadata = fieldsOf(fieldsOf(raw)["metadata"]);
      const { deletionTimestamp, finalizers, namespace: place, name, uid } = metadata;
      const finalizerIndex = asList(finalizers).indexOf(finalizer);
      if (typeof deletionTimestamp !== "string" || finalizerIndex < 0) return;
      if (typeof place !== "string" || typeof name !== "string" || typeof uid !== "string") return;
      const deletedAt = parseTime(deletionTimestamp);
      found.push({ ...kind, namespace: place, name, uid, deletedAt, finalizerIndex });
    },
    { signal, timeoutMs, pagesMax },
  );
  return found;
}

/** Takes off our finalizer and no other; fails when the list of finalizers has changed. For a shell. */
export function finalizerCommand(workload: WaitingWorkload): string {
  const { namespace, name, finalizerIndex } = workload;
  const path = `/metadata/finalizers/${finalizerIndex}`;
  const patch = JSON.stringify([
    { op: "test", path, value: finalizer },
    { op: "remove", path },
  ]);
  return `kubectl -n ${namespace} patch ${resourceText(workload.resource)} ${name} --type=json -p='${patch}'`;
}
