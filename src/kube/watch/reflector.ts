/** Runs the phases of state.ts against the server and feeds the cache: one loop, which pulls. */
import { type ObjectKey } from "../../api/object-key.ts";
import { compareResourceVersions, type ResourceVersion } from "../../api/resource-version.ts";
import { assert } from "../../util/assert.ts";
import { type Clock, longAgo, type MonotonicMs, sleep } from "../../util/clock.ts";
import { type LogFields, type Logger } from "../../util/logger.ts";
import { type Metrics } from "../../util/metrics.ts";
import { Outage } from "../../util/outage.ts";
import { type Rng, uniform } from "../../util/rng.ts";
import { type Decode, type Informer, type InformerHandler, type Stored } from "../informer.ts";
import { asKubeError, KubeError, resourcePath, type KubeClient } from "../kube-client.ts";
import { wayToFail } from "../kube-errors.ts";
import {
  type Backoff,
  type Burden,
  createBackoff,
  firstState,
  listBy,
  nextStep,
  type Ending,
  type State,
} from "./state.ts";
import { Cache } from "./cache.ts";
import { listAll, listBarrier, type ListScope } from "./list-pages.ts";
import { createInformerMetrics, type InformerMetrics } from "./informer-metrics.ts";
import { readFrames } from "./watch-stream.ts";

export interface InformerOptions<T extends Stored> extends ListScope {
  readonly client: KubeClient;
  readonly decode: Decode<T>;
  readonly clock: Clock;
  readonly rng: Rng;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** For logs, metrics and `lastError`, for example "pods". */
  readonly name: string;
}

/**
 * The server ends a watch after a random time in this range, so that watches spread over its replicas again after one
 * restarted.
 */
const watchSeconds = { low: 261, high: 319 };
/**
 * kube-apiserver sends a bookmark about once a minute: two missing ones and half a minute of grace mean a dead
 * connection.
 */
const idleTimeoutMs = 150_000;
/**
 * A watch that ends sooner and brought nothing new is no clean end but a server or proxy in trouble (client-go has
 * nearly the same rule).
 */
const shortWatchMs = 1_000;

/** kube-apiserver asks for seconds. A proxy that asks for an hour must not leave the cache without news for so long. */
const retryAfterMsMax = 60_000;

/**
 * A local copy of one resource; informer.ts says what it promises. The initial objects are streamed (WatchList) where
 * the server offers that; one that refuses it is listed in pages from then on.
 */
export function createInformer<T extends Stored>(options: InformerOptions<T>): Informer<T> {
  return new Reflector(options);
}

class Reflector<T extends Stored> implements Informer<T> {
  readonly #options: InformerOptions<T>;
  readonly #cache: Cache<T>;
  readonly #metrics: InformerMetrics;
  readonly #backoff: Backoff;
  readonly #path: string;
  /** What was asked for from outside. The loop goes from "relisting" back to "running" when the list begins. */
  #mode: "new" | "running" | "relisting" | "stopped" = "new";
  /** The list that was asked for needs no pause before it. */
  #isRelistPaced = false;
  /** Since the last complete list the watch has not failed, and nobody knew of a reset. */
  #isIntact = false;
  /** Ends the running phase and the wait before the next one, when the mode changes. */
  #interrupt = new AbortController();
  /** Aborts when it has run: another may measure the same resource by then. */
  readonly #ended = new AbortController();
  /** When news of the objects last came. */
  #newsAtMs: MonotonicMs = longAgo;
  #lastError: string | undefined;
  #isCatchingUp = false;
  readonly #outage: Outage;

  constructor(options: InformerOptions<T>) {
    const { client, clock, rng, name } = options;
    this.#options = options;
    this.#outage = new Outage(clock);
    const labels = { cluster: client.cluster, informer: name };
    const { metrics } = options;
    this.#metrics = createInformerMetrics(metrics, labels, () => this.stalenessMs(), this.#ended.signal);
    this.#cache = new Cache(options.decode, options.logger.with({ informer: name }), () => this.#metrics.decodeError());
    this.#backoff = createBackoff(clock, rng);
    this.#path = resourcePath(options.resource, { namespace: options.namespace });
  }

  get(key: ObjectKey): T | undefined {
    return this.#cache.store.get(key);
  }

  values(): IterableIterator<T> {
    return this.#cache.store.values();
  }

  get size(): number {
    return this.#cache.store.size;
  }

  hasSynced(): boolean {
    return this.#cache.isSynced;
  }

  version(): ResourceVersion | undefined {
    return this.#cache.version;
  }

  stalenessMs(): number {
    return this.#cache.isSynced ? this.#options.clock.monotonicMs() - this.#newsAtMs : Number.POSITIVE_INFINITY;
  }

  lastError(): string | undefined {
    return this.#lastError;
  }

  isCatchingUp(): boolean {
    return this.#isCatchingUp;
  }

  subscribe(handler: InformerHandler<T>): void {
    assert(this.#mode === "new", "handlers subscribe before the informer runs");
    this.#cache.handlers.push(handler);
  }

  relist(options?: { readonly isPaced: boolean }): void {
    const isPaced = options?.isPaced ?? false;
    this.#isIntact &&= isPaced;
    // Before the run, and while a list is about to begin, the next list is the one that is asked for.
    if (this.#mode !== "running") return;
    this.#isRelistPaced = isPaced;
    this.#interruptAs("relisting");
  }

  async run(signal: AbortSignal): Promise<void> {
    assert(this.#mode === "new", "an informer runs once");
    this.#mode = "running";
    const stop = (): void => {
      this.#cache.stop();
      this.#interruptAs("stopped");
    };
    if (signal.aborted) stop();
    else signal.addEventListener("abort", stop, { once: true });
    try {
      await this.#loop();
    } finally {
      signal.removeEventListener("abort", stop);
      this.#ended.abort();
    }
  }

  async #loop(): Promise<void> {
    let state = firstState;
    while (this.#mode !== "stopped") {
      state = this.#mode === "relisting" ? await this.#startRelist(state) : await this.#step(state);
    }
  }

  #interruptAs(mode: "relisting" | "stopped"): void {
    this.#mode = mode;
    this.#interrupt.abort();
  }

  #isInterrupted(): boolean {
    return this.#mode !== "running";
  }

  /** Runs one phase, waits if its ending asks for that, and returns the next one. */
  async #step(state: State): Promise<State> {
    this.#interrupt = new AbortController();
    const ending = await this.#runPhase(state);
    if (this.#isInterrupted()) return state;
    if (ending.type === "failed" || ending.resumeFrom === undefined) this.#isIntact = false;
    const step = nextStep(state, ending);
    this.#report(state, ending);
    if (ending.type === "failed" && ending.error.kind === "notFound") this.#cache.notServed();
    if (ending.type === "failed" && ending.error.kind === "forbidden") this.#cache.forbidden();
    if (step.backoff !== undefined) await this.#wait(step.backoff, step.retryAfterMs);
    if (step.relistReason !== undefined && !this.#isInterrupted()) this.#metrics.relist(step.relistReason);
    return step.next;
  }

  async #startRelist({ preferred }: State): Promise<State> {
    this.#metrics.relist("requested");
    // Asked for again and again, it must not become a loop without a pause. What is asked for during the pause gets the
    // same list.
    this.#interrupt = new AbortController();
    if (!this.#isRelistPaced) await this.#wait("heavy");
    if (this.#mode === "relisting") this.#mode = "running";
    return listBy(preferred);
  }

  async #wait(burden: Burden, retryAfterMs = 0): Promise<void> {
    // In addition, not instead: the server gives all its clients the same time.
    const delayMs = Math.min(retryAfterMs, retryAfterMsMax) + this.#backoff.nextDelayMs(burden);
    await sleep(this.#options.clock, delayMs, this.#interrupt.signal);
  }

  async #runPhase(state: State): Promise<Ending> {
    if (state.phase === "watch") {
      return (
        (state.mayBeRestored === true ? await this.#checkHistory(state.from) : undefined) ?? this.#watch(state.from)
      );
    }
    return state.method === "pages" ? this.#listPages() : this.#watch(undefined);
  }

  async #listPages(): Promise<Ending> {
    const { client } = this.#options;
    const objects = new Map<ObjectKey, T>();
    let hasBegun = false;
    const onPage = (): void => {
      hasBegun = true;
      this.#answered();
    };
    try {
      const version = await listAll(client, this.#options, (raw) => this.#cache.stage(objects, raw), {
        signal: this.#interrupt.signal,
        onPage,
      });
      if (this.#isInterrupted()) return { type: "ended", resumeFrom: undefined, isShort: false };
      this.#replace(objects, version);
      return { type: "ended", resumeFrom: version, isShort: false };
    } catch (error) {
      // Anything else is a mistake in a handler or here, and ends the process.
      return { type: "failed", resumeFrom: undefined, error: asKubeError(error), hasBegun };
    }
  }

  #replace(objects: Map<ObjectKey, T>, version: ResourceVersion): void {
    const wasIntact = this.#isIntact;
    // Before the handlers, which may ask for another list.
    this.#isIntact = true;
    this.#gotNews();
    this.#cache.replace(objects, version, wasIntact);
  }

  /** Undefined when the server's history holds `from`, which a consistent list tells. */
  async #checkHistory(from: ResourceVersion): Promise<Ending | undefined> {
    const { client, resource, namespace } = this.#options;
    const { signal } = this.#interrupt;
    try {
      const present = await listBarrier(client, resource, namespace, { signal, newConnection: true });
      this.#answered();
      if (compareResourceVersions(present, from) >= 0) return undefined;
      const why = `the server is only at version ${present}, so version ${from} is from another history`;
      return {
        type: "failed",
        resumeFrom: from,
        error: new KubeError("gone", `WATCH ${this.#path}: ${why}`),
        hasBegun: false,
      };
    } catch (error) {
      return { type: "failed", resumeFrom: from, error: asKubeError(error), hasBegun: false };
    }
  }

  /** Watches from a version, or streams the initial objects first and swaps the store when they are complete. */
  async #watch(from: ResourceVersion | undefined): Promise<Ending> {
    const { client, clock } = this.#options;
    const startedMs = clock.monotonicMs();
    let staged = from === undefined ? new Map<ObjectKey, T>() : undefined;
    const versionBefore = this.#cache.version;
    let hasBegun = false;
    const resumeFrom = (): ResourceVersion | undefined => (staged === undefined ? this.#cache.version : undefined);
    try {
      const chunks = await client.stream(
        {
          method: "GET",
          path: this.#path,
          query: this.#watchQuery(from),
          preferProtobuf: this.#options.preferProtobuf ?? false,
          signal: this.#interrupt.signal,
        },
        idleTimeoutMs,
      );
      this.#answered();
      if (staged === undefined) this.#lastError = undefined;
      for await (const frame of readFrames(chunks, `WATCH ${this.#path}`)) {
        if (this.#isInterrupted()) break;
        hasBegun = true;
        if (staged === undefined) {
          this.#gotNews();
          this.#cache.apply(frame);
        } else if (frame.type !== "bookmark") this.#cache.stageFrame(staged, frame);
        else if (frame.initialEventsEnd) {
          const objects = staged;
          staged = undefined;
          this.#replace(objects, frame.version);
        }
      }
      const isLate = clock.monotonicMs() - startedMs >= shortWatchMs;
      return {
        type: "ended",
        resumeFrom: resumeFrom(),
        isShort: !isLate && this.#cache.version === versionBefore,
      };
    } catch (error) {
      return { type: "failed", resumeFrom: resumeFrom(), error: asKubeError(error), hasBegun };
    }
  }

  #watchQuery(from: ResourceVersion | undefined): Readonly<Record<string, string | number | boolean | undefined>> {
    const { labelSelector, fieldSelector, rng } = this.#options;
    return {
      watch: true,
      allowWatchBookmarks: true,
      timeoutSeconds: Math.round(uniform(rng, watchSeconds.low, watchSeconds.high)),
      labelSelector,
      fieldSelector,
      // Without a version the initial events show the newest state (a consistent read), as a list does.
      ...(from === undefined
        ? { sendInitialEvents: true, resourceVersionMatch: "NotOlderThan" }
        : { resourceVersion: from }),
    };
  }

  /**
   * The server answered well, which is no news of the objects yet: a proxy on the way may swallow what follows. And
   * until a list is complete the store may be of a former history.
   */
  #answered(): void {
    const over = this.#outage.ended();
    if (over !== undefined) this.#options.logger.info("Listing and watching again", { ...this.#inLogs(), ...over });
  }

  /** The store is as new as what the server just sent. */
  #gotNews(): void {
    this.#lastError = undefined;
    this.#isCatchingUp = false;
    this.#newsAtMs = this.#options.clock.monotonicMs();
  }

  #inLogs(): LogFields {
    return { informer: this.#options.name, cluster: this.#options.client.cluster };
  }

  #report(state: State, ending: Ending): void {
    const { logger, name } = this.#options;
    const verb = ending.resumeFrom === undefined ? "list" : "watch";
    if (ending.type === "ended") {
      if (ending.resumeFrom === undefined) {
        this.#lastError = `cannot list ${name}: the server ended the stream before its end mark`;
      }
      const phase = { phase: state.phase, version: ending.resumeFrom };
      logger.verbose(3, "Informer phase ended", { ...this.#inLogs(), ...phase });
      return;
    }
    const { error } = ending;
    this.#isCatchingUp = true;
    this.#lastError = `cannot ${verb} ${name}: ${error.message}`;
    const fields = { ...this.#inLogs(), verb, kind: error.kind, err: error };
    // A cluster may be away for hours, and a right be missing for ever: each way to fail is told once.
    if (this.#outage.failed(wayToFail(error))) logger.warn("Failed to list or watch, retrying", fields);
    else logger.verbose(2, "Still failing to list or watch, retrying", fields);
  }
}
