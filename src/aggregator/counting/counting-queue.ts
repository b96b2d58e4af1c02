/**
 * When the PodProtectors are counted, one after the other, while this process leads. What has happened to one puts it
 * into the queue, at its own pace (counting-pace.ts). One that needs news before it can be counted again waits for them
 * (waiting.ts), and what is due and not counted is known for heartbeats (backlog.ts).
 */
import { type ObjectKey, partsOf } from "../../api/object-key.ts";
import { errorLabel } from "../../kube/kube-client.ts";
import { type Clock, later, type MonotonicMs } from "../../util/clock.ts";
import { LineLimit } from "../../util/line-limit.ts";
import { type Logger } from "../../util/logger.ts";
import { type Rng } from "../../util/rng.ts";
import { createWorkQueue, type Outcome, type WorkQueue } from "../../work-queue/index.ts";
import { type AggregatorMetrics } from "../metrics.ts";
import { Backlog, type Counted } from "./backlog.ts";
import { CountingPace, type CountingPaceOptions, type News } from "./counting-pace.ts";
import { type AggregatorSettings } from "./dependencies.ts";
import { type ProtectorMemories } from "./protector-memories.ts";
import { Waiting } from "./waiting.ts";

export interface CountingQueueOptions extends Pick<CountingPaceOptions, "countsNone"> {
  readonly config: AggregatorSettings;
  readonly memories: ProtectorMemories;
  /** Counts one. Never rejects for operating errors. */
  readonly count: (key: ObjectKey, signal: AbortSignal) => Promise<readonly [Outcome, Counted]>;
  readonly clock: Clock;
  readonly rng: Rng;
  readonly logger: Logger;
  readonly metrics: AggregatorMetrics;
}

/**
 * When a core is away, all PodProtectors fail again and again for one reason. So each kind of failure has a line at
 * once, and then one in ten seconds, as often as a person looks at a log that runs. It counts the others.
 */
const failureLines = { everyMs: 10_000, /** More than there are kinds of failures. */ keysMax: 20 } as const;

export class CountingQueue {
  readonly #options: CountingQueueOptions;
  readonly pace: CountingPace;
  readonly waiting = new Waiting();
  /** For heartbeats. Kept while leading. */
  readonly backlog: Backlog;
  #eventsCameAtMs: MonotonicMs | undefined;
  /** While leading. */
  #queue: WorkQueue<ObjectKey> | undefined;

  constructor(options: CountingQueueOptions) {
    const { memories, metrics } = options;
    this.#options = options;
    this.pace = new CountingPace({ ...options, asked: metrics.promptCounts });
    this.backlog = new Backlog({
      keys: () => memories.keys(),
      uidOf: (key) => memories.get(key)?.uid,
      add: (key) => void this.#queue?.add(key),
    });
  }

  /** PodProtectors in the queue, including delayed ones. */
  get size(): number {
    return this.#queue?.size ?? 0;
  }

  /** Something has happened to it. Does nothing while another process leads. */
  add(key: ObjectKey, news: News = "other"): void {
    const { clock, memories } = this.#options;
    const memory = memories.get(key);
    if (this.#queue === undefined || memory === undefined) return;
    // Its owner wants it counted no sooner.
    this.backlog.due(key, later(clock.monotonicMs(), this.pace.rateMs(memory)));
    this.#queue.addAfter(key, this.pace.delayMs(memory, news));
  }

  addAll(keys: Iterable<ObjectKey>, news: News = "other"): void {
    for (const key of keys) this.add(key, news);
  }

  /** Something has happened to all of them. */
  addEach(): void {
    this.addAll(this.#options.memories.keys());
  }

  /** The watch of pods has moved. */
  eventCame(): void {
    const keys = this.waiting.eventCame();
    if (keys.length === 0) return;
    const { clock, metrics } = this.#options;
    const nowMs = clock.monotonicMs();
    metrics.poolDrainCount.observe({}, keys.length);
    if (this.#eventsCameAtMs !== undefined) metrics.poolDrainPeriod.observe({}, (nowMs - this.#eventsCameAtMs) / 1000);
    this.#eventsCameAtMs = nowMs;
    this.addAll(keys, "progress");
  }

  /** The PodProtector is gone. */
  forget(key: ObjectKey): void {
    this.waiting.forget(key);
    this.pace.budget.forget(key);
    this.backlog.forget(key);
  }

  /** Counts until the signal aborts and the work in flight has ended. Begins with every PodProtector. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, config, logger, memories, metrics, rng } = this.#options;
    const failures = new LineLimit({ ...failureLines, clock });
    this.#queue = createWorkQueue<ObjectKey>({
      clock,
      rng,
      ...config.queue,
      // Whoever may create PodProtectors in a namespace may create thousands, which a pod of theirs then changes.
      groupOf: (key) => partsOf(key).namespace,
      process: (key, queueSignal) => this.#process(key, queueSignal),
      observer: {
        onReconcile: (durationMs, outcome, key) => {
          metrics.reconciled(key, outcome, durationMs);
          if (outcome.kind !== "failed" || signal.aborted) return;
          const { error: err } = outcome;
          failures.tell(errorLabel(err), (others) => {
            const fields = { podProtector: key, err, ...(others > 0 && { others }) };
            logger.warn("Cannot aggregate a PodProtector, retrying", fields);
          });
        },
      },
    });
    for (const key of memories.keys()) this.#queue.add(key);
    await this.#queue.run(signal);
    this.#queue = undefined;
    failures.close();
    this.pace.budget.clear();
    this.backlog.clear();
    // The next term begins with every PodProtector.
    this.waiting.clear();
  }

  async #process(key: ObjectKey, signal: AbortSignal): Promise<Outcome> {
    const { clock, count, memories } = this.#options;
    let counted: Counted = "open";
    this.backlog.began(key, clock.monotonicMs());
    this.pace.budget.began(key);
    try {
      const [outcome, how] = await count(key, signal);
      counted = how;
      memories.get(key)?.aggregated(outcome.kind === "failed");
      return outcome;
    } finally {
      this.pace.budget.ended(key);
      this.backlog.ended(key, counted);
    }
  }
}
