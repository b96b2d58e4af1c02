/** Runs the phases of state.ts against the server and feeds the cache: one loop, which pulls. */
import { type ObjectKey } from "../../api/object-key.ts";
import { compareResourceVersions, type ResourceVersion } from "../../api/resource-version.ts";
import { assert } from "../../util/assert.ts";
import { type Clock, type MonotonicMs, sleep } from "../../util/clock.ts";
import { type Logger } from "../../util/logger.ts";
import { type Metrics } from "../../util/metrics.ts";
import { type Rng, uniform } from "../../util/rng.ts";
import { type Decode, type Informer, type InformerHandler, type Stored } from "../informer.ts";
import { asKubeError, KubeError, type KubeClient, type Query, resourcePath } from "../kube-client.ts";
import { Cache } from "./cache.ts";
import { Contact } from "./contact.ts";
import { listAll, listBarrier, type ListScope } from "./list-pages.ts";
import { createInformerMetrics, type InformerMetrics } from "./informer-metrics.ts";
import {
  type Backoff,
  type Burden,
  createBackoff,
  firstState,
  listDue,
  nextStep,
  type Ending,
  type State,
} from "./state.ts";
import { idleTimeoutMs, pauseMs, StreamLimit } from "./stream-limit.ts";
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
 * While the news are that old, a watch that is answered and brings none is followed by a list: bookmarks are dropped on
 * the way, or streams are cut before one is due. More than the wait for a dead connection, which needs no list, and
 * less, with all that comes before the list, than a webhook waits until it steps aside.
 */
const staleMs = 180_000;
/**
 * A watch that ends sooner and brought nothing new is no clean end but a server or proxy in trouble (client-go has
 * nearly the same rule).
 */
const shortWatchMs = 1_000;

/** kube-apiserver asks for seconds. A proxy that asks for an hour must not leave the cache without news for so long. */
const retryAfterMsMax = 60_000;

/**
 * A local copy of one resource; informer.ts says what it promises. The initial objects are streamed (WatchList) where
 * the server offers that and the end mark arrives; else they are listed in pages, and it is tried again in an hour.
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
  /** A list is on its way. */
  #isListing = false;
  /** The list that was asked for needs no pause before it. */
  #isRelistPaced = false;
  /** Since the last complete list the watch has not failed, and nobody knew of a reset. */
  #isIntact = false;
  /** Ends the running phase, also when its time is over, and the wait before the next one when the mode changes. */
  #interrupt = new AbortController();
  /** Aborts when it has run: another may measure the same resource by then. */
  readonly #ended = new AbortController();
  readonly #contact: Contact;

  constructor(options: InformerOptions<T>) {
    const { client, clock, rng, name } = options;
    this.#options = options;
    const labels = { cluster: client.cluster, informer: name };
    const { metrics } = options;
    this.#contact = new Contact(clock, options.logger, labels);
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
    return this.#cache.isSynced ? this.#contact.stalenessMs() : Number.POSITIVE_INFINITY;
  }

  lastError(): string | undefined {
    return this.#contact.lastError;
  }

  isCatchingUp(): boolean {
    return this.#contact.isCatchingUp;
  }

  subscribe(handler: InformerHandler<T>): void {
    assert(this.#mode === "new", "handlers subscribe before the informer runs");
    this.#cache.handlers.push(handler);
  }

  relist(options?: { readonly isPaced: boolean }): void {
    const isPaced = options?.isPaced ?? false;
    this.#isIntact &&= isPaced;
    // Before the run, and while a list is about to begin, the next list is the one that is asked for. One that takes
    // longer than its caller's patience is not begun anew either, or it would never end.
    if (this.#mode !== "running" || (isPaced && this.#isListing)) return;
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
    this.#isListing = state.phase === "list";
    const ending = await this.#runPhase(state);
    this.#isListing = false;
    if (this.#isInterrupted()) return state;
    // Its limit may have used it up.
    this.#interrupt = new AbortController();
    if (ending.type === "failed" || ending.resumeFrom === undefined) this.#isIntact = false;
    const step = nextStep(state, ending, this.#options.clock.monotonicMs());
    this.#contact.report(state, ending, step);
    if (ending.type === "failed" && ending.error.kind === "notFound") this.#cache.notServed();
    if (ending.type === "failed" && ending.error.kind === "forbidden") this.#cache.forbidden();
    if (step.backoff !== undefined) await this.#wait(step.backoff, step.retryAfterMs);
    if (step.relistReason !== undefined && !this.#isInterrupted()) this.#metrics.relist(step.relistReason);
    return step.next;
  }

  async #startRelist(state: State): Promise<State> {
    this.#metrics.relist("requested");
    // Asked for again and again, it must not become a loop without a pause. What is asked for during the pause gets the
    // same list.
    this.#interrupt = new AbortController();
    if (!this.#isRelistPaced) await this.#wait("heavy");
    if (this.#mode === "relisting") this.#mode = "running";
    return listDue(state, this.#options.clock.monotonicMs());
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
      this.#contact.answered();
    };
    const limit = this.#limit();
    limit.pages();
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
      const thrown = asKubeError(error);
      const minutes = Math.round(limit.elapsedMs() / 60_000);
      const endless = `GET ${this.#path}: the list has had no end for ${minutes} minutes`;
      const failure = limit.exceeded === undefined ? thrown : new KubeError("timeout", endless);
      return { type: "failed", resumeFrom: undefined, error: failure, hasBegun };
    } finally {
      limit.clear();
    }
  }

  #replace(objects: Map<ObjectKey, T>, version: ResourceVersion): void {
    const wasIntact = this.#isIntact;
    // Before the handlers, which may ask for another list.
    this.#isIntact = true;
    this.#isListing = false;
    this.#contact.gotNews();
    this.#cache.replace(objects, version, wasIntact);
  }

  /** Undefined when the server's history holds `from`, which a consistent list tells. */
  async #checkHistory(from: ResourceVersion): Promise<Ending | undefined> {
    const { client, resource, namespace } = this.#options;
    const { signal } = this.#interrupt;
    try {
      const present = await listBarrier(client, resource, namespace, { signal, newConnection: true });
      this.#contact.answered();
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
    const { client, clock, rng, preferProtobuf = false } = this.#options;
    const limit = this.#limit();
    const run: Run<T> = { limit, versionBefore: this.#cache.version, hasBegun: false };
    if (from === undefined) run.staged = new Map();
    const timeoutSeconds = Math.round(uniform(rng, watchSeconds.low, watchSeconds.high));
    const query = this.#watchQuery(from, timeoutSeconds);
    const { signal } = this.#interrupt;
    try {
      const request = { method: "GET", path: this.#path, query, preferProtobuf, signal } as const;
      const chunks = await client.stream(request, idleTimeoutMs);
      run.openedMs = clock.monotonicMs();
      this.#contact.answered();
      if (run.staged !== undefined) limit.endMark();
      else {
        limit.watch(timeoutSeconds, this.#contact.isCatchingUp);
        this.#contact.lastError = undefined;
      }
      for await (const frame of readFrames(chunks, `WATCH ${this.#path}`)) {
        if (this.#isInterrupted()) break;
        run.hasBegun = true;
        limit.heard();
        if (frame.type === "bookmark") this.#contact.gotBookmark();
        if (run.staged === undefined) {
          this.#contact.gotNews();
          this.#cache.apply(frame);
        } else if (frame.type !== "bookmark") {
          if (frame.type !== "added") limit.changed();
          this.#cache.stageFrame(run.staged, frame);
        } else if (frame.initialEventsEnd) {
          const objects = run.staged;
          delete run.staged;
          this.#replace(objects, frame.version);
          limit.watch(timeoutSeconds, false);
        }
      }
      return this.#endOf(run);
    } catch (error) {
      return this.#endOf(run, asKubeError(error));
    } finally {
      limit.clear();
    }
  }

  /** `error`: undefined = the stream ended in good order. */
  #endOf({ limit, staged, openedMs, hasBegun, versionBefore }: Run<T>, error?: KubeError): Ending {
    const { exceeded, missed } = limit;
    if (staged !== undefined && missed !== undefined) return { type: "missed", resumeFrom: undefined, why: missed };
    const resumeFrom = staged === undefined ? this.#cache.version : undefined;
    const openMs = openedMs === undefined ? undefined : this.#options.clock.monotonicMs() - openedMs;
    const isStale = openMs !== undefined && openMs >= pauseMs && this.stalenessMs() >= staleMs;
    // A watch that the server forgot to end has brought all that happened, as one that it ended.
    if (error === undefined || exceeded === "total") {
      const isShort = limit.elapsedMs() < shortWatchMs && this.#cache.version === versionBefore;
      return { type: "ended", resumeFrom, isShort, isStale };
    }
    const isSilent = openMs !== undefined && (exceeded === "silence" || error.kind === "timeout");
    const silence = `WATCH ${this.#path}: no event and no bookmark for ${Math.round(this.stalenessMs() / 1000)} s`;
    const failure = exceeded === "silence" ? new KubeError("timeout", silence) : error;
    return { type: "failed", resumeFrom, error: failure, hasBegun, isStale, isSilent };
  }

  /** Of the phase that starts now. */
  #limit(): StreamLimit {
    const interrupt = this.#interrupt;
    return new StreamLimit(this.#options.clock, () => interrupt.abort());
  }

  #watchQuery(from: ResourceVersion | undefined, timeoutSeconds: number): Query {
    const { labelSelector, fieldSelector } = this.#options;
    return {
      watch: true,
      allowWatchBookmarks: true,
      timeoutSeconds,
      labelSelector,
      fieldSelector,
      // Without a version the initial events show the newest state (a consistent read), as a list does.
      ...(from === undefined
        ? { sendInitialEvents: true, resourceVersionMatch: "NotOlderThan" }
        : { resourceVersion: from }),
    };
  }
}

/** A watch while it runs. */
interface Run<T> {
  readonly limit: StreamLimit;
  readonly versionBefore: ResourceVersion | undefined;
  /** When the header came. */
  openedMs?: MonotonicMs;
  hasBegun: boolean;
  /** The initial objects, until the end mark. */
  staged?: Map<ObjectKey, T>;
}
