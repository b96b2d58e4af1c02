/**
 * What webhooks have refused lately, by Events on PodProtectors. The API server forgets Events after an hour, and
 * whoever may write Events in a namespace can make one up, or delete one (docs/security.md#what-others-write). So all
 * of this is told as what Events say, and by none of it anything is let go, or taken for over.
 *
 * PodProtectors that are gone without having been released, so that webhooks keep them in force from memory
 * (docs/webhook.md#tombstones). Only webhooks know them. What is visible in the core is the Event that each replica
 * writes about it.
 */
import { parseCallerCounts } from "../../api/caller-counts.ts";
import { fieldsOf } from "../../api/json.ts";
import { parseTime } from "../../api/micro-time.ts";
import { objectKey, type ObjectKey } from "../../api/object-key.ts";
import { type GeneratorState, isLetGo } from "../../kube/generator-state.ts";
import { type KubeClient, type Resource } from "../../kube/kube-client.ts";
import { listed } from "../clusters/reading.ts";
import { type EpochMicros } from "../../util/clock.ts";

export const events: Resource = { group: "", version: "v1", resource: "events" };

/** An Event on a PodProtector. */
export interface ProtectorEvent {
  readonly protector: ObjectKey;
  readonly uid: string | undefined;
  readonly reason: string;
  readonly message: string;
  readonly count: number;
  readonly lastAt: EpochMicros | undefined;
  readonly component: string;
}

/** Of one PodProtector. */
export interface Refusals {
  readonly count: number;
  readonly lastAt: EpochMicros | undefined;
  /** The newest. */
  readonly last: ProtectorEvent;
  /** The newest first. */
  readonly events: readonly ProtectorEvent[];
  /** Who asked, those with the most first, as far as the Events name them. */
  readonly callers: readonly RefusedCaller[];
}

export interface RefusedCaller {
  readonly name: string;
  readonly count: number;
}

const webhook = "podseidon-webhook";
const generator = "podseidon-generator";
/** What the webhook says besides refusals. */
const noRefusals: ReadonlySet<string> = new Set([
  "WouldRefuse",
  "ForcedDeletion",
  "OrphanLetGo",
  "PodProtectorLost",
  "UnusablePodProtector",
]);

/** All Events on PodProtectors. Throws KubeError. */
export function listProtectorEvents(
  client: KubeClient,
  namespace: string | undefined,
  signal: AbortSignal,
  name?: string,
): Promise<readonly ProtectorEvent[]> {
  const ofName = name === undefined ? "" : `,involvedObject.name=${name}`;
  const fieldSelector = `involvedObject.kind=PodProtector${ofName}`;
  return listed(client, { resource: events, namespace, fieldSelector }, readEvent, { signal });
}

/** Refusals by PodProtector; those in shadow refuse nothing, so they are not among them. */
export function refusalsOf(all: readonly ProtectorEvent[]): ReadonlyMap<ObjectKey, Refusals> {
  return summedByProtector(
    all.filter((event) => isRefusal(event)),
    callersOf,
  );
}

function summedByProtector(
  all: readonly ProtectorEvent[],
  namedIn: (events: readonly ProtectorEvent[]) => readonly RefusedCaller[],
): ReadonlyMap<ObjectKey, Refusals> {
  const byProtector = Map.groupBy(all, ({ protector }) => protector);
  return new Map(
    Array.from(byProtector, ([protector, unsorted]) => {
      const sorted = unsorted.sort((a, b) => (b.lastAt ?? 0) - (a.lastAt ?? 0));
      const count = sorted.reduce((sum, event) => sum + event.count, 0);
      const [last] = sorted as [ProtectorEvent];
      return [protector, { count, lastAt: last.lastAt, last, events: sorted, callers: namedIn(sorted) }];
    }),
  );
}

/** Deletions that would have been refused if nobody had forced them, by PodProtector; counted as refusals are. */
export function forcedOf(all: readonly ProtectorEvent[]): ReadonlyMap<ObjectKey, Refusals> {
  return summedByProtector(
    all.filter(({ component, reason }) => component === webhook && reason === "ForcedDeletion"),
    forcersOf,
  );
}

/** A PodProtector that the generator has let go. */
export interface Release {
  readonly protector: ObjectKey;
  readonly message: string;
  readonly at: EpochMicros;
}

/** Those since `from`, the newest first. */
export function releasesOf(all: readonly ProtectorEvent[], from: EpochMicros): readonly Release[] {
  return all
    .flatMap(({ component, reason, protector, message, lastAt }) =>
      component === generator && reason === "Released" && lastAt !== undefined && lastAt >= from
        ? [{ protector, message, at: lastAt }]
        : [],
    )
    .sort((a, b) => b.at - a.at);
}

/** Of an Event on a PodProtector. */
export function isRefusal({ component, reason }: Pick<ProtectorEvent, "component" | "reason">): boolean {
  return component === webhook && !noRefusals.has(reason);
}

/** Summed over the Events. */
function callersOf(events: readonly ProtectorEvent[]): readonly RefusedCaller[] {
  return mostFirst(events.flatMap(({ message }) => parseCallerCounts(message)?.callers ?? []));
}

/** As the webhook begins these Events, each about one caller (src/webhook/decide/reports/protector-events.ts). */
const forcedBy = /^(?:Deletions|Evictions) by "((?:[^"\\]|\\.)*)" were forced /;

function forcersOf(events: readonly ProtectorEvent[]): readonly RefusedCaller[] {
  return mostFirst(
    events.flatMap(({ message, count }) => {
      const name = forcedBy.exec(message)?.[1];
      return name === undefined ? [] : [{ name, count }];
    }),
  );
}

function mostFirst(callers: readonly RefusedCaller[]): readonly RefusedCaller[] {
  const counts = new Map<string, number>();
  for (const { name, count } of callers) counts.set(name, (counts.get(name) ?? 0) + count);
  return Array.from(counts, ([name, count]) => ({ name, count })).sort((a, b) => b.count - a.count);
}

function readEvent(raw: unknown): ProtectorEvent | undefined {
  const { involvedObject, reason, message, count, lastTimestamp, source } = fieldsOf(raw);
  const { kind, namespace, name, uid } = fieldsOf(involvedObject);
  if (kind !== "PodProtector" || typeof name !== "string" || typeof reason !== "string") return undefined;
  const { component } = fieldsOf(source);
  return {
    protector: objectKey(typeof namespace === "string" ? namespace : undefined, name),
    uid: typeof uid === "string" ? uid : undefined,
    reason,
    message: typeof message === "string" ? message : "",
    count: typeof count === "number" && count > 0 ? count : 1,
    lastAt: parseTime(lastTimestamp),
    component: typeof component === "string" ? component : "",
  };
}

export interface SeenTombstone {
  readonly protector: ObjectKey;
  /** The newest Event says that it is no longer in force. */
  readonly isSaidToBeOver: boolean;
  readonly uid: string;
  /** The last word of a webhook about it. */
  readonly lastAt: EpochMicros | undefined;
}

const reason = "PodProtectorLost";
/** In the Event of one that is no longer in force, whatever the cause (webhook/tombstone-report.ts). */
const ended = "no longer in force";

/**
 * Those that an Event speaks of, and that are neither there nor let go. `present`: the PodProtectors that are there;
 * another one under its name ends a tombstone. `state`: undefined when it cannot be read. No Event hides another one.
 */
export function seenTombstones(
  events: readonly ProtectorEvent[],
  present: ReadonlySet<ObjectKey>,
  state: GeneratorState | undefined,
): readonly SeenTombstone[] {
  const byUID = Map.groupBy(
    events.filter((event) => event.reason === reason && event.uid !== undefined),
    ({ uid }) => uid ?? "",
  );
  return Array.from(byUID).flatMap(([uid, ofOne]): SeenTombstone[] => {
    const newest = ofOne.reduce((best, one) => ((one.lastAt ?? 0) >= (best.lastAt ?? 0) ? one : best));
    if (present.has(newest.protector) || (state !== undefined && isLetGo(state, uid))) return [];
    const { protector, lastAt, message } = newest;
    return [{ protector, uid, lastAt, isSaidToBeOver: message.includes(ended) }];
  });
}
