/**
 * The list of the PodProtectors that were released lately (docs/generator.md#when-a-podprotector-is-gone), in the
 * ConfigMap of src/kube/generator-state.ts. A relist can hide the mark of a release; who then finds a PodProtector
 * absent learns from the list that this was wanted. So:
 * - A release is in the list before the object is marked. It leaves the list before its object is kept after all.
 * - Nobody waits in a worker: whoever may not go on yet is woken when the list is written, all of them together.
 * - What lasts does not block releases for ever: without the right, or without the namespace, they go on unlisted.
 * - No clock decides what is remembered: the newest are, and running numbers tell whoever was away that more came.
 */
import { fieldsOf } from "../../api/json.ts";
import { type ObjectKey, partsOf } from "../../api/object-key.ts";
import { digestOfUID } from "../../accounting/history/uid-digest.ts";
import {
  configMaps,
  encodeReleases,
  generatorStateName,
  type GeneratorState,
  isLetGo,
  readGeneratorState,
  type Release,
  type ReleaseNumbers,
} from "../../kube/generator-state.ts";
import { asKubeError, isKubeError, type KubeClient, KubeError, resourcePath } from "../../kube/kube-client.ts";
import { MissedReleases, readListEveryMs, type WatchedState } from "../../kube/missed-releases.ts";
import { type Clock, type EpochMicros, givenMs, later, type MonotonicMs, sleep } from "../../util/clock.ts";
import { linkedAbort } from "../../util/linked-abort.ts";
import { type Logger } from "../../util/logger.ts";
import { type Counter } from "../../util/metrics.ts";

/** Of the list, the newest. With the longest namespaces it has 700 kB; a ConfigMap may have 1 MiB. */
const releasesMaxDefault = 5_000;
/** Of one namespace, or a team that makes and deletes thousands of small workloads pushes out everybody's. */
const shareOfNamespace = 0.5;
/** In one write, of the list. So what is written stays for some more writes, and its object can be marked meanwhile. */
const shareAdded = 0.2;
/** A release that begins when so many have come after its entry gets a new one, or it could outlive it. */
const shareFresh = 0.2;
/** Entries with a cause, the newest: mass changes count fewer, and people read fewer. */
const causesMax = 500;
const causeLengthMax = 80;
/** Between two writes: what a mass deletion releases is written together. */
const everyMs = 1_000;
/** While the core does not take the list. */
const backoffMaxMs = 30_000;
/** A core that refuses nothing but this list for so long has something against it that will last. */
const heldMsMax = 600_000;
/** What another leader has left in the list is noticed by then. */
const refreshMs = 60_000;
const timeoutMs = 5_000;
/** A list that was read so long ago also tells what a person has let go meanwhile. */
const reusedMs = 5_000;
/** Whoever is woken goes on within that time, or asks once more. */
const clearedMs = 30_000;

/** Somebody has to do something about these: a right, the namespace, the size. */
const lastingErrors = ["forbidden", "notFound", "invalid"] as const;

/** What waits for a write of the list. */
interface Waiting {
  /** The PodProtector that is looked at again afterwards. */
  readonly key: ObjectKey;
  readonly cause: string;
  readonly sinceMs: MonotonicMs;
}

export interface ReleaseListOptions {
  readonly core: KubeClient;
  /** Of the ConfigMap. */
  readonly namespace: string;
  /** Of the list; undefined = as in production. */
  readonly releasesMax?: number | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Of the core; whether it is current. */
  readonly protectors: WatchedState;
  /** Reads and writes of the list that failed, by `error`. */
  readonly failures: Counter;
  /** These may go on. */
  readonly onWritten: (protectors: readonly ObjectKey[]) => void;
  /** The list has changed otherwise: objects may be in it that are to be kept. */
  readonly onRead: () => void;
}

export class ReleaseList {
  readonly #options: ReleaseListOptions;
  /** The list as it was read or written last, by digest. */
  #entries: ReadonlyMap<string, Release> = new Map();
  readonly #additions = new Map<string, Waiting>();
  readonly #removals = new Map<string, Waiting>();
  /** Digests whose entries are being written or removed just now. */
  #inFlight: ReadonlySet<string> = new Set();
  /** Certainly not in the list a moment ago, the oldest first. */
  readonly #cleared = new Map<string, MonotonicMs>();
  /** Released by this process without an entry, the oldest first. */
  readonly #unlisted = new Set<string>();
  #lastRead: { readonly state: GeneratorState; readonly atMs: MonotonicMs } | undefined;
  /** Of the ConfigMap, as this process has read or written it last. */
  #version: string | undefined;
  #newest = 0;
  readonly #missed: MissedReleases;
  #failuresInARow = 0;
  /** What the log has said since the last success. */
  #told: "goes on" | "holds back" | undefined;
  /** Ends the pause of an idle leader. */
  #wake: (() => void) | undefined;

  constructor(options: ReleaseListOptions) {
    this.#options = options;
    this.#missed = new MissedReleases(options.protectors);
  }

  /** Releases that wait for their entry, for gauges. */
  get waiting(): number {
    return this.#additions.size;
  }

  /**
   * Whether the PodProtector of that UID may be released now. If not, its entry is asked for, and `key` is woken when
   * it is written.
   */
  mayRelease(uid: string, cause: string, key: ObjectKey): boolean {
    const digest = digestOfUID(uid);
    this.#removals.delete(digest);
    this.#cleared.delete(digest);
    if (!this.#inFlight.has(digest) && (this.#isFresh(digest) || this.#unlisted.has(digest))) return true;
    this.#ask(this.#additions, digest, { key, cause });
    return false;
  }

  /**
   * Whether the PodProtector of that UID may be kept: a list that was read since it is to be kept does not have it. If
   * not, its entry is removed where there is one, and `key` is woken afterwards.
   */
  mayKeep(uid: string, key: ObjectKey): boolean {
    const digest = digestOfUID(uid);
    this.#additions.delete(digest);
    if (this.#cleared.has(digest) && !this.#inFlight.has(digest)) return true;
    this.#ask(this.#removals, digest, { key, cause: "" });
    return false;
  }

  /** Whether its entry is in the list, or on its way there, as far as this process knows. */
  isListed(uid: string): boolean {
    if (this.#entries.size === 0 && this.#additions.size === 0 && this.#inFlight.size === 0) return false;
    const digest = digestOfUID(uid);
    return this.#entries.has(digest) || this.#additions.has(digest) || this.#inFlight.has(digest);
  }

  /**
   * Whether the PodProtector of that UID, which was found absent at `sinceMs`, was released or let go by hand, by the
   * list as it is now; "unknown" when it may have left the list before this process saw it. Who may not read the list
   * does not know of any. Throws KubeError.
   */
  async fateOf(uid: string, sinceMs: MonotonicMs, signal: AbortSignal): Promise<"let-go" | "unknown" | "lost"> {
    if (this.#unlisted.has(digestOfUID(uid))) return "let-go";
    const nowMs = this.#options.clock.monotonicMs();
    const known = this.#lastRead;
    const isKnown = known !== undefined && known.atMs >= sinceMs && later(known.atMs, reusedMs) > nowMs;
    try {
      if (isLetGo(isKnown ? known.state : await this.#read(signal), uid)) return "let-go";
    } catch (error) {
      if (isKubeError(error, "forbidden")) return "lost";
      throw error;
    }
    return this.#missed.mayHaveMissed(sinceMs) ? "unknown" : "lost";
  }

  /** Reads the list when it was not read for minutes, so that it is known how far it goes. Throws KubeError. */
  async keepUp(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    const known = this.#lastRead;
    if (known === undefined || later(known.atMs, givenMs(clock, readListEveryMs)) <= clock.monotonicMs())
      await this.#read(signal);
  }

  /** Writes the list until the signal aborts. Never rejects for operating errors. */
  async lead(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    while (!signal.aborted) {
      await this.#write(signal);
      const pauseMs = everyMs * 2 ** Math.max(0, this.#failuresInARow - 1);
      await sleep(clock, Math.min(backoffMaxMs, pauseMs), signal);
      await this.#idle(signal);
    }
    this.#additions.clear();
    this.#removals.clear();
    // The next leader may change it.
    this.#entries = new Map();
  }

  #ask(waiting: Map<string, Waiting>, digest: string, what: Pick<Waiting, "key" | "cause">): void {
    if (!waiting.has(digest)) waiting.set(digest, { ...what, sinceMs: this.#options.clock.monotonicMs() });
    this.#wake?.();
  }

  /** Until something waits, or the list is to be read again. */
  async #idle(signal: AbortSignal): Promise<void> {
    if (this.#additions.size > 0 || this.#removals.size > 0) return;
    using pause = linkedAbort(signal);
    this.#wake = () => pause.abort();
    await sleep(this.#options.clock, refreshMs, pause.signal);
    this.#wake = undefined;
  }

  async #read(signal: AbortSignal): Promise<GeneratorState> {
    const { core, namespace, clock } = this.#options;
    const atMs = clock.monotonicMs();
    const wasCurrent = this.#missed.isCurrent();
    const state = await readGeneratorState(core, namespace, { timeoutMs, signal });
    this.#missed.read(state.numbers, atMs, wasCurrent);
    this.#lastRead = { state, atMs };
    return state;
  }

  /** One round: reads the list, and writes what waits into it. */
  async #write(signal: AbortSignal): Promise<void> {
    const additions = new Map(this.#additions);
    const removals = new Map(this.#removals);
    this.#inFlight = new Set([...additions.keys(), ...removals.keys()]);
    try {
      const state = await this.#read(signal);
      const changes = { additions, removals, releasedAt: this.#options.clock.epochMicros() };
      const { releases, numbers, taken } = merged(state, changes, this.#releasesMax);
      const isChanged = taken.size > 0 || state.releases.some(({ digest }) => removals.has(digest));
      const version = isChanged
        ? await this.#store(state, encodeReleases(releases, numbers), signal)
        : state.resourceVersion;
      this.#newest = numbers.newest;
      this.#failuresInARow = 0;
      this.#told = undefined;
      this.#stored(releases, [...taken, ...removals]);
      if (version !== this.#version && state.resourceVersion !== this.#version) this.#options.onRead();
      this.#version = version;
    } catch (thrown) {
      const error = asKubeError(thrown);
      if (!signal.aborted) this.#failed(error, additions, removals);
    } finally {
      this.#inFlight = new Set();
    }
  }

  /** Resolves to the version that was written, if the answer tells. */
  async #store(state: GeneratorState, data: GeneratorState["data"], signal: AbortSignal): Promise<string | undefined> {
    const { core, namespace } = this.#options;
    const limits = { timeoutMs, signal };
    if (state.resourceVersion === undefined) {
      const body = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: generatorStateName, namespace }, data };
      return versionOf(
        await core.request({ method: "POST", path: resourcePath(configMaps, { namespace }), body, ...limits }),
      );
    }
    const path = resourcePath(configMaps, { namespace, name: generatorStateName });
    const body = { metadata: { resourceVersion: state.resourceVersion }, data };
    const contentType = "application/merge-patch+json";
    try {
      return versionOf(await core.request({ method: "PATCH", path, contentType, body, ...limits }));
    } catch (error) {
      // A person has deleted it since it was read.
      if (isKubeError(error, "notFound")) throw new KubeError("conflict", error.message, { cause: error });
      throw error;
    }
  }

  #stored(releases: readonly Release[], done: readonly (readonly [string, Waiting])[]): void {
    this.#entries = new Map(releases.map((release) => [release.digest, release]));
    this.#letGoOn(done);
  }

  #letGoOn(done: readonly (readonly [string, Waiting])[]): void {
    const nowMs = this.#options.clock.monotonicMs();
    for (const [digest, atMs] of this.#cleared) if (later(atMs, clearedMs) <= nowMs) this.#cleared.delete(digest);
    for (const [digest, waiting] of done) {
      if (this.#additions.get(digest) === waiting) this.#additions.delete(digest);
      if (this.#removals.get(digest) !== waiting) continue;
      this.#removals.delete(digest);
      this.#cleared.set(digest, nowMs);
    }
    this.#inFlight = new Set();
    this.#options.onWritten(done.map(([, { key }]) => key));
  }

  #failed(err: KubeError, additions: ReadonlyMap<string, Waiting>, removals: ReadonlyMap<string, Waiting>): void {
    const { clock, logger, failures } = this.#options;
    failures.inc({ error: err.kind });
    const isLasting = isKubeError(err, ...lastingErrors);
    // The next try is soon: what is released in the meantime should not wait for long either.
    this.#failuresInARow = isLasting ? 1 : this.#failuresInARow + 1;
    const nowMs = clock.monotonicMs();
    const isOver = ([, { sinceMs }]: readonly [string, Waiting]): boolean =>
      isLasting || later(sinceMs, givenMs(clock, heldMsMax)) <= nowMs;
    const unlisted = [...additions].filter(isOver);
    const stillListed = [...removals].filter(isOver);
    const told = isLasting ? "goes on" : additions.size > 0 ? "holds back" : this.#told;
    if (told !== this.#told) {
      const text = told === "goes on" ? "releasing without it" : "holding releases back";
      logger.warn(`Cannot keep the list of releases, ${text}`, { configMap: generatorStateName, err });
    }
    this.#told = told;
    for (const [digest] of unlisted) this.#unlisted.add(digest);
    for (const digest of this.#unlisted.keys())
      if (this.#unlisted.size > this.#releasesMax) this.#unlisted.delete(digest);
    const gone = new Set(stillListed.map(([digest]) => digest));
    this.#entries = new Map([...this.#entries].filter(([digest]) => !gone.has(digest)));
    this.#letGoOn([...unlisted, ...stillListed]);
  }

  #isFresh(digest: string): boolean {
    const entry = this.#entries.get(digest);
    return entry !== undefined && entry.number > this.#newest - shareFresh * this.#releasesMax;
  }

  get #releasesMax(): number {
    return this.#options.releasesMax ?? releasesMaxDefault;
  }
}

interface Changes {
  readonly additions: ReadonlyMap<string, Waiting>;
  readonly removals: ReadonlyMap<string, Waiting>;
  readonly releasedAt: EpochMicros;
}

interface Merged {
  readonly releases: readonly Release[];
  readonly numbers: ReleaseNumbers;
  readonly taken: ReadonlyMap<string, Waiting>;
}

/** The list without what is taken back, with as many of the additions as one write takes, and the newest of all. */
function merged(state: GeneratorState, { additions, removals, releasedAt }: Changes, releasesMax: number): Merged {
  const taken = new Map([...additions].slice(0, Math.ceil(shareAdded * releasesMax)));
  const kept = state.releases.filter(({ digest }) => !removals.has(digest) && !taken.has(digest));
  let { newest } = state.numbers;
  const added = [...taken].map(([digest, { key, cause }]): Release => {
    newest += 1;
    return { digest, releasedAt, cause: shortened(cause), number: newest, namespace: partsOf(key).namespace };
  });
  const { releases, dropped } = withRoom([...kept, ...added], releasesMax);
  return { releases, numbers: { newest, dropped: Math.max(state.numbers.dropped, dropped) }, taken };
}

/** The newest of these, and the highest number of the others; only the very newest have a cause. */
function withRoom(
  all: readonly Release[],
  releasesMax: number,
): { readonly releases: readonly Release[]; readonly dropped: number } {
  const perNamespace = new Map<string, number>();
  const releases: Release[] = [];
  let dropped = 0;
  for (const release of all.toReversed()) {
    const { namespace, number } = release;
    const ofNamespace = (perNamespace.get(namespace) ?? 0) + 1;
    const isTooMany = namespace !== "" && ofNamespace > shareOfNamespace * releasesMax;
    if (isTooMany || releases.length >= releasesMax) {
      dropped = Math.max(dropped, number);
      continue;
    }
    perNamespace.set(namespace, ofNamespace);
    releases.push(releases.length < causesMax ? release : { ...release, cause: "" });
  }
  return { releases: releases.reverse(), dropped };
}

/** What needs one byte in the ConfigMap: the list is a text within a text. */
function shortened(cause: string): string {
  return cause.replaceAll(/[^ !#-[\]-~]/g, "?").slice(0, causeLengthMax);
}

function versionOf(answer: unknown): string | undefined {
  const { resourceVersion } = fieldsOf(fieldsOf(answer)["metadata"]);
  return typeof resourceVersion === "string" ? resourceVersion : undefined;
}
