/**
 * The PodProtectors of one core that are gone without having been let go (docs/webhook.md#tombstones). They stay in
 * force from memory until departure.ts says that they are really gone, or they are made again. What is needed to know
 * that is read live, once for all that are missing, and again every few seconds while any is. The list of releases is
 * read every few minutes even when none is, so that it is known whether some were missed.
 */
import { type ObjectKey } from "../../api/object-key.ts";
import { type GeneratorState, isLetGo, readGeneratorState } from "../../kube/generator-state.ts";
import { asKubeError, type KubeError } from "../../kube/kube-client.ts";
import { MissedReleases, readListEveryMs } from "../../kube/missed-releases.ts";
import { type ReadDefinition } from "../../kube/pod-protectors.ts";
import { givenMs, later, type MonotonicMs, type Timer } from "../../util/clock.ts";
import { type Core } from "./core.ts";
import { type Fate, fateOf, type GoneReason, type Marks, type Tombstone, unknownGraceMs } from "./departure.ts";
import { type Protector } from "./protector.ts";

/** What cannot be read; the label of a metric. */
export type TombstoneSource = "configmaps" | "customresourcedefinitions";

export interface TombstonesOptions {
  readonly core: Core;
  /** Of the generator's ConfigMap. */
  readonly stateNamespace: string;
  /** 0 = for ever. */
  readonly ttlMs: number;
  /** Called before `onGone`: it no longer applies. `forget` is called by that. */
  readonly drop: (key: ObjectKey) => void;
  /** A PodProtector was found to be a tombstone. */
  readonly onRaised: (protector: Protector, tombstone: Tombstone) => void;
  /** It is no longer one; `wasRaised`: the former was called. */
  readonly onGone: (protector: Protector, tombstone: Tombstone, why: GoneReason, wasRaised: boolean) => void;
  readonly onUnread: (source: TombstoneSource, error: KubeError) => void;
}

interface Entry {
  readonly protector: Protector;
  readonly tombstone: Tombstone;
  readonly last: Marks;
  readonly isDeletionSeen: boolean;
  readonly definitionUID: string | undefined;
  definition: ReadDefinition | undefined;
  isLetGo: boolean;
  isRaised: boolean;
}

/** A person who lets one go waits for it; four GETs a minute of one small object cost a core nothing. */
const lookIntervalMs = 15_000;
/** After a list: a replica that starts has more urgent reads. */
const firstLookMs = 5_000;
/** The first wait after a failure; it doubles up to the interval. */
const retryMs = 1_000;
const timeoutMs = 5_000;

export class Tombstones {
  readonly #options: TombstonesOptions;
  /** The last one of each name: no more than PodProtectors were there. */
  readonly #entries = new Map<ObjectKey, Entry>();
  readonly #closed = new AbortController();
  readonly #missed: MissedReleases;
  /** When the list of releases was asked for last, or this was made. */
  #listReadAtMs: MonotonicMs;
  #timer: Timer | undefined;
  #isLooking = false;
  /** Something is to be read that the look under way does not know of. */
  #isWanted = false;
  /** Looks in a row that could not read something. */
  #failures = 0;
  #hasFailed = false;

  constructor(options: TombstonesOptions) {
    this.#options = options;
    this.#missed = new MissedReleases(options.core.informer);
    this.#listReadAtMs = options.core.clock.monotonicMs();
  }

  get size(): number {
    return this.#entries.size;
  }

  /**
   * The object of the protector is gone; `last` is its last state, `isDeletionSeen` as in departure.ts. Returns whether
   * it stays in force; if not, it is to be dropped.
   */
  add(protector: Protector, uid: string, last: Marks, isDeletionSeen: boolean): boolean {
    const { stateNamespace, core } = this.#options;
    const tombstone: Tombstone = {
      uid,
      maker: last.maker,
      sinceMs: core.clock.monotonicMs(),
      since: core.clock.epochMicros(),
      stateNamespace,
    };
    const entry: Entry = {
      protector,
      tombstone,
      last,
      isDeletionSeen,
      definitionUID: core.definition.uid,
      definition: undefined,
      isLetGo: false,
      isRaised: false,
    };
    // What is certain needs no reading.
    if (this.#fateOf(entry).kind === "gone") return false;
    this.#entries.set(protector.key, entry);
    protector.vanished(tombstone);
    this.#look();
    return true;
  }

  /** The name is let go for certain. */
  forget(key: ObjectKey): void {
    this.#entries.delete(key);
  }

  /** The PodProtectors were listed: which CRD that was is needed when they vanish. */
  listed(): void {
    if (!this.#isLooking && this.#timer === undefined) this.#lookAfter(firstLookMs);
  }

  #look(): void {
    if (this.#isLooking) this.#isWanted = true;
    else this.#lookAfter(0);
  }

  close(): void {
    this.#closed.abort();
    this.#timer?.cancel();
  }

  #lookAfter(delayMs: number): void {
    if (this.#closed.signal.aborted) return;
    this.#timer?.cancel();
    this.#timer = this.#options.core.clock.setTimer(delayMs, () => void this.#read());
  }

  async #read(): Promise<void> {
    this.#isLooking = true;
    this.#timer = undefined;
    this.#isWanted = false;
    this.#hasFailed = false;
    const { definition } = this.#options.core;
    const asked = [...this.#entries.values()];
    const awaiting = asked.filter((entry) => awaitsDefinition(this.#fateOf(entry)));
    const [state, read] = await Promise.all([
      asked.length > 0 || this.#isListOld() ? this.#readState() : undefined,
      definition.isDue || awaiting.length > 0 ? this.#readDefinition() : undefined,
    ]);
    this.#isLooking = false;
    if (this.#closed.signal.aborted) return;
    if (read !== undefined) for (const entry of awaiting) entry.definition = read;
    for (const entry of asked) {
      entry.isLetGo ||= state !== undefined && isLetGo(state, entry.tombstone.uid);
      entry.tombstone.mayHaveBeenReleased ||= this.#missed.mayHaveMissed(entry.tombstone.sinceMs);
      this.#decide(entry);
    }
    this.#failures = this.#hasFailed ? this.#failures + 1 : 0;
    if (this.#isWanted) return this.#lookAfter(0);
    if (this.#failures > 0) return this.#lookAfter(Math.min(lookIntervalMs, retryMs * 2 ** (this.#failures - 1)));
    const isBusy = this.#entries.size > 0 || this.#options.core.definition.isDue;
    this.#lookAfter(isBusy ? lookIntervalMs : givenMs(this.#options.core.clock, readListEveryMs));
  }

  #isListOld(): boolean {
    const { clock } = this.#options.core;
    return later(this.#listReadAtMs, givenMs(clock, readListEveryMs)) <= clock.monotonicMs();
  }

  async #readState(): Promise<GeneratorState | undefined> {
    const { core, stateNamespace } = this.#options;
    const { signal } = this.#closed;
    const sentAtMs = core.clock.monotonicMs();
    this.#listReadAtMs = sentAtMs;
    const wasCurrent = this.#missed.isCurrent();
    try {
      const state = await readGeneratorState(core.client, stateNamespace, { timeoutMs, signal });
      this.#missed.read(state.numbers, sentAtMs, wasCurrent);
      return state;
    } catch (thrown) {
      this.#unread("configmaps", asKubeError(thrown));
      return undefined;
    }
  }

  async #readDefinition(): Promise<ReadDefinition> {
    const read = await this.#options.core.definition.read(this.#closed.signal);
    if (read.kind === "failed" || read.kind === "forbidden") this.#unread("customresourcedefinitions", read.error);
    return read;
  }

  #unread(source: TombstoneSource, error: KubeError): void {
    if (this.#closed.signal.aborted) return;
    // A right that an account was not given may be missing for ever: no need to hurry.
    if (error.kind !== "forbidden") this.#hasFailed = true;
    this.#options.onUnread(source, error);
  }

  #fateOf({ last, tombstone, isDeletionSeen, isLetGo: letGo, definition, definitionUID }: Entry): Fate {
    const { core, ttlMs } = this.#options;
    const goneForMs = core.clock.monotonicMs() - tombstone.sinceMs;
    const { mayHaveBeenReleased = false } = tombstone;
    const evidence = { isDeletionSeen, goneForMs, isLetGo: letGo, mayHaveBeenReleased, definition, definitionUID };
    return fateOf(last, evidence, { ttlMs, graceMs: givenMs(core.clock, unknownGraceMs) });
  }

  #decide(entry: Entry): void {
    const { protector, tombstone } = entry;
    const { drop, onRaised, onGone } = this.#options;
    // It has come back meanwhile, or is gone once more.
    if (this.#entries.get(protector.key) !== entry) return;
    const fate = this.#fateOf(entry);
    if (fate.kind === "gone") {
      drop(protector.key);
      return onGone(protector, tombstone, fate.why, entry.isRaised);
    }
    if (entry.isRaised) return;
    entry.isRaised = true;
    onRaised(protector, tombstone);
  }
}

function awaitsDefinition(fate: Fate): boolean {
  return fate.kind === "tombstone" && fate.awaitsDefinition;
}
