/**
 * What happened lately, from the Events of Podseidon in the cores, and which of them are refusals. An Event stands for
 * all that happened to one object for one reason within ten minutes, with a count.
 */
import { fieldsOf } from "../../../api/json.ts";
import { parseTime } from "../../../api/micro-time.ts";
import { objectKey, protectorID, type ProtectorID } from "../../../api/object-key.ts";
import { parseResourceVersion } from "../../../api/resource-version.ts";
import { type Stored } from "../../../kube/informer.ts";
import { printable } from "../../../util/printable.ts";
import { isRefusal } from "../../fleet/refusals.ts";
import { type Tone } from "./protector-row.ts";

/** Who writes Events: as `source.component`. */
export const eventComponents = ["podseidon-webhook", "podseidon-generator", "podseidon-aggregator"] as const;

export interface WatchedEvent extends Stored {
  readonly component: string;
  readonly type: string;
  readonly reason: string;
  readonly message: string;
  readonly count: number;
  /** When it happened last, in epoch milliseconds. */
  readonly atMs: number;
  readonly about: { readonly kind: string; readonly namespace: string; readonly name: string };
}

/** Undefined = no Event that can be shown. */
export function decodeEvent(raw: unknown): WatchedEvent | undefined {
  const { metadata, involvedObject, source, type, reason, message, count, lastTimestamp, firstTimestamp } =
    fieldsOf(raw);
  const { namespace, name, uid, resourceVersion, creationTimestamp } = fieldsOf(metadata);
  const version = parseResourceVersion(resourceVersion);
  if (typeof name !== "string" || typeof uid !== "string" || version === undefined) return undefined;
  const at = parseTime(lastTimestamp) ?? parseTime(firstTimestamp) ?? parseTime(creationTimestamp);
  const about = fieldsOf(involvedObject);
  return {
    key: objectKey(textOf(namespace), name),
    uid,
    resourceVersion: version,
    component: textOf(fieldsOf(source)["component"]),
    type: textOf(type),
    reason: printable(textOf(reason)),
    message: shown(textOf(message)),
    count: typeof count === "number" && count > 0 ? count : 1,
    atMs: (at ?? 0) / 1000,
    about: { kind: textOf(about["kind"]), namespace: textOf(about["namespace"]), name: textOf(about["name"]) },
  };
}

const textOf = (value: unknown): string => (typeof value === "string" ? value : "");

/** An Event's message has at most 1,024 characters; all of it is shown. */
function shown(message: string): string {
  return (message.slice(0, messageLengthMax).match(/.{1,250}/gsu) ?? []).map((part) => printable(part)).join("");
}

const messageLengthMax = 1_024;

/** One line of the page. */
export interface TimelineEntry {
  readonly id: string;
  readonly atMs: number;
  readonly tone: Tone;
  readonly reason: string;
  readonly message: string;
  readonly count: number;
  /** "PodProtector shop/checkout". */
  readonly about: string;
  readonly core: string;
  /** Counts the changes of the timeline, so that a reader who comes back learns what is new. */
  readonly change: number;
}

/** What was refused lately for one PodProtector. */
export interface Refusals {
  readonly count: number;
  readonly lastMs: number;
  /** The newest refusal, in the words of its Event. */
  readonly last: string;
  /** Of each Event, the newest first: what is over is told apart from what goes on. */
  readonly series: readonly { readonly count: number; readonly lastMs: number }[];
}

/** More than fit on a screen; some 200 kB. */
const entriesMax = 500;

export class Timeline {
  /** By core and UID, the oldest change first. */
  readonly #entries = new Map<string, TimelineEntry>();
  /** Refusals that the cores still have, by PodProtector and UID of the Event. */
  readonly #refusals = new Map<ProtectorID, Map<string, WatchedEvent>>();
  #change = 0;

  /** Returns the PodProtector whose refusals have changed, if any. */
  set(core: string, event: WatchedEvent): ProtectorID | undefined {
    if (isRepetition(event)) return undefined;
    this.#show(core, event);
    if (!refuses(event)) return undefined;
    const id = subjectOf(core, event);
    const refusals = this.#refusals.get(id) ?? new Map<string, WatchedEvent>();
    refusals.set(event.uid, event);
    this.#refusals.set(id, refusals);
    return id;
  }

  /** The core has forgotten the Event, as a rule after an hour. The entry stays. */
  delete(core: string, event: WatchedEvent): ProtectorID | undefined {
    const id = subjectOf(core, event);
    const refusals = this.#refusals.get(id);
    if (refusals?.delete(event.uid) !== true) return undefined;
    if (refusals.size === 0) this.#refusals.delete(id);
    return id;
  }

  refusalsOf(id: ProtectorID): Refusals | undefined {
    const events = this.#refusals.get(id);
    if (events === undefined) return undefined;
    const sorted = [...events.values()].sort((a, b) => b.atMs - a.atMs);
    const [last] = sorted as [WatchedEvent];
    const count = sorted.reduce((sum, event) => sum + event.count, 0);
    const series = sorted.map((event) => ({ count: event.count, lastMs: event.atMs }));
    return { count, lastMs: last.atMs, last: last.message, series };
  }

  /** Refusals of all PodProtectors. */
  get refused(): number {
    let sum = 0;
    for (const events of this.#refusals.values()) for (const { count } of events.values()) sum += count;
    return sum;
  }

  /** Entries that have changed since `change` (0 = all), the newest first, at most `count` of the newest. */
  entries(count: number, change = 0): readonly TimelineEntry[] {
    const newest = [...this.#entries.values()].sort((a, b) => b.atMs - a.atMs || b.change - a.change).slice(0, count);
    return newest.filter((entry) => entry.change > change);
  }

  get change(): number {
    return this.#change;
  }

  get size(): number {
    return this.#entries.size;
  }

  #show(core: string, event: WatchedEvent): void {
    const id = `${core}/${event.uid}`;
    const { atMs, reason, message, count, about } = event;
    const shown = this.#entries.get(id);
    if (shown?.count === count && shown.atMs === atMs && shown.message === message) return;
    const place = about.namespace === "" ? about.name : `${about.namespace}/${about.name}`;
    this.#entries.set(id, {
      id,
      atMs,
      tone: toneOf(event),
      reason,
      message,
      count,
      about: printable(`${about.kind} ${place}`),
      core,
      change: ++this.#change,
    });
    if (this.#entries.size <= entriesMax) return;
    const oldest = [...this.#entries.values()].reduce((a, b) => (b.atMs < a.atMs ? b : a));
    this.#entries.delete(oldest.id);
  }
}

/** Webhooks tell of a refusal on the workload and on the pod as well, for people who may not read PodProtectors. */
function isRepetition({ reason, about }: WatchedEvent): boolean {
  return reason === "DeletionRefused" && about.kind !== "PodProtector";
}

function refuses(event: WatchedEvent): boolean {
  return event.about.kind === "PodProtector" && isRefusal(event);
}

function subjectOf(core: string, { about }: WatchedEvent): ProtectorID {
  return protectorID(core, objectKey(about.namespace, about.name));
}

function toneOf(event: WatchedEvent): Tone {
  if (refuses(event)) return "warn";
  // Of a PodProtector in shadow.
  if (event.reason === "WouldRefuse") return "note";
  return event.type === "Warning" ? "bad" : "note";
}
