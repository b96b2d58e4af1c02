/**
 * Sends fences (design 2.3): a merge patch on pods/status that gives the pod a unique annotation value and so a new
 * version, after which a deletion in flight at an older version must be reviewed again. The right to `patch
 * pods/status` is enough; nothing else changes.
 */
import { type PodRecord, readAnnotations } from "../api/pod.ts";
import { parseResourceVersion, type ResourceVersion } from "../api/resource-version.ts";
import { annotations } from "../api/v1alpha1/names.ts";
import { type FenceRegistry } from "../accounting/settle/fence-registry.ts";
import { isKubeError, type KubeClient, resourcePath } from "../kube/kube-client.ts";
import { pods } from "../kube/resources.ts";
import { type Clock, sleep } from "../util/clock.ts";
import { type Logger } from "../util/logger.ts";
import { type Counter } from "../util/metrics.ts";
import { randomHex, type Rng } from "../util/rng.ts";

/**
 * Fences sent per second: a mass deletion that was refused elsewhere leaves thousands of buckets, and each fence is a
 * write in the worker's etcd. 50 a second is a quarter of the default client limit.
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
  /** Labelled by result: sent, forbidden, replaced, stripped, failed. */
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

  /** Fences that wait for their turn. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /**
   * Fences the pod soon, until the signal aborts; `onAnswered` follows. False, and nothing done, when too many are
   * waiting.
   */
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
    // The value is unique, because a patch that changes nothing moves nothing and proves nothing (scenario 23).
    const value = randomHex(rng, 16);
    registry.sending(pod.uid, sentAtMs);
    try {
      const answer = await client.request({
        method: "PATCH",
        path: resourcePath(pods, { namespace: pod.namespace, name: pod.name, subresource: "status" }),
        contentType: "application/merge-patch+json",
        body: { metadata: { uid: pod.uid, annotations: { [annotations.fence]: value } } },
        signal,
      });
      const fenced = readFenced(answer);
      if (fenced === undefined) {
        registry.failed(pod.uid);
        fences.inc({ result: "failed" });
      } else if (fenced.value === value) {
        registry.answered(pod.uid, sentAtMs, fenced.version);
        fences.inc({ result: "sent" });
      } else {
        registry.refused(pod.uid);
        fences.inc({ result: "stripped" });
        logger.verbose(2, "something removes the annotation of fences, using the settle window", { pod: pod.key });
      }
    } catch (error) {
      if (isKubeError(error, "forbidden")) {
        registry.refused(pod.uid);
        fences.inc({ result: "forbidden" });
        logger.verbose(2, "not allowed to fence pods, using the settle window", { pod: pod.key, err: error });
        return;
      }
      // "invalid": the pod was replaced, which the snapshot will show, or a policy refuses the patch, which it would do
      // again.
      if (isKubeError(error, "invalid")) registry.refused(pod.uid);
      else registry.failed(pod.uid);
      const replaced = isKubeError(error, "notFound", "invalid", "conflict");
      fences.inc({ result: replaced ? "replaced" : "failed" });
      if (!replaced && !signal.aborted) logger.warn("cannot fence a pod", { pod: pod.key, err: error });
    }
  }
}

/** The version of the pod that the patch returned, and the value of the fence in it. */
function readFenced(
  answer: unknown,
): { readonly version: ResourceVersion; readonly value: string | undefined } | undefined {
  const metadata = (answer as { readonly metadata?: { readonly resourceVersion?: unknown } } | null | undefined)
    ?.metadata;
  const version = parseResourceVersion(metadata?.resourceVersion);
  return version === undefined ? undefined : { version, value: readAnnotations(answer)[annotations.fence] };
}
