/**
 * Writes what the generator has to say of PodProtectors into the conditions of their status (docs/conditions.md): the
 * one loop and the one writer of all of them, with a list of who says what. They are for people, so they take their
 * time: the leader looks through its cache now and then, and writes what differs slowly, so that everybody else comes
 * first. A status that others write is written by compare-and-swap, and whoever was faster wins; the next round tries
 * again. What is wrong with one object does not keep the conditions from the others.
 */
import { type ObjectKey } from "../../api/object-key.ts";
import { type FoundConditions, withConditions, readyOf, withReady } from "../../api/v1alpha1/conditions.ts";
import { type Condition, type PodProtectorStatus } from "../../api/v1alpha1/pod-protector.ts";
import { summarize } from "../../accounting/count/summary.ts";
import { type Informer } from "../../kube/informer.ts";
import { errorLabel, isKubeError, type KubeClient } from "../../kube/kube-client.ts";
import { presentOrThrow, readProtectorLive, swapStatusAndCheck } from "../../kube/pod-protectors.ts";
import { type StoredProtector } from "../../kube/resources.ts";
import { type Clock, later, longAgo, type MonotonicMs, sleep } from "../../util/clock.ts";
import { linkedAbort } from "../../util/linked-abort.ts";
import { type Logger } from "../../util/logger.ts";
import { type Counter } from "../../util/metrics.ts";

/**
 * Between two looks: a person does not wait longer than that for an explanation. A look through 10,000 objects takes
 * some 30 ms. It is also the pace at which one object is written while a Go component drops the conditions again.
 */
const lookEveryMs = 15_000;
/** Between two writes: five a second, a fortieth of what a client may ask of the core by default. */
const pauseMs = 200;
/**
 * An object that is refused is left alone for so long. An API server that has just started refuses everything for a
 * moment, a policy or a missing right for days.
 */
const refusedMs = 600_000;
/** With a CRD that drops conditions nothing changes until somebody acts. Also the least time between two warnings. */
const giveUpMs = 3_600_000;

export interface Sayer {
  /** What its conditions should be. Others are kept. */
  found(stored: StoredProtector): FoundConditions;
  /** Writes what it says of objects that cannot be read. Never rejects for operating errors. */
  writeUnreadable?(signal: AbortSignal): Promise<void>;
}

export interface ConditionWriterOptions {
  readonly core: KubeClient;
  readonly protectors: Informer<StoredProtector>;
  /** Who says what of sources and of cells. No two of them say the same type. */
  readonly sayers: { readonly sources: readonly Sayer[]; readonly cells: readonly Sayer[] };
  /** Conditions that were not stored, by `error`; "dropped" = the API server does not know the field. */
  readonly conditionFailures: Counter;
  /** As that, of those about cells. */
  readonly cellConditionFailures: Counter;
  /**
   * Whether an object that is counted and has no condition Ready gets one: after an upgrade, once, because while Go
   * components drop it there would be no end.
   */
  readonly addsReady?: boolean;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** What they say of one object. */
type Said = Readonly<Record<"sources" | "cells", FoundConditions>>;

export class ConditionWriter {
  readonly #options: ConditionWriterOptions;
  /** Until when each refused object is left alone. At most as many as are written within that time. */
  readonly #refused = new Map<ObjectKey, MonotonicMs>();
  /** UIDs of those that got the condition Ready here. At most one for each PodProtector. */
  readonly #gotReady = new Map<ObjectKey, string>();
  #restsUntilMs: MonotonicMs = longAgo;
  #warnsAgainAtMs: MonotonicMs = longAgo;
  /** Ends the pause before the next look. */
  #wake: (() => void) | undefined;

  constructor(options: ConditionWriterOptions) {
    this.#options = options;
  }

  /** There is news to look at. */
  look(): void {
    this.#wake?.();
  }

  /** As Generator.lead. */
  async lead(signal: AbortSignal): Promise<void> {
    const { clock, protectors, sayers } = this.#options;
    while (!signal.aborted) {
      using pause = linkedAbort(signal);
      this.#wake = () => pause.abort();
      await sleep(clock, lookEveryMs, pause.signal);
      this.#wake = undefined;
      const differing = [...protectors.values()].filter((stored) => this.#differs(stored));
      await this.#writeAll(
        differing.map(({ key }) => key),
        signal,
      );
      for (const sayer of sayers.sources) await sayer.writeUnreadable?.(signal);
    }
  }

  #said(stored: StoredProtector): Said {
    const { sources, cells } = this.#options.sayers;
    const joined = (sayers: readonly Sayer[]): FoundConditions =>
      Object.assign({}, ...sayers.map((sayer) => sayer.found(stored)));
    return { sources: joined(sources), cells: joined(cells) };
  }

  /** Whether the conditions of the object are not as found. */
  #differs(stored: StoredProtector): boolean {
    return this.#merged(stored, this.#said(stored)) !== stored.protector.status?.conditions;
  }

  /** Writes what differs, one object after the other. Never rejects for operating errors. */
  async #writeAll(keys: readonly ObjectKey[], signal: AbortSignal): Promise<void> {
    const { protectors, clock } = this.#options;
    const nowMs = clock.monotonicMs();
    for (const [key, untilMs] of this.#refused) if (nowMs >= untilMs) this.#refused.delete(key);
    for (const key of this.#gotReady.keys()) if (protectors.get(key) === undefined) this.#gotReady.delete(key);
    for (const key of keys) {
      if (signal.aborted || clock.monotonicMs() < this.#restsUntilMs) return;
      const stored = protectors.get(key);
      if (stored === undefined || this.#refused.has(key) || !this.#differs(stored)) continue;
      try {
        await this.#write(stored, signal);
      } catch (err) {
        if (!isKubeError(err)) throw err;
        if (signal.aborted) return;
        this.#failed(stored, err);
      }
      await sleep(clock, pauseMs, signal);
    }
  }

  /** As found, and Ready as it follows. Ready alone is no cause to write, unless it is to be added. */
  #merged(stored: StoredProtector, said: Said): readonly Condition[] | undefined {
    const { conditions: existing, cells = [] } = stored.protector.status ?? {};
    const now = this.#options.clock.epochMicros();
    const merged = withConditions(withConditions(existing, said.sources, now), said.cells, now);
    if (merged === existing && !this.#lacksReady(stored)) return existing;
    return withReady(merged ?? [], cells, { generation: undefined, now });
  }

  /** Counts it for what is said and is not in the object. */
  #countFailure({ protector: { status } }: StoredProtector, said: Said, error: string): void {
    const { clock, conditionFailures, cellConditionFailures } = this.#options;
    const isUnsaid = (found: FoundConditions): boolean =>
      withConditions(status?.conditions, found, clock.epochMicros()) !== status?.conditions;
    if (isUnsaid(said.cells)) cellConditionFailures.inc({ error });
    // Otherwise only Ready was to be written.
    if (isUnsaid(said.sources) || !isUnsaid(said.cells)) conditionFailures.inc({ error });
  }

  #lacksReady({ key, uid, protector: { status } }: StoredProtector): boolean {
    if (this.#options.addsReady !== true || this.#gotReady.get(key) === uid) return false;
    // Before that, the first counts bring it.
    const isCounted = status?.cells.some(({ aggregation }) => aggregation !== undefined) === true;
    return isCounted && readyOf(status.conditions) === undefined;
  }

  /** Throws KubeError. A conflict is left to the next round. */
  async #write({ protector }: StoredProtector, signal: AbortSignal): Promise<void> {
    const { core, clock, logger } = this.#options;
    // Not from the cache: one that lags behind the writers of the status would only meet conflicts.
    const live = presentOrThrow(await readProtectorLive(core, protector.metadata, { signal }));
    if (live === undefined) return;
    // Once: what is found may change while it is being written.
    const said = this.#said(live);
    const conditions = this.#merged(live, said);
    if (conditions === undefined || conditions === live.protector.status?.conditions) return;
    const { spec, status } = live.protector;
    const cells = status?.cells ?? [];
    const after: PodProtectorStatus = { ...status, cells, summary: summarize(cells, spec), conditions };
    const swap = await swapStatusAndCheck(core, live, after, { signal });
    if (swap.kind === "failed") throw swap.error;
    if (swap.kind !== "written") return;
    const { key, uid, protector: stored } = swap.stored;
    this.#gotReady.set(key, uid);
    const kept = stored.status?.conditions;
    if (kept !== undefined && this.#merged(swap.stored, said) === kept) return;
    this.#countFailure(swap.stored, said, "dropped");
    this.#restsUntilMs = later(clock.monotonicMs(), giveUpMs);
    logger.warn("The core drops conditions of PodProtectors: apply the CRD of this release");
  }

  #failed(stored: StoredProtector, err: Error): void {
    const { key } = stored;
    const { clock, logger } = this.#options;
    const nowMs = clock.monotonicMs();
    this.#countFailure(stored, this.#said(stored), errorLabel(err));
    if (isKubeError(err, "forbidden", "invalid", "malformed")) this.#refused.set(key, later(nowMs, refusedMs));
    const fields = { podProtector: key, err };
    if (isKubeError(err, "forbidden") && nowMs >= this.#warnsAgainAtMs) {
      this.#warnsAgainAtMs = later(nowMs, giveUpMs);
      logger.warn("Not allowed to write conditions of a PodProtector, leaving it alone for ten minutes", fields);
    } else logger.verbose(2, "Cannot write the conditions of a PodProtector, trying again", fields);
  }
}
