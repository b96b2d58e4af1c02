/**
 * Writes Kubernetes Events (core/v1) about objects. Best effort: nothing waits for them, and what does not fit is
 * counted and dropped. Events of one object and reason (and series) are one Event with a count.
 */
import { hash } from "node:crypto";
import { type CoreV1Event, type Unchecked } from "../api/models.ts";
import { formatWholeSeconds } from "../api/micro-time.ts";
import { type Clock, type EpochMicros, type MonotonicMs } from "../util/clock.ts";
import { type Logger } from "../util/logger.ts";
import { type Counter, type Metrics } from "../util/metrics.ts";
import { randomHex, type Rng } from "../util/rng.ts";
import { isKubeError, resourcePath, type KubeClient } from "./kube-client.ts";
import { createTokenBucket, type TokenBucket } from "./token-bucket.ts";

/** The object that an Event is about. */
export interface ObjectReference {
  readonly apiVersion: string;
  readonly kind: string;
  /** Undefined = cluster-scoped; its Events are in "default". */
  readonly namespace?: string | undefined;
  readonly name: string;
  readonly uid?: string | undefined;
}

export interface EventRecorder {
  /**
   * Returns at once. `reason` is one CamelCase word; `message` is cut to 1,024 characters, the limit of the newer
   * Events API. `series`: what tells Events of one object and reason apart, such as who asked; each has its own count.
   */
  record(
    regarding: ObjectReference,
    type: "Normal" | "Warning",
    reason: string,
    message: string,
    series?: string,
  ): void;
  /** Drops what has not been sent and ends the requests. */
  close(): void;
}

export interface EventRecorderOptions {
  readonly client: KubeClient;
  /** For `source.component`: "podseidon-webhook". */
  readonly component: string;
  /**
   * Replicas that record the same of an object write one Event, whose count is 1: its name is made of the object and
   * the reason. Default: each has Events of its own.
   */
  readonly isShared?: boolean;
  /** Default: one a second, and 25 at once. */
  readonly rate?: EventRate;
  readonly clock: Clock;
  readonly rng: Rng;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

const eventResource = { group: "", version: "v1", resource: "events" } as const;
/** Writes a second on average, and at once after a quiet time. */
interface EventRate {
  readonly qps: number;
  readonly burst: number;
}

/** As many as client-go remembers; some hundred bytes each. */
export const seriesMax = 4096;
/**
 * Events are for people: a mass incident must not keep the API server busy. client-go allows bursts of 25 as well.
 */
const defaultRate: EventRate = { qps: 1, burst: 25 };
/** An Event that waited longer than this is of no use any more. At most 25 + 60 Events wait or are being sent. */
const rateWaitMsMax = 60_000;
/** After this long a repetition gets a new Event (client-go aggregates for 10 minutes). */
export const seriesMaxAgeMs = 600_000;
const messageLengthMax = 1_024;
const timeoutMs = 5_000;

interface Series {
  readonly regarding: ObjectReference;
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly name: string;
  readonly startedAtMs: MonotonicMs;
  readonly firstTime: EpochMicros;
  lastTime: EpochMicros;
  message: string;
  count: number;
  /** The Event exists on the server, as far as is known. */
  isCreated: boolean;
  isSending: boolean;
  /** Something was recorded since the last write began. */
  hasChanged: boolean;
}

export function createEventRecorder(options: EventRecorderOptions): EventRecorder {
  return new Recorder(options);
}

class Recorder implements EventRecorder {
  readonly #options: EventRecorderOptions;
  readonly #bucket: TokenBucket;
  readonly #dropped: Counter;
  /** By object and reason, the least recently used first. */
  readonly #series = new Map<string, Series>();
  readonly #closed = new AbortController();

  constructor(options: EventRecorderOptions) {
    this.#options = options;
    this.#bucket = createTokenBucket(options.rate ?? defaultRate, options.clock);
    this.#dropped = options.metrics.counter(
      "kube_events_dropped_total",
      "Kubernetes Events that were not written, by reason",
      ["reason"],
    );
  }

  record(...[regarding, type, reason, message, of = ""]: Parameters<EventRecorder["record"]>): void {
    if (this.#closed.signal.aborted) return;
    const series = this.#touch(regarding, type, reason, of);
    series.count++;
    series.lastTime = this.#options.clock.epochMicros();
    series.message = message.length > messageLengthMax ? `${message.slice(0, messageLengthMax - 1)}…` : message;
    series.hasChanged = true;
    if (!series.isSending) void this.#send(series);
  }

  close(): void {
    this.#closed.abort();
    this.#series.clear();
  }

  #touch(regarding: ObjectReference, type: "Normal" | "Warning", reason: string, of: string): Series {
    const { clock, rng, isShared } = this.#options;
    const key = [regarding.kind, regarding.namespace, regarding.name, regarding.uid, type, reason, of].join("\n");
    let series = this.#series.get(key);
    this.#series.delete(key);
    if (series === undefined || clock.monotonicMs() - series.startedAtMs > seriesMaxAgeMs) {
      const now = clock.epochMicros();
      const suffix = isShared === true ? hash("sha256", key, "hex").slice(0, 16) : randomHex(rng, 16);
      series = {
        regarding,
        type,
        reason,
        // Names of objects may have 253 characters, and so may the Event's.
        name: `${regarding.name.slice(0, 200)}.${suffix}`,
        startedAtMs: clock.monotonicMs(),
        firstTime: now,
        lastTime: now,
        message: "",
        count: 0,
        isCreated: false,
        isSending: false,
        hasChanged: false,
      };
    }
    this.#series.set(key, series);
    const oldest = this.#series.keys().next();
    if (this.#series.size > seriesMax && oldest.done !== true) this.#series.delete(oldest.value);
    return series;
  }

  /** Writes the series as it is when its turn comes, and again if it has changed since. */
  async #send(series: Series): Promise<void> {
    series.isSending = true;
    const { signal } = this.#closed;
    while (series.hasChanged && !signal.aborted) {
      if (!(await this.#bucket.take(rateWaitMsMax, signal))) {
        if (!signal.aborted) this.#dropped.inc({ reason: "rate" });
        break;
      }
      series.hasChanged = false;
      try {
        await this.#write(series, signal);
        series.isCreated = true;
      } catch (error) {
        if (!isKubeError(error)) throw error;
        if (error.kind === "alreadyExists") {
          // Another replica's, which says the same.
          series.isCreated = true;
          continue;
        }
        if (error.kind === "notFound") series.isCreated = false; // the server forgets Events after an hour
        this.#dropped.inc({ reason: error.kind });
        this.#options.logger.verbose(2, "Failed to write Event", { err: error });
      }
    }
    series.hasChanged = false;
    series.isSending = false;
  }

  async #write(series: Series, signal: AbortSignal): Promise<void> {
    const { client, component } = this.#options;
    const { regarding, name, count, message } = series;
    const namespace = regarding.namespace ?? "default";
    const lastTimestamp = formatWholeSeconds(series.lastTime);
    const changing = { ...(this.#options.isShared !== true && { count }), message, lastTimestamp };
    if (series.isCreated) {
      await client.request({
        method: "PATCH",
        path: resourcePath(eventResource, { namespace, name }),
        contentType: "application/merge-patch+json",
        body: changing,
        timeoutMs,
        signal,
      });
      return;
    }
    await client.request({
      method: "POST",
      path: resourcePath(eventResource, { namespace }),
      body: {
        apiVersion: "v1",
        kind: "Event",
        metadata: { namespace, name },
        involvedObject: { ...regarding },
        type: series.type,
        reason: series.reason,
        source: { component },
        firstTimestamp: formatWholeSeconds(series.firstTime),
        count,
        ...changing,
      } satisfies Unchecked<CoreV1Event>,
      timeoutMs,
      signal,
    });
  }
}
