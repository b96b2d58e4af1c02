/**
 * Makes PodProtectors again that vanished from the core, and tells of it
 * (docs/generator.md#when-a-podprotector-is-gone). Those without a source are lost with a wiped or restored core.
 */
import { type ObjectKey } from "../../api/object-key.ts";
import { holdingCondition } from "../../api/v1alpha1/conditions.ts";
import { type PodProtector } from "../../api/v1alpha1/pod-protector.ts";
import { type EventRecorder } from "../../kube/event-recorder.ts";
import { type InformerEvent } from "../../kube/informer.ts";
import { isKubeError } from "../../kube/kube-client.ts";
import { type StoredProtector } from "../../kube/resources.ts";
import { type Clock, givenMs } from "../../util/clock.ts";
import { type Logger } from "../../util/logger.ts";
import { type Later } from "../paced-queue.ts";
import { type ProtectorCrd } from "./protector-crd.ts";
import { type ProtectorLifecycle } from "./protector-lifecycle.ts";
import { type WantedProtector } from "../sources/source-plan.ts";
import { type Vanished, type VanishedProtectors } from "./vanished-protectors.ts";

/**
 * Where nothing can be made, one of each namespace is tried often (vanished-protectors.ts), and the others follow it.
 * By themselves they come so seldom: ten thousand in a wiped core cost 50 requests a second then, and delay nobody.
 */
const stuckEveryMs = 600_000;

export interface RecreationOptions {
  readonly vanished: VanishedProtectors;
  readonly lifecycle: Pick<ProtectorLifecycle, "create" | "recreate">;
  readonly crd: Pick<ProtectorCrd, "hasTaken">;
  readonly events: Pick<EventRecorder, "record">;
  readonly clock: Pick<Clock, "givenShare">;
  readonly logger: Logger;
  /** Has these PodProtectors worked on. */
  readonly onDue: (protectors: readonly ObjectKey[]) => void;
}

export class Recreation {
  readonly #options: RecreationOptions;
  /** Namespaces in which nothing could be made: they are absent or terminating, or the CRD is. */
  readonly #stuck = new Set<string>();

  constructor(options: RecreationOptions) {
    this.#options = options;
  }

  /** Call for each event, after the vanished ones are known. */
  watched({ type, object }: InformerEvent<StoredProtector>): void {
    const { vanished, onDue } = this.#options;
    const { namespace } = object.protector.metadata;
    // Somebody else's, which has let go of the name.
    if (vanished.get(object.key) !== undefined) onDue([object.key]);
    if (type !== "added" || !this.#stuck.delete(namespace)) return;
    // What could not be made there before can be now.
    const there = [...vanished.values()].filter(({ source }) => source.namespace === namespace);
    onDue(there.map(({ stored }) => stored.key));
  }

  /** As ProtectorLifecycle.create. `lost`: what had the name before, and was not released. */
  async create(
    wanted: WantedProtector,
    lost: Vanished | undefined,
    signal: AbortSignal,
  ): ReturnType<ProtectorLifecycle["create"]> {
    const outcome = await this.#options.lifecycle.create(wanted, lost?.stored.protector, signal);
    if (outcome === "created" && lost !== undefined) this.#tell(lost);
    return outcome;
  }

  /** The source is gone too, and the name is free. Rejects with a KubeError. */
  async recreate(lost: Vanished, signal: AbortSignal): Promise<Later | void> {
    const { vanished, lifecycle, crd, clock } = this.#options;
    const { stored, source } = lost;
    const { key, protector } = stored;
    const { namespace } = protector.metadata;
    // A person who deletes a dangling one, and takes its finalizer off, wants it gone.
    const isByHand = isTerminatingDangling(protector) && !(await crd.hasTaken(protector.metadata, signal));
    if (isByHand || (await vanished.fateOf(lost, signal)) !== "lost") {
      vanished.forget(key);
      return;
    }
    try {
      if (!(await lifecycle.recreate(protector, source.kind, signal))) return;
    } catch (error) {
      if (!isKubeError(error, "notFound", "forbidden")) throw error;
      if (this.#stuck.has(namespace)) return { waitMs: givenMs(clock, stuckEveryMs) };
      this.#stuck.add(namespace);
      throw error; // for the log
    }
    this.#tell(lost);
  }

  #tell({ stored }: Vanished): void {
    const { logger, events } = this.#options;
    const { key, protector } = stored;
    const { namespace, name } = protector.metadata;
    logger.warn("A PodProtector vanished without having been released, made it again", { podProtector: key });
    events.record(
      { apiVersion: protector.apiVersion, kind: "PodProtector", namespace, name },
      "Warning",
      "Recreated",
      "This PodProtector had vanished from the core without having been released. It is made again and in force.",
    );
  }
}

/** Without the condition it is the garbage collector that deletes, for an owner that vanished. */
function isTerminatingDangling({ metadata, status }: PodProtector): boolean {
  return metadata.deletionTimestamp !== undefined && holdingCondition(status?.conditions, "Dangling") !== undefined;
}
