/**
 * Counts pods that leave the worker without ever having been terminating (docs/kubelet.md#how-to-see-it). Every
 * deletion through the API marks the pod first, so these were lost: from etcd, or by a tool that writes to it.
 */
import { type PodRecord } from "../../api/pod.ts";
import { type Informer, type InformerEvent } from "../../kube/informer.ts";
import { type Clock, type MonotonicMs, type Timer } from "../../util/clock.ts";
import { type Logger } from "../../util/logger.ts";
import { type Counter, type Metrics } from "../../util/metrics.ts";

export interface VanishedPodsOptions {
  readonly cellID: string;
  readonly pods: Pick<Informer<PodRecord>, "subscribe">;
  /** Pods that the watch's label selector no longer selects leave it in the same way. */
  readonly hasSelector: boolean;
  /** Writes an Event about the Lease of the cell. */
  readonly event: (type: "Warning", reason: string, message: string) => void;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/**
 * Pods within a minute that make a burst. Below it are single accidents, such as a pod that somebody removed from etcd
 * by hand; a lost range of keys or a damaged etcd takes hundreds.
 */
const burstMin = 10;
const burstWindowMs = 60_000;
/** A burst is told with its number, so the rest of it may come first. */
const tellAfterMs = 5_000;
/** As many as fit into an Event. */
const namedMax = 5;

interface Vanished {
  readonly key: string;
  readonly atMs: MonotonicMs;
}

export class VanishedPods {
  readonly #options: VanishedPodsOptions;
  readonly #count: Counter;
  /** Of the last minute, while there is no burst; the oldest first. */
  #recent: Vanished[] = [];
  #burst: { count: number; lastAtMs: MonotonicMs } | undefined;
  #timer: Timer | undefined;
  #isLeading = false;

  /** Create before the informer runs. */
  constructor(options: VanishedPodsOptions) {
    this.#options = options;
    this.#count = options.metrics.counter(
      "aggregator_vanished_pods_total",
      "Pods that left the watch without ever having been terminating, Failed or Succeeded, seen by the leader",
      ["cell"],
    );
    options.pods.subscribe({ onEvent: (event) => this.#podEvent(event) });
  }

  /** Counts until the signal aborts, which ends a term: of several replicas only the leader counts. */
  lead(signal: AbortSignal): void {
    if (signal.aborted) return;
    this.#isLeading = true;
    const end = (): void => {
      this.#isLeading = false;
      this.#timer?.cancel();
      this.#recent = [];
      this.#burst = undefined;
    };
    signal.addEventListener("abort", end, { once: true });
  }

  #podEvent(event: InformerEvent<PodRecord>): void {
    if (!this.#isLeading || event.type !== "deleted") return;
    // How a pod left that is absent from a list nobody knows.
    if (event.isAbsent === true || event.object.isTerminating || event.object.isTerminal) return;
    const { cellID, clock } = this.#options;
    this.#count.inc({ cell: cellID });
    const atMs = clock.monotonicMs();
    if (this.#burst !== undefined && atMs - this.#burst.lastAtMs >= burstWindowMs) this.#burst = undefined;
    if (this.#burst !== undefined) {
      this.#burst.count += 1;
      this.#burst.lastAtMs = atMs;
      return;
    }
    this.#recent = this.#recent.filter((earlier) => atMs - earlier.atMs < burstWindowMs);
    this.#recent.push({ key: event.object.key, atMs });
    if (this.#recent.length > burstMin) this.#began(atMs);
  }

  #began(atMs: MonotonicMs): void {
    const named = this.#recent.slice(-namedMax).map(({ key }) => key);
    const burst = { count: this.#recent.length, lastAtMs: atMs };
    this.#burst = burst;
    this.#recent = [];
    this.#timer = this.#options.clock.setTimer(tellAfterMs, () => this.#tell(burst.count, named));
  }

  #tell(count: number, named: readonly string[]): void {
    const { cellID, event, hasSelector, logger } = this.#options;
    const relabelled = hasSelector ? ", or their labels no longer fit --aggregator-pod-label-selector" : "";
    const message =
      `${count} pods of cell "${cellID}" have vanished without having been deleted, among them ${named.join(", ")}: ` +
      `lost from etcd${relabelled}. Nodes kill such pods unless their kubelets are adapted`;
    logger.error(message, { cell: cellID, pods: count, some: named });
    event("Warning", "PodsVanished", message);
  }
}
