/**
 * Keeps the pod watch of a quiet cluster moving by touching a dummy pod that is never scheduled (upstream section 5).
 * Each touch is a pod event, so that barriers are passed and PodProtectors that wait for the next event look again
 * within the update frequency.
 *
 * A lost pod is created again; a pod without the annotation gets it (a merge patch adds what a JSON patch could not
 * replace).
 */
import { formatMicroTime } from "../api/micro-time.ts";
import { annotations } from "../api/v1alpha1/names.ts";
import type { Config } from "../config/config.ts";
import { errorLabel, isKubeError, type KubeClient, resourcePath } from "../kube/kube-client.ts";
import { pods } from "../kube/resources.ts";
import { type Clock, type Timer } from "../util/clock.ts";
import { type Logger } from "../util/logger.ts";
import { type Counter, type Metrics } from "../util/metrics.ts";

/** The settings of the update-trigger, without who runs it. */
export type UpdateTriggerSettings = Pick<Config["updateTrigger"], "dummyPod" | "updateFrequencyMs">;

export interface UpdateTriggerDependencies {
  readonly worker: KubeClient;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/** Least time between two touches that were asked for: a storm of barriers must not become a storm of writes. */
const touchSpacingMs = 200;
/**
 * Least time between two lines about failures that follow each other: touches come every second, and a missing right
 * stays missing.
 */
const warningSpacingMs = 60_000;

export class UpdateTrigger {
  readonly #config: UpdateTriggerSettings;
  readonly #deps: UpdateTriggerDependencies;
  readonly #spins: Counter;
  #wake: (() => void) | undefined;
  /** A touch was asked for while another was under way, which may come too early for it. */
  #isWanted = false;
  #lastTouchMs = -Infinity;
  /** Of the failures since the last success. */
  #lastWarningMs = -Infinity;

  constructor(config: UpdateTriggerSettings, deps: UpdateTriggerDependencies) {
    this.#config = config;
    this.#deps = deps;
    this.#spins = deps.metrics.counter(
      "aggregator_update_trigger_spin",
      "Touches of the dummy pod, by event (create, update) and error",
      ["event", "error"],
    );
  }

  /** Asks for a touch as soon as the spacing allows, instead of at the next turn. Does nothing while not running. */
  touch(): void {
    if (this.#wake === undefined) this.#isWanted = true;
    else this.#wake();
  }

  /**
   * Touches now and then every `updateFrequencyMs`, until the signal aborts. Errors are counted, logged and tried
   * again.
   */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.#lastTouchMs = this.#deps.clock.monotonicMs();
      this.#isWanted = false;
      await this.#spin(signal);
      await this.#wait(signal);
    }
  }

  async #spin(signal: AbortSignal): Promise<void> {
    try {
      if (!(await this.#update(signal))) await this.#create(signal);
      this.#lastWarningMs = -Infinity;
    } catch (error) {
      if (!signal.aborted) this.#warn(error);
    }
  }

  #warn(err: unknown): void {
    const nowMs = this.#deps.clock.monotonicMs();
    if (nowMs - this.#lastWarningMs < warningSpacingMs) return;
    this.#lastWarningMs = nowMs;
    this.#deps.logger.warn("cannot touch the update-trigger pod", { pod: this.#key, err });
  }

  get #key(): string {
    return `${this.#config.dummyPod.namespace}/${this.#config.dummyPod.name}`;
  }

  #stamp(): Record<string, string> {
    return { [annotations.updateTriggerTime]: formatMicroTime(this.#deps.clock.epochMicros()) };
  }

  /** False when the pod does not exist. */
  async #update(signal: AbortSignal): Promise<boolean> {
    const { name, namespace } = this.#config.dummyPod;
    return this.#count("update", async () => {
      try {
        await this.#deps.worker.request({
          method: "PATCH",
          path: resourcePath(pods, { namespace, name }),
          contentType: "application/merge-patch+json",
          body: { metadata: { annotations: this.#stamp() } },
          signal,
        });
        return true;
      } catch (error) {
        if (isKubeError(error, "notFound")) return false;
        throw error;
      }
    });
  }

  async #create(signal: AbortSignal): Promise<void> {
    const { name, namespace, labels, annotations: given, scheduler, image } = this.#config.dummyPod;
    await this.#count("create", async () => {
      try {
        await this.#deps.worker.request({
          method: "POST",
          path: resourcePath(pods, { namespace }),
          body: {
            apiVersion: "v1",
            kind: "Pod",
            metadata: {
              name,
              namespace,
              labels,
              annotations: { ...this.#stamp(), ...given },
            },
            spec: { schedulerName: scheduler, containers: [{ name: "main", image }] },
          },
          signal,
        });
      } catch (error) {
        // Somebody else was faster; the next turn touches it.
        if (!isKubeError(error, "alreadyExists")) throw error;
      }
    });
  }

  async #count<T>(event: "create" | "update", work: () => Promise<T>): Promise<T> {
    try {
      const result = await work();
      this.#spins.inc({ event, error: "nil" });
      return result;
    } catch (error) {
      this.#spins.inc({ event, error: errorLabel(error) });
      throw error;
    }
  }

  #wait(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return Promise.resolve();
    const { clock } = this.#deps;
    return new Promise((resolve) => {
      let timer: Timer;
      const done = (): void => {
        timer.cancel();
        this.#wake = undefined;
        signal.removeEventListener("abort", done);
        resolve();
      };
      const wakeIn = (delayMs: number): void => {
        timer = clock.setTimer(Math.max(0, delayMs), done);
      };
      const dueMs = clock.monotonicMs() + this.#config.updateFrequencyMs;
      wakeIn(this.#config.updateFrequencyMs);
      this.#wake = () => {
        this.#wake = undefined;
        timer.cancel();
        wakeIn(Math.min(dueMs, this.#lastTouchMs + touchSpacingMs) - clock.monotonicMs());
      };
      if (this.#isWanted) this.#wake();
      signal.addEventListener("abort", done, { once: true });
    });
  }
}
