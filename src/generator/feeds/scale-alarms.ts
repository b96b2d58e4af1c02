/** What people are told of custom resources whose scale cannot be read: an Event on each, a log line, and a gauge. */
import { type EventRecorder } from "../../kube/event-recorder.ts";
import { type SourceKind } from "../../sources/source.ts";
import { type Clock, sleep } from "../../util/clock.ts";
import { type Logger } from "../../util/logger.ts";
import { type TroubledSource } from "./resolved-sources.ts";
import { inLogs } from "../sources/source-plan.ts";

/** A new object has no selector until its controller has seen it, and a server may be away for moments. */
export const toldAfterMs = 30_000;
/** Between two looks, which is also how often an Event is renewed: Kubernetes forgets Events after an hour. */
const lookEveryMs = 15_000;
/** An Event that is renewed at each look would be all that the recorder does. */
const renewedEveryMs = 900_000;

/** What has such sources. */
export interface TroubledFeed {
  troubled(): Iterable<TroubledSource>;
}

export interface ScaleAlarmsOptions {
  readonly feeds: ReadonlyMap<SourceKind, TroubledFeed>;
  readonly events: Pick<EventRecorder, "record">;
  readonly clock: Clock;
  readonly logger: Logger;
}

export class ScaleAlarms {
  readonly #options: ScaleAlarmsOptions;
  /** When each object was told of, by its UID; only those that are in trouble. */
  #told = new Map<string, number>();
  #isLeading = false;

  constructor(options: ScaleAlarmsOptions) {
    this.#options = options;
  }

  /** For gauges; a standby has none. */
  unreadable(): ReadonlyMap<SourceKind, number> {
    const count = (feed: TroubledFeed): number => (this.#isLeading ? [...feed.troubled()].length : 0);
    return new Map([...this.#options.feeds].map(([kind, feed]) => [kind, count(feed)]));
  }

  /** As Generator.lead. */
  async lead(signal: AbortSignal): Promise<void> {
    const { clock, feeds } = this.#options;
    this.#isLeading = true;
    while (!signal.aborted) {
      const nowMs = clock.monotonicMs();
      const told = new Map<string, number>();
      for (const feed of feeds.values())
        for (const troubled of feed.troubled()) {
          const atMs = this.#look(troubled, nowMs);
          if (atMs !== undefined) told.set(troubled.source.uid, atMs);
        }
      this.#told = told;
      await sleep(clock, lookEveryMs, signal);
    }
    this.#isLeading = false;
  }

  /** When it was told of last; undefined = not yet. */
  #look(troubled: TroubledSource, nowMs: number): number | undefined {
    if (nowMs - troubled.sinceMs < toldAfterMs) return undefined;
    const atMs = this.#told.get(troubled.source.uid);
    if (atMs !== undefined && nowMs - atMs < renewedEveryMs) return atMs;
    this.#tell(troubled, atMs === undefined);
    return nowMs;
  }

  #tell({ source, trouble, isHeld, event }: TroubledSource, isFirst: boolean): void {
    const { events, logger } = this.#options;
    const { kind, namespace, name, uid } = source;
    if (isFirst)
      logger.warn("Cannot read what a source wants by the scale, its last floor holds", {
        ...inLogs(source),
        isHeld,
        err: trouble.text,
      });
    const ofSource = isHeld ? "The last floor of its PodProtector holds" : "It is not protected until that is done";
    events.record(
      { apiVersion: kind.apiVersion, kind: kind.kind, namespace, name, uid },
      "Warning",
      event?.reason ?? "ScaleUnreadable",
      `${event?.outcome ?? ofSource}: ${event?.advice ?? whatToDo(trouble, kind)}. ${trouble.text}`,
    );
  }
}

function whatToDo(trouble: TroubledSource["trouble"], { id }: SourceKind): string {
  if (trouble.kind === "notNow") return "its scale cannot be read at the moment, and is tried again";
  switch (trouble.problem) {
    case "forbidden":
      return `the generator needs the right to get ${id.slice(0, id.indexOf("."))}/scale of its API group`;
    case "notScalable":
      return `${id} needs a subresource scale`;
    case "wrong":
      return "its scale must have spec.replicas, and status.selector as its controller writes it";
  }
}
