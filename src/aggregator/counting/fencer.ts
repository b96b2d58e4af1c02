/**
 * Sends fences (docs/accounting.md#fences): merge patches on pods/status that give the pod a unique annotation value,
 * and so a new version. After that, a deletion in flight at an older version must be reviewed again. Nothing else of
 * the pod changes, and the right to `patch pods/status` is enough.
 */
import { type PodRecord, readAnnotations } from "../../api/pod.ts";
import { parseResourceVersion, type ResourceVersion } from "../../api/resource-version.ts";
import { annotations } from "../../api/v1alpha1/names.ts";
import { type FenceRegistry } from "../../accounting/settle/fence-registry.ts";
import { isKubeError, type KubeClient, resourcePath } from "../../kube/kube-client.ts";
import { pods } from "../../kube/resources.ts";
import { type Clock, type MonotonicMs, sleep } from "../../util/clock.ts";
import { type Logger } from "../../util/logger.ts";
import { type Counter } from "../../util/metrics.ts";
import { randomHex, type Rng } from "../../util/rng.ts";

/**
 * Fences sent per second. A mass deletion that another policy refused leaves thousands of buckets, and each fence is a
 * write in the worker's etcd. 50 a second is a quarter of the client's default limit.
 */
const fencesPerSecond = 50;
/** Fences are forgotten after this many settle windows: the longest wait between two of one pod is one window. */
const fenceIdleWindows = 4;
/** Most fences that wait to be sent. Beyond it the next aggregation asks again. */
const defaultWaitingMax = 1000;

export interface FencerOptions {
  readonly client: KubeClient;
  readonly registry: FenceRegistry;
  /** The longest wait between two fences of one pod. */
  readonly settleWindowMs: number;
  /** Most fences that wait to be sent; 1,000 by default. */
  readonly waitingMax?: number | undefined;
  readonly clock: Clock;
  readonly rng: Rng;
  readonly logger: Logger;
  /** Labelled by result: sent, forbidden, replaced, stripped, failed (cell-writer.ts adds gave-up). */
  readonly fences: Counter;
  /** The patch of the pod was answered, failed or was refused. */
  readonly onAnswered: (podUID: string) => void;
}

export class Fencer {
  readonly #options: FencerOptions;
  readonly #waiting = new Map<string, PodRecord>();
  #isRunning = false;
  #prunedAtMs: MonotonicMs;

  constructor(options: FencerOptions) {
    this.#options = options;
    this.#prunedAtMs = options.clock.monotonicMs();
  }

  /** Forgets fences of long ago. To be called from time to time; looks once in a settle window. */
  prune(): void {
    const { clock, registry, settleWindowMs } = this.#options;
    const nowMs = clock.monotonicMs();
    if (nowMs - this.#prunedAtMs < settleWindowMs) return;
    this.#prunedAtMs = nowMs;
    registry.prune(nowMs, fenceIdleWindows * settleWindowMs);
  }

  /** Fences that wait to be sent, for gauges. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /**
   * Fences the pod soon, unless the signal aborts before; `onAnswered` follows. False, and nothing done, if too many
   * wait.
   */
  request(pod: PodRecord, signal: AbortSignal): boolean {
    if (this.#waiting.has(pod.uid)) return true;
    const { waitingMax = defaultWaitingMax } = this.#options;
    if (signal.aborted || this.#waiting.size >= waitingMax) return false;
    this.#waiting.set(pod.uid, pod);
    if (!this.#isRunning) void this.#run(signal);
    return true;
  }

  async #run(signal: AbortSignal): Promise<void> {
    this.#isRunning = true;
    const { clock, onAnswered } = this.#options;
    while (!signal.aborted) {
      const next = this.#waiting.entries().next();
      if (next.done === true) break;
      const [podUID, pod] = next.value;
      this.#waiting.delete(podUID);
      // Not awaited: the rate must not depend on the latency.
      void this.#send(pod, signal).then(() => onAnswered(podUID));
      await sleep(clock, 1000 / fencesPerSecond, signal);
    }
    if (signal.aborted) this.#waiting.clear();
    this.#isRunning = false;
  }

  async #send(pod: PodRecord, signal: AbortSignal): Promise<void> {
    const { client, registry, clock, rng, logger, fences } = this.#options;
    const sentAtMs = clock.monotonicMs();
    // Unique, because a patch that changes nothing makes no new version and so proves nothing
    // (test/sim/scenarios/23-no-op-fence.txt).
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
        registry.failed(pod.uid, sentAtMs, "unanswered");
        fences.inc({ result: "failed" });
      } else if (fenced.value === value) {
        registry.answered(pod.uid, sentAtMs, fenced.version);
        registry.wrote(sentAtMs, clock.monotonicMs());
        fences.inc({ result: "sent" });
      } else {
        registry.refused(pod.uid);
        fences.inc({ result: "stripped" });
        logger.verbose(2, "The fence annotation was stripped, using the settle window", { pod: pod.key });
      }
    } catch (error) {
      this.#failed(pod, sentAtMs, error, signal);
    }
  }

  #failed(pod: PodRecord, sentAtMs: MonotonicMs, error: unknown, signal: AbortSignal): void {
    const { registry, logger, fences } = this.#options;
    if (isKubeError(error, "forbidden")) {
      registry.refused(pod.uid);
      fences.inc({ result: "forbidden" });
      logger.verbose(2, "Fencing pods is forbidden, using the settle window", { pod: pod.key, err: error });
      return;
    }
    // "invalid": the pod was replaced, which the snapshot will show, or a policy refuses the patch, and would again.
    if (isKubeError(error, "invalid")) registry.refused(pod.uid);
    else if (signal.aborted) registry.aborted(pod.uid);
    else registry.failed(pod.uid, sentAtMs, isRefusal(error) ? "refused" : "unanswered");
    const replaced = isKubeError(error, "notFound", "invalid", "conflict");
    fences.inc({ result: replaced ? "replaced" : "failed" });
    if (!replaced && !signal.aborted) logger.warn("Cannot fence a pod", { pod: pod.key, err: error });
  }
}

/** As the API server says it of a webhook that denied a request, and of one that it could not call. */
const namesWebhook = /admission webhook "|failed calling webhook "/;

/**
 * Whether the answer is about the patch, and not about the health of the cluster. 429 says that a server sheds load
 * (unless a webhook said it), which a stall brings about.
 */
function isRefusal(error: unknown): boolean {
  if (!isKubeError(error) || error.code === undefined) return false;
  if (namesWebhook.test(error.status?.message ?? "")) return true;
  return error.code >= 400 && error.code < 500 && error.code !== 429;
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
