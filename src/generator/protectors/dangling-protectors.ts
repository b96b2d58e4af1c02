/**
 * The PodProtectors whose source vanished without being deleted (docs/generator.md#lifecycle): each is told once per
 * process, by log, Event and metric, and has a condition.
 */
import { type ObjectKey } from "../../api/object-key.ts";
import { type FoundConditions } from "../../api/v1alpha1/conditions.ts";
import { annotations } from "../../api/v1alpha1/names.ts";
import { type EventRecorder } from "../../kube/event-recorder.ts";
import { type StoredProtector } from "../../kube/resources.ts";
import { type SourceKind, type SourceRef } from "../../sources/source.ts";
import { type Logger } from "../../util/logger.ts";
import { type OnAction } from "../metrics/metrics.ts";

export interface DanglingProtectorsOptions {
  readonly events: Pick<EventRecorder, "record">;
  readonly logger: Logger;
  readonly onAction: OnAction;
}

export class DanglingProtectors {
  readonly #options: DanglingProtectorsOptions;
  /** At most as many as there are. */
  readonly #told = new Set<ObjectKey>();

  constructor(options: DanglingProtectorsOptions) {
    this.#options = options;
  }

  has(key: ObjectKey): boolean {
    return this.#told.has(key);
  }

  /** It is gone, or has a source again: a second loss is news. */
  forget(key: ObjectKey): void {
    this.#told.delete(key);
  }

  /** Tells of it, unless this process has. `kind`: of its source. */
  report(stored: StoredProtector, kind: SourceKind): void {
    if (this.#told.has(stored.key)) return;
    this.#told.add(stored.key);
    const { events, logger, onAction } = this.#options;
    const { apiVersion, metadata } = stored.protector;
    onAction(metadata.deletionTimestamp === undefined ? "Dangling" : "Finalizing", kind, metadata);
    logger.warn("The source of a PodProtector vanished without being deleted, keeping it in force", {
      podProtector: stored.key,
    });
    const { namespace, name } = metadata;
    events.record(
      { apiVersion, kind: "PodProtector", namespace, name, uid: stored.uid },
      "Warning",
      "Dangling",
      `The source ${kind.kind} vanished without being deleted. This PodProtector stays in force. ` +
        `Once the workload is really gone, annotate it with ${annotations.released}=true, and it will be deleted.`,
    );
  }

  /** The condition of one whose source is absent. Nothing while it is not known whether that has vanished. */
  found({ key }: StoredProtector, { kind, name }: SourceRef): FoundConditions {
    if (!this.#told.has(key)) return {};
    const message = `${kind.kind} ${name} vanished without being deleted. This PodProtector stays in force`;
    return { Dangling: { reason: "SourceVanished", message } };
  }
}
