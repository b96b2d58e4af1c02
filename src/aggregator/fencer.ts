/**
 * Sends fences (design 2.3): a merge patch on pods/status that gives the pod a unique annotation value and so a new version, after which a
 * deletion in flight at an older version must be reviewed again. The right to `patch pods/status` is enough; nothing else changes.
 */
import { type PodRecord } from "../api/pod.ts";
import { parseResourceVersion } from "../api/resource-version.ts";
import { annotations } from "../api/v1alpha1/names.ts";
import { type FenceRegistry } from "../core/fence-registry.ts";
import { isKubeError, type KubeClient, resourcePath } from "../kube/kube-client.ts";
import { pods } from "../kube/resources.ts";
import { type Clock, sleep } from "../util/clock.ts";
import { type Logger } from "../util/logger.ts";
import { type Counter } from "../util/metrics.ts";
import { randomHex, type Rng } from "../util/rng.ts";

/**
 * Fences sent per second: a mass deletion that was refused elsewhere leaves thousands of buckets, and each fence is a write in the worker's
 * etcd. 50 a second is a quarter of the default client limit.
 */
const fencesPerSecond = 50;
/** Fences waiting for their turn; what does not fit is asked for again by the next aggregation. */
const waitingMax = 1000;

export interface FencerOptions {
  readonly client: KubeClient;
  readonly registry: FenceRegistry;
  readonly clock: Clock;
  readonly rng: Rng;
  readonly logger: Logger;
  /** Labelled by result: sent, forbidden, replaced, failed. */
  readonly fences: Counter;
  /** What is known of the pod's fence has changed: answered, failed or refused. */
  readonly onAnswered: (podUID: string) => void;
}

export class Fencer {
  readonly #options: FencerOptions;
  readonly #waiting = new Map<string, PodRecord>();
  #running = false;

  constructor(options: FencerOptions) {
    this.#options = options;
  }

  /** Fences the pod soon, until the signal aborts; `onAnswered` follows. False, and nothing done, when too many are waiting. */
  request(pod: PodRecord, signal: AbortSignal): boolean {
    if (this.#waiting.has(pod.uid)) return true;
    if (signal.aborted || this.#waiting.size >= waitingMax) return false;
    this.#waiting.set(pod.uid, pod);
    if (!this.#running) void this.#run(signal);
    return true;
  }

  async #run(signal: AbortSignal): Promise<void> {
    this.#running = true;
    const { clock, onAnswered } = this.#options;
    while (!signal.aborted) {
      const next = this.#waiting.entries().next();
      if (next.done === true) break;
      const [podUID, pod] = next.value;
      this.#waiting.delete(podUID);
      // Not awaited: the pace is the rate, not the latency.
      void this.#send(pod, signal).then(() => onAnswered(podUID));
      await sleep(clock, 1000 / fencesPerSecond, signal);
    }
    if (signal.aborted) this.#waiting.clear();
    this.#running = false;
  }

  async #send(pod: PodRecord, signal: AbortSignal): Promise<void> {
    const { client, registry, clock, rng, logger, fences } = this.#options;
    const sentAtMs = clock.monotonicMs();
    registry.sending(pod.uid, sentAtMs);
    try {
      const answer = await client.request({
        method: "PATCH",
        path: resourcePath(pods, { namespace: pod.namespace, name: pod.name, subresource: "status" }),
        contentType: "application/merge-patch+json",
        // The value is unique, because a patch that changes nothing moves nothing and proves nothing (scenario 23).
        body: { metadata: { uid: pod.uid, annotations: { [annotations.fence]: randomHex(rng, 16) } } },
        signal,
      });
      const version = versionOf(answer);
      if (version === undefined) registry.failed(pod.uid);
      else registry.answered(pod.uid, sentAtMs, version);
      fences.inc({ result: version === undefined ? "failed" : "sent" });
    } catch (error) {
      if (isKubeError(error, "forbidden")) {
        registry.refused(pod.uid);
        fences.inc({ result: "forbidden" });
        logger.verbose(2, "not allowed to fence pods, using the settle window", { pod: pod.key, err: error });
        return;
      }
      registry.failed(pod.uid);
      const replaced = isKubeError(error, "notFound", "invalid", "conflict");
      fences.inc({ result: replaced ? "replaced" : "failed" });
      if (!replaced && !signal.aborted) logger.warn("cannot fence a pod", { pod: pod.key, err: error });
    }
  }
}

function versionOf(answer: unknown): ReturnType<typeof parseResourceVersion> {
  if (typeof answer !== "object" || answer === null) return undefined;
  const metadata: unknown = (answer as { metadata?: unknown }).metadata;
  if (typeof metadata !== "object" || metadata === null) return undefined;
  return parseResourceVersion((metadata as { resourceVersion?: unknown }).resourceVersion);
}
