/**
 * How a generated PodProtector is created, kept and removed (docs/generator.md#lifecycle). The order of the writes
 * matters:
 * - The name is seen to be free before the source is touched: a PodProtector of somebody else under that name stays,
 *   and so does the source.
 * - The source gets its finalizer before the protector exists, so that it cannot disappear unseen. If somebody else
 *   took the name meanwhile, the finalizer is taken off again.
 * - A protector is marked as released before it is deleted, so that a webhook can distinguish a wanted end from a loss.
 * Objects of others are patched, never replaced.
 */
import { objectKey } from "../../api/object-key.ts";
import { annotations, finalizer } from "../../api/v1alpha1/names.ts";
import { type ObjectMeta, type PodProtector, type PodProtectorSpec } from "../../api/v1alpha1/pod-protector.ts";
import { type EventRecorder } from "../../kube/event-recorder.ts";
import { isKubeError, type KubeClient, KubeError, resourcePath } from "../../kube/kube-client.ts";
import { presentOrThrow, readProtectorLive } from "../../kube/pod-protectors.ts";
import { podProtectors, readProtector, type StoredProtector } from "../../kube/resources.ts";
import { readSource } from "../../sources/read-source.ts";
import { type SourceKind, type SourceRecord, type SourceRef } from "../../sources/source.ts";
import { type LogFields, type Logger } from "../../util/logger.ts";
import { printable } from "../../util/printable.ts";
import { driftFields, driftPatch, readEditor } from "./drift.ts";
import {
  type DroppableField,
  type DroppedFields,
  inLogs,
  isGeneratedFor,
  newSpec,
  noteDropped,
  protectorNameOf,
  protectorTypeMeta,
  type WantedProtector,
} from "../sources/source-plan.ts";
import { isGuarded } from "../sources/source-choice.ts";
import { type OnAction } from "../metrics/metrics.ts";
import { isFinished } from "./vanished-protectors.ts";

export interface LifecycleOptions {
  readonly core: KubeClient;
  readonly onAction: OnAction;
  /** Has a line for each PodProtector that is created, changed or released. */
  readonly logger: Logger;
  /** Gets one about each that is released, or whose edit is put back. */
  readonly events: Pick<EventRecorder, "record">;
}

/** What the API server does not set itself. */
interface NewProtector {
  readonly metadata: Partial<ObjectMeta> & Pick<ObjectMeta, "namespace" | "name">;
  readonly spec: PodProtectorSpec;
}

export interface HeldProtector {
  readonly stored: StoredProtector;
  /** As the API server gave it: who wrote what. */
  readonly managedFields: unknown;
}

/** What has the name of a generated protector. */
export type NameHolder =
  | { readonly kind: "none" }
  | ({ readonly kind: "ours" } & HeldProtector)
  /** It has neither our labels nor our finalizer. */
  | { readonly kind: "foreign" };

/** Every method rejects with a KubeError. The next reconciliation does what is left. */
export class ProtectorLifecycle {
  readonly #core: KubeClient;
  readonly #onAction: LifecycleOptions["onAction"];
  readonly #logger: Logger;
  readonly #events: LifecycleOptions["events"];

  readonly #dropped = new Set<DroppableField>();

  constructor(options: LifecycleOptions) {
    this.#core = options.core;
    this.#onAction = options.onAction;
    this.#logger = options.logger;
    this.#events = options.events;
  }

  /**
   * Fields of the spec that the CRD dropped when they were written: that of another release does. They are not written
   * any more, or they would be for ever.
   */
  get dropped(): DroppedFields {
    return this.#dropped;
  }

  /**
   * Adds our finalizer to the source, if it has none and accepts one. False if there is nothing to protect: the source
   * is gone, or it is terminating without a protector. It accepts no finalizer then, so nothing would ever remove a new
   * protector.
   */
  async guard(source: SourceRecord, hasProtector: boolean, signal: AbortSignal): Promise<boolean> {
    if (isGuarded(source)) return true;
    if (source.isTerminating) return hasProtector;
    if (source.kind.isNeverWritten) return true;
    return await this.#patchSourceFinalizers(source, [...source.finalizers, finalizer], signal);
  }

  /**
   * `guard` of a source without our finalizer, as a cache has it. The patch holds for that version alone, so it is as
   * good as a live read. The source as it is then; undefined when it is not that version any more.
   */
  async guardCached(source: SourceRecord, signal: AbortSignal): Promise<SourceRecord | undefined> {
    const finalizers = [...source.finalizers, finalizer];
    try {
      const isThere = await this.#patchSourceFinalizers(source, finalizers, signal);
      return isThere ? { ...source, finalizers } : undefined;
    } catch (error) {
      if (isKubeError(error, "conflict")) return undefined;
      throw error;
    }
  }

  /**
   * Creates the protector of a guarded source; what people had set on a `former` one, which vanished, is in it again.
   * "raced": one that is ours exists already, and has an event of its own. "foreign": somebody else has taken the name.
   * Rejects with a KubeError, also where the name was taken a moment ago and is free again.
   */
  async create(
    wanted: WantedProtector,
    former: PodProtector | undefined,
    signal: AbortSignal,
  ): Promise<"created" | "raced" | "foreign"> {
    const { kind, namespace, name, ownerReference } = wanted;
    const created = await this.#post(
      {
        metadata: {
          name,
          namespace,
          ...keptOf(former, wanted, [annotations.released, annotations.overridden, annotations.mode, annotations.keep]),
          finalizers: [wanted.finalizer],
          ownerReferences: [ownerReference],
        },
        spec: newSpec(former, wanted),
      },
      signal,
    );
    if (created) {
      this.#onAction(former === undefined ? "Create" : "Recreate", kind, wanted);
      const { minAvailable: mustStay } = wanted.spec;
      if (former === undefined) this.#logger.info("Created a PodProtector", { ...wantedInLogs(wanted), mustStay });
      return "created";
    }
    const holder = await this.nameHolder({ kind, namespace, name: ownerReference.name }, signal);
    return holder.kind === "foreign" ? "foreign" : "raced";
  }

  /**
   * Makes a protector again that vanished together with its source, which was of that kind. Without owner: the garbage
   * collector would delete it at once. False when somebody has taken the name.
   */
  async recreate(former: PodProtector, kind: SourceKind, signal: AbortSignal): Promise<boolean> {
    const { name, namespace } = former.metadata;
    const kept = keptOf(former, { labels: {}, annotations: {} }, [annotations.released]);
    const metadata = { name, namespace, ...kept, finalizers: [finalizer] };
    if (!(await this.#post({ metadata, spec: former.spec }, signal))) return false;
    this.#onAction("Recreate", kind, former.metadata);
    return true;
  }

  /** Repairs what differs. `floorBefore`: the annotation of a floor that is lowered. */
  async sync(
    { stored, managedFields }: HeldProtector,
    wanted: WantedProtector,
    signal: AbortSignal,
    floorBefore?: string,
  ): Promise<void> {
    const patch = driftPatch(stored.protector, wanted, floorBefore);
    if (patch === undefined) return;
    const synced = await this.#patch(stored, patch, signal);
    if (synced !== undefined) noteDropped(this.#dropped, wanted, synced.protector.spec);
    this.#onAction("Sync", wanted.kind, wanted);
    if (synced !== undefined) this.#tellOfSync(stored.protector, wanted, managedFields);
  }

  #tellOfSync(before: PodProtector, wanted: WantedProtector, managedFields: unknown): void {
    const [from, to] = [before.spec.minAvailable, wanted.spec.minAvailable];
    const fields = driftFields(before, wanted);
    const inSpec = fields.flatMap((field) => (field.startsWith("spec.") ? [field.slice("spec.".length)] : []));
    const editedBy = readEditor(managedFields, from === to ? inSpec : ["minAvailable", ...inSpec]);
    if (editedBy !== undefined) {
      this.#logger.warn("Put back what somebody had edited in a generated PodProtector: edit its source instead", {
        ...wantedInLogs(wanted),
        editedBy,
        ...(from === to ? {} : { mustStay: to, before: from }),
        ...(fields.length === 0 ? {} : { fields: fields.join(",") }),
      });
      const { namespace, name, uid } = before.metadata;
      const source = `${wanted.kind.kind} ${namespace}/${wanted.ownerReference.name}`;
      const message = `${printable(editedBy)} has edited what comes from ${source}; it is put back. Edit that instead`;
      this.#events.record({ ...protectorTypeMeta, namespace, name, uid }, "Warning", "EditUndone", message);
      return;
    }
    if (from !== to)
      this.#logger.info("Changed the floor of a PodProtector", { ...wantedInLogs(wanted), mustStay: to, before: from });
    if (fields.length > 0)
      this.#logger.info("Updated a PodProtector that differed from its source", {
        ...wantedInLogs(wanted),
        fields: fields.join(","),
      });
  }

  /** The source as it is now; undefined when there is none. */
  async readSource({ kind, namespace, name }: SourceRef, signal: AbortSignal): Promise<SourceRecord | undefined> {
    const answer = await this.#read(resourcePath(kind.resource, { namespace, name }), signal);
    if (answer === undefined) return kind.departed?.({ namespace, name });
    const source = kind.readLive === undefined ? readSource(kind, answer) : await kind.readLive(answer, signal);
    if (source === undefined) throw new KubeError("malformed", `${kind.kind} ${namespace}/${name} is invalid`);
    return source;
  }

  /** What has the name that the protector of this source has, as it is now. */
  async nameHolder(source: SourceRef, signal: AbortSignal): Promise<NameHolder> {
    const { namespace } = source;
    const name = protectorNameOf(source.kind, source.name);
    const read = await readProtectorLive(this.#core, { namespace, name }, { signal });
    const stored = presentOrThrow(read);
    if (stored === undefined) return { kind: "none" };
    const managedFields = read.kind === "read" ? read.managedFields : undefined;
    return isGeneratedFor(stored.protector, source) ? { kind: "ours", stored, managedFields } : { kind: "foreign" };
  }

  /**
   * Marks the protector as released, deletes it and removes our finalizer. Each step holds only for the version that
   * the step before left, so that it fails if a source of the same name has adopted the protector meanwhile. `kind`: of
   * its source. `cause`: why, for people.
   */
  async release(stored: StoredProtector, kind: SourceKind, cause: string, signal: AbortSignal): Promise<void> {
    const { metadata } = stored.protector;
    let current: StoredProtector | undefined = stored;
    if (metadata.annotations?.[annotations.released] === undefined) {
      current = await this.#patch(
        current,
        {
          metadata: {
            uid: stored.uid,
            resourceVersion: metadata.resourceVersion,
            annotations: { [annotations.released]: "true" },
          },
        },
        signal,
      );
    }
    if (current !== undefined && metadata.deletionTimestamp === undefined)
      current = await this.#delete(current, signal);
    const finalizers = current?.protector.metadata.finalizers ?? [];
    if (current !== undefined && finalizers.includes(finalizer)) {
      await this.#patch(
        current,
        {
          metadata: {
            resourceVersion: current.resourceVersion,
            finalizers: finalizers.filter((one) => one !== finalizer),
          },
        },
        signal,
      );
    }
    this.#onAction("Delete", kind, metadata);
    const { minAvailable: before } = stored.protector.spec;
    if (isFinished(stored)) return;
    this.#logger.info("Released a PodProtector", { podProtector: stored.key, before, cause });
    const { namespace, name, uid } = metadata;
    const message = `Its floor of ${before} is no longer in force: ${cause}`;
    this.#events.record({ ...protectorTypeMeta, namespace, name, uid }, "Normal", "Released", message);
  }

  /** Removes our finalizer from the source, if it has it, so that its deletion can complete. */
  async removeSourceFinalizer(source: SourceRecord, signal: AbortSignal): Promise<void> {
    if (!isGuarded(source)) return;
    await this.#patchSourceFinalizers(
      source,
      source.finalizers.filter((one) => one !== finalizer),
      signal,
    );
    this.#onAction("CleanSourceFinalizer", source.kind, source);
  }

  /** False when the name is taken. */
  async #post(object: NewProtector, signal: AbortSignal): Promise<boolean> {
    try {
      await this.#core.request({
        method: "POST",
        path: resourcePath(podProtectors, { namespace: object.metadata.namespace }),
        body: { ...protectorTypeMeta, ...object },
        signal,
      });
      return true;
    } catch (error) {
      if (!isKubeError(error, "alreadyExists")) throw error;
      // What was there may be gone again, and a list may hide that it was: then no event tells, so it is tried again.
      if ((await this.#read(resourcePath(podProtectors, object.metadata), signal)) === undefined) throw error;
      return false;
    }
  }

  async #read(path: string, signal: AbortSignal): Promise<unknown> {
    try {
      return await this.#core.request({ method: "GET", path, signal });
    } catch (error) {
      if (isKubeError(error, "notFound")) return undefined;
      throw error;
    }
  }

  /** False when the source is gone. */
  async #patchSourceFinalizers(
    source: SourceRecord,
    finalizers: readonly string[],
    signal: AbortSignal,
  ): Promise<boolean> {
    const { kind, namespace, name } = source;
    try {
      await this.#core.request({
        method: "PATCH",
        path: resourcePath(kind.resource, { namespace, name }),
        contentType: "application/merge-patch+json",
        // A list is replaced as a whole, so the patch holds only for the version that it was made from.
        body: { metadata: { uid: source.uid, resourceVersion: source.resourceVersion, finalizers } },
        signal,
      });
      return true;
    } catch (error) {
      if (isKubeError(error, "notFound")) return false;
      throw error;
    }
  }

  /** The object after the patch; undefined when it is gone. */
  async #patch(stored: StoredProtector, body: unknown, signal: AbortSignal): Promise<StoredProtector | undefined> {
    return this.#change(stored, { method: "PATCH", body }, signal);
  }

  /** The terminating object; undefined when it is gone at once. */
  async #delete(stored: StoredProtector, signal: AbortSignal): Promise<StoredProtector | undefined> {
    const { uid, resourceVersion } = stored;
    return this.#change(stored, { method: "DELETE", body: { preconditions: { uid, resourceVersion } } }, signal);
  }

  async #change(
    stored: StoredProtector,
    change: { readonly method: "PATCH" | "DELETE"; readonly body: unknown },
    signal: AbortSignal,
  ): Promise<StoredProtector | undefined> {
    const { namespace, name } = stored.protector.metadata;
    try {
      const answer = await this.#core.request({
        method: change.method,
        path: resourcePath(podProtectors, { namespace, name }),
        contentType: change.method === "PATCH" ? "application/merge-patch+json" : "application/json",
        body: change.body,
        signal,
      });
      return isStatus(answer) ? undefined : validProtector(answer, namespace, name);
    } catch (error) {
      if (isKubeError(error, "notFound")) return undefined;
      throw error;
    }
  }
}

function wantedInLogs({ kind, namespace, name, ownerReference }: WantedProtector): LogFields {
  const source = inLogs({ kind, namespace, name: ownerReference.name });
  return { podProtector: objectKey(namespace, name), ...source };
}

/**
 * Labels and annotations of a new object: those that are wanted, and what others had set on the former one. `dropped`:
 * annotations of the former one that do not hold for it.
 */
function keptOf(
  former: PodProtector | undefined,
  wanted: Pick<WantedProtector, "labels" | "annotations">,
  dropped: readonly string[],
): Pick<WantedProtector, "labels" | "annotations"> {
  const kept = Object.entries(former?.metadata.annotations ?? {}).filter(([key]) => !dropped.includes(key));
  return {
    labels: { ...former?.metadata.labels, ...wanted.labels },
    annotations: { ...Object.fromEntries(kept), ...wanted.annotations },
  };
}

function validProtector(answer: unknown, namespace: string, name: string): StoredProtector {
  const read = readProtector(answer);
  if (read.ok) return read.stored;
  throw new KubeError("malformed", `PodProtector ${namespace}/${name} is invalid: ${read.reason}`);
}

/** A DELETE that removes the object at once answers with a Status instead of the object. */
function isStatus(answer: unknown): boolean {
  return typeof answer === "object" && answer !== null && "kind" in answer && answer.kind === "Status";
}
