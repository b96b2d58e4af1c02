/**
 * The causes whose changes are held, and the approvals of people: as the generator's ConfigMap says it in a key of its
 * own, how that is read and written, and as the leader knows them. The ConfigMap is read before anything is released or
 * lowered, and follows by a few seconds; what a crash loses meanwhile is found again, since what is held is counted
 * again. Without the rights the generator goes on from memory, and says so once: its restart forgets the latches then.
 */
import { asList, asObject } from "../../api/json.ts";
import { formatMicroTime, parseTime } from "../../api/micro-time.ts";
import { type Clock, type EpochMicros, later, type MonotonicMs } from "../../util/clock.ts";
import { configMaps, type GeneratorState, generatorStateName, readGeneratorState } from "../../kube/generator-state.ts";
import { isKubeError, type KubeClient, type KubeError, resourcePath } from "../../kube/kube-client.ts";
import { type Logger } from "../../util/logger.ts";
import { type Counter } from "../../util/metrics.ts";
import { annotations } from "../../api/v1alpha1/names.ts";
import { isKeptCause } from "../sources/kept.ts";
import { type Announcements } from "./announcements.ts";
import { type Approval, readApproval } from "./approval.ts";
import { coreCause } from "./change-window.ts";

/** Key of the data. */
export const latchesKey = "latches";

/** An approval that was carried out: changes until then pass, also after a restart of the generator. */
export interface CarriedOut {
  readonly cause: string;
  readonly at: EpochMicros;
  readonly until: EpochMicros;
  /** The annotation, so that it is carried out once. */
  readonly text: string;
}

export interface Latches {
  /** Since when each cause is latched. */
  readonly latched: ReadonlyMap<string, EpochMicros>;
  readonly approvals: readonly CarriedOut[];
}

export function decodeLatches(text: string | undefined): Latches {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text ?? "");
  } catch {
    parsed = undefined;
  }
  const { latched, approvals } = asObject(parsed) ?? {};
  return {
    latched: new Map(
      asList(latched).flatMap((entry) => {
        const [cause, time] = asList(entry);
        const since = parseTime(time);
        return typeof cause === "string" && since !== undefined ? [[cause, since] as const] : [];
      }),
    ),
    approvals: asList(approvals).flatMap((entry) => {
      const [cause, time, end, annotation] = asList(entry);
      const [at, until] = [parseTime(time), parseTime(end)];
      if (typeof cause !== "string" || typeof annotation !== "string") return [];
      return at === undefined || until === undefined ? [] : [{ cause, at, until, text: annotation }];
    }),
  };
}

export function encodeLatches({ latched, approvals }: Latches): string {
  return JSON.stringify({
    latched: [...latched].map(([cause, since]) => [cause, formatMicroTime(since)]),
    approvals: approvals.map(({ cause, at, until, text }) => [
      cause,
      formatMicroTime(at),
      formatMicroTime(until),
      text,
    ]),
  });
}

export interface LatchStoreOptions {
  readonly core: KubeClient;
  readonly namespace: string;
  readonly logger: Logger;
  /** Reads and writes that failed, by `error`. */
  readonly failures: Counter;
}

export interface ReadLatches {
  readonly state: GeneratorState;
  readonly latches: Latches;
}

export class LatchStore {
  readonly #options: LatchStoreOptions;
  #hasToldRights = false;

  constructor(options: LatchStoreOptions) {
    this.#options = options;
  }

  /** Throws KubeError. */
  async read(signal: AbortSignal): Promise<ReadLatches> {
    const { core, namespace } = this.#options;
    try {
      const state = await readGeneratorState(core, namespace, { signal });
      return { state, latches: decodeLatches(state.data[latchesKey]) };
    } catch (error) {
      if (isKubeError(error)) this.#failed(error);
      throw error;
    }
  }

  /** The annotation of the ConfigMap; undefined when there is none, or no answer. Never throws for operating errors. */
  async annotation(name: string, signal: AbortSignal): Promise<string | undefined> {
    try {
      return (await this.read(signal)).state.annotations[name];
    } catch (error) {
      if (!isKubeError(error)) throw error;
      return undefined;
    }
  }

  /**
   * False when it has to be tried again: also when it is forbidden, which may last for a moment only, and would leave a
   * latch there that holds nothing. Never throws for operating errors.
   */
  async write(latches: Latches, signal: AbortSignal): Promise<boolean> {
    const { core, namespace } = this.#options;
    try {
      const { resourceVersion, data } = await readGeneratorState(core, namespace, { signal });
      const text = encodeLatches(latches);
      if ((data[latchesKey] ?? encodeLatches(decodeLatches(undefined))) === text) return true;
      const name = generatorStateName;
      const body = { data: { [latchesKey]: text } };
      if (resourceVersion === undefined) {
        const path = resourcePath(configMaps, { namespace });
        const whole = { apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace }, ...body };
        await core.request({ method: "POST", path, body: whole, signal });
      } else {
        await core.request({
          method: "PATCH",
          path: resourcePath(configMaps, { namespace, name }),
          contentType: "application/merge-patch+json",
          body: { metadata: { resourceVersion }, ...body },
          signal,
        });
      }
      return true;
    } catch (error) {
      if (!isKubeError(error)) throw error;
      if (!signal.aborted && !isKubeError(error, "conflict", "alreadyExists")) this.#failed(error);
      return false;
    }
  }

  #failed(err: KubeError): void {
    const { failures, logger, namespace } = this.#options;
    failures.inc({ error: err.kind });
    if (!isKubeError(err, "forbidden", "unauthorized") || this.#hasToldRights) return;
    this.#hasToldRights = true;
    logger.error(
      "Not allowed to use the ConfigMap of the generator: held changes cannot be approved there, and a restart " +
        "forgets why they are held. Apply the manifests of this release",
      { configMap: `${namespace}/${generatorStateName}`, err },
    );
  }
}

export interface LatchBookOptions {
  readonly store: LatchStore;
  readonly announcements: Announcements;
  readonly clock: Clock;
}

export interface GivenApproval {
  readonly approval: Approval;
  /** As it stands in the annotation. */
  readonly text: string;
}

/** In the cause of an approval: whatever is held. */
export const everyCause = "*";

/**
 * After the beginning of a term, once the latches are read, and of a latch: by then the changes that it holds have been
 * seen. A round through a large core takes a few seconds, and each change two more.
 */
const settleMs = 30_000;
/** So long the ConfigMap may be forbidden by an API server that has just started. Then the right is missing. */
const forbiddenMs = 10_000;
/** What is kept is held without a latch, too. It is for people, who do not read more, and a ConfigMap is small. */
const keptMax = 1_000;
/** Far more than people give in a day. */
const approvalsMax = 100;

export class LatchBook {
  readonly #options: LatchBookOptions;
  #latched = new Map<string, EpochMicros>();
  #approvals: readonly CarriedOut[] = [];
  /** Until when each latch stays even if it holds nothing. */
  readonly #staysUntilMs = new Map<string, MonotonicMs>();
  #settlesAtMs = 0 as MonotonicMs;
  #isDirty = false;
  #isUnread = false;
  #forbiddenSinceMs: MonotonicMs | undefined;
  /** The last annotation that was looked at. */
  #seenText: string | undefined;

  constructor(options: LatchBookOptions) {
    this.#options = options;
  }

  /** A term begins. */
  begin(): void {
    this.#latched.clear();
    this.#staysUntilMs.clear();
    this.#approvals = [];
    this.#seenText = undefined;
    this.#isDirty = false;
    this.#isUnread = false;
    this.#forbiddenSinceMs = undefined;
    this.#settlesAtMs = later(this.#options.clock.monotonicMs(), settleMs);
  }

  /** What the former leader left was asked for, and is not read. Nothing is written over it. */
  get isUnread(): boolean {
    return this.#isUnread;
  }

  /**
   * Reads what the former leader left. Undefined when that has been forbidden for ten seconds: whoever lacks the right
   * goes on without, and `load`s it later. Throws KubeError before, and whenever there is no answer.
   */
  async load(signal: AbortSignal): Promise<GeneratorState | undefined> {
    this.#isUnread = true;
    const read = await this.#read(signal);
    if (read === undefined) return undefined;
    this.#isUnread = false;
    // What was latched before it could be read stays so.
    this.#latched = new Map([...read.latches.latched, ...this.#latched]);
    this.#approvals = read.latches.approvals;
    this.#settlesAtMs = later(this.#options.clock.monotonicMs(), settleMs);
    return read.state;
  }

  async #read(signal: AbortSignal): Promise<ReadLatches | undefined> {
    const { store, clock } = this.#options;
    try {
      return await store.read(signal);
    } catch (error) {
      if (!isKubeError(error, "forbidden", "unauthorized")) throw error;
      const nowMs = clock.monotonicMs();
      this.#forbiddenSinceMs ??= nowMs;
      if (nowMs < later(this.#forbiddenSinceMs, forbiddenMs)) throw error;
      return undefined;
    }
  }

  /** What holds changes of this cause; undefined = nothing. */
  heldBy(cause: string): string | undefined {
    return [cause, coreCause].find((one) => this.#latched.has(one));
  }

  latch(cause: string): void {
    if (this.#latched.has(cause) || (isKeptCause(cause) && this.#latched.size >= keptMax)) return;
    const { clock, announcements } = this.#options;
    this.#latched.set(cause, clock.epochMicros());
    this.#staysUntilMs.set(cause, later(clock.monotonicMs(), settleMs));
    this.#isDirty = true;
    announcements.latched(cause);
  }

  /** Whether a person has approved a change of this cause and time, before this term began too. */
  hasApproved(cause: string, at: EpochMicros): boolean {
    const now = this.#options.clock.epochMicros();
    return this.#approvals.some((one) => {
      if (one.until <= now || at > one.at) return false;
      if (one.cause === cause || one.cause === everyCause) return true;
      return one.cause === coreCause && !isKeptCause(cause) && !this.#latched.has(cause);
    });
  }

  /** The approval was carried out for what was held. */
  carriedOut({ approval: { cause, until }, text }: GivenApproval): void {
    const at = this.#options.clock.epochMicros();
    const valid = this.#approvals.filter((one) => one.until > at);
    this.#approvals = [...valid, { cause, at, until, text }].slice(-approvalsMax);
    for (const one of this.#latched.keys()) if (cause === one || cause === everyCause) this.#latched.delete(one);
    this.#isDirty = true;
  }

  /** Ends latches that hold nothing. */
  endWithout(held: ReadonlySet<string>): void {
    const nowMs = this.#options.clock.monotonicMs();
    for (const cause of this.#latched.keys()) {
      if (held.has(cause) || nowMs < Math.max(this.#settlesAtMs, this.#staysUntilMs.get(cause) ?? 0)) continue;
      this.#latched.delete(cause);
      this.#isDirty = true;
      this.#options.announcements.unlatched(cause);
    }
  }

  /**
   * Writes what has changed or was lost, and returns an approval that a person has given since. Never throws
   * KubeErrors.
   */
  async round(signal: AbortSignal): Promise<GivenApproval | undefined> {
    const { store, clock } = this.#options;
    if (this.#isUnread) return undefined;
    // What is latched is compared each time: without the ConfigMap, which a person may delete, nobody can approve.
    if (this.#isDirty || this.#latched.size > 0) {
      const latches = { latched: new Map(this.#latched), approvals: this.#approvals };
      this.#isDirty = false;
      if (!(await store.write(latches, signal))) this.#isDirty = true;
    }
    // A leader that has just begun does not know yet what is held.
    if (clock.monotonicMs() < this.#settlesAtMs) return undefined;
    const text = await store.annotation(annotations.approve, signal);
    if (text === undefined || text === this.#seenText) return undefined;
    this.#seenText = text;
    if (this.#approvals.some((one) => one.text === text)) return undefined;
    const read = readApproval(text, clock.epochMicros());
    if (read.ok) return { approval: read.approval, text };
    this.#options.announcements.ignoredApproval(text, `it must be ${read.allowed}`);
    return undefined;
  }
}
