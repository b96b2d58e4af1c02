/**
 * Keeps the pod watch of a quiet cluster moving by touching a dummy pod that is never scheduled
 * (docs/aggregator.md#update-trigger). Each touch is a pod event. So barriers are passed, and PodProtectors that wait
 * for the next event are aggregated, within the update frequency.
 *
 * A pod that was deleted is created again. Several processes may touch the same pod: a touch depends on nothing that
 * another one wrote.
 */
import type { Config } from "../config/config.ts";
import { createDummyPod, dummyPodPath, touchOf } from "../kube/dummy-pod.ts";
import { errorLabel, isKubeError, type KubeClient } from "../kube/kube-client.ts";
import { type Clock, later, longAgo, type MonotonicMs, type Timer } from "../util/clock.ts";
import { type Logger } from "../util/logger.ts";
import { type Counter, type Metrics } from "../util/metrics.ts";

/** The settings of the update-trigger, without who runs it. */
export type UpdateTriggerSettings = Pick<Config["updateTrigger"], "dummyPod" | "updateFrequencyMs">;

export interface UpdateTriggerDependencies {
  readonly worker: KubeClient;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** A touch that was sent at that moment was carried out. */
  readonly onTouched?: (sentAtMs: MonotonicMs) => void;
}

/** Least time between two requested touches: many barriers must not become as many writes. */
const touchSpacingMs = 200;
/**
 * Least time between two touches while the API server forbids them. The right may be granted at any time; until then a
 * refusal every second would only fill its audit log.
 */
const forbiddenSpacingMs = 60_000;
/** An API server that has just started answers 403 until it has read its roles, which takes seconds. */
const rolesReadMs = 30_000;
/** Least time between two warnings about failures in a row: touches may come every second, and all fail alike. */
const warningSpacingMs = 60_000;

export class UpdateTrigger {
  readonly #config: UpdateTriggerSettings;
  readonly #deps: UpdateTriggerDependencies;
  readonly #spins: Counter;
  #wake: (() => void) | undefined;
  /** A touch was requested while another was in flight, which may come too early for it. */
  #isWanted = false;
  #lastTouchedMs: MonotonicMs = longAgo;
  /** Since the last success. */
  #lastWarnedMs: MonotonicMs = longAgo;
  /** Touches are answered with 403, and not because the API server has just started. */
  #isForbidden = false;
  /** Since when they are, although there was the right before; undefined = they are not, or there never was. */
  #deniedSinceMs: MonotonicMs | undefined;
  #hasTouched = false;

  constructor(config: UpdateTriggerSettings, deps: UpdateTriggerDependencies) {
    this.#config = config;
    this.#deps = deps;
    this.#spins = deps.metrics.counter(
      "aggregator_update_trigger_spin",
      "Touches of the dummy pod, by event (create, update) and error",
      ["event", "error"],
    );
  }

  /**
   * Requests a touch as soon as the spacing allows, instead of at the next period. Does nothing while not running, or
   * while touches are forbidden.
   */
  touch(): void {
    if (this.#isForbidden) return;
    if (this.#wake === undefined) this.#isWanted = true;
    else this.#wake();
  }

  /**
   * Touches at once and then every `updateFrequencyMs`, until the signal aborts. Errors are counted, logged and
   * retried; without the right to touch, once a minute.
   */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.#lastTouchedMs = this.#deps.clock.monotonicMs();
      this.#isWanted = false;
      await this.#spin(signal);
      await this.#wait(signal);
    }
  }

  async #spin(signal: AbortSignal): Promise<void> {
    const sentAtMs = this.#deps.clock.monotonicMs();
    try {
      if (await this.#update(signal)) this.#deps.onTouched?.(sentAtMs);
      else await this.#create(signal);
      this.#lastWarnedMs = longAgo;
      this.#isForbidden = false;
      this.#deniedSinceMs = undefined;
      this.#hasTouched = true;
    } catch (error) {
      if (signal.aborted) return;
      if (isKubeError(error, "forbidden") && !this.#mayBeStarting(sentAtMs)) this.#forbidden(error);
      else this.#warn(error);
    }
  }

  /** Whether a 403 is that of an API server which has not read its roles yet. */
  #mayBeStarting(nowMs: MonotonicMs): boolean {
    if (!this.#hasTouched) return false;
    this.#deniedSinceMs ??= nowMs;
    return nowMs - this.#deniedSinceMs < rolesReadMs;
  }

  /** Said once: upstream's rights lack this one, and everything goes on as upstream does without the trigger. */
  #forbidden(err: unknown): void {
    if (this.#isForbidden) return;
    this.#isForbidden = true;
    this.#deps.logger.warn(
      "May not touch the update-trigger pod, going on without. In a quiet cell, settling admissions and counting " +
        "after an edit may take a minute, and deletions are refused meanwhile. Grant create and patch on this pod, " +
        "or set --update-trigger-enable=false",
      { pod: this.#key, err },
    );
  }

  #warn(err: unknown): void {
    const nowMs = this.#deps.clock.monotonicMs();
    if (nowMs - this.#lastWarnedMs < warningSpacingMs) return;
    this.#lastWarnedMs = nowMs;
    this.#deps.logger.warn("Cannot touch the update-trigger pod", { pod: this.#key, err });
  }

  get #key(): string {
    return `${this.#config.dummyPod.namespace}/${this.#config.dummyPod.name}`;
  }

  /** False when the pod does not exist. */
  async #update(signal: AbortSignal): Promise<boolean> {
    const touch = touchOf(this.#deps.clock.epochMicros());
    return this.#count("update", async () => {
      try {
        await this.#deps.worker.request({
          method: "PATCH",
          path: dummyPodPath(this.#config.dummyPod),
          contentType: "application/merge-patch+json",
          body: { metadata: { annotations: touch } },
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
    const { worker, clock } = this.#deps;
    await this.#count("create", async () => {
      try {
        await createDummyPod(worker, this.#config.dummyPod, clock.epochMicros(), signal);
      } catch (error) {
        // Somebody else was faster; the next period touches it.
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
      const { updateFrequencyMs } = this.#config;
      const periodMs = this.#isForbidden ? Math.max(updateFrequencyMs, forbiddenSpacingMs) : updateFrequencyMs;
      const dueMs = later(clock.monotonicMs(), periodMs);
      wakeIn(periodMs);
      this.#wake = () => {
        this.#wake = undefined;
        timer.cancel();
        wakeIn(Math.min(dueMs, later(this.#lastTouchedMs, touchSpacingMs)) - clock.monotonicMs());
      };
      if (this.#isWanted) this.#wake();
      signal.addEventListener("abort", done, { once: true });
    });
  }
}
