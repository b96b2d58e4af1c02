/**
 * The CRD's way back: its objects' finalizers go, it goes with the last of them, and is made again. Not while a
 * generator leads that would make objects without status. One that was stopped a moment ago still has its name on its
 * Lease, so the Lease is watched: a leader renews it, and a stopped one does not.
 */
import { asList, fieldsOf, type Json } from "../../api/json.ts";
import { isKubeError, type KubeClient, resourcePath } from "../../kube/kube-client.ts";
import { definitionName, readDefinition } from "../../kube/pod-protectors.ts";
import { customResourceDefinitions, podProtectors } from "../../kube/resources.ts";
import { type Clock, later, sleep } from "../../util/clock.ts";
import { listed } from "../clusters/reading.ts";
import { ownDefinition } from "../../carried/definition.ts";
import { isAway } from "../check/findings/generator.ts";
import { readLease } from "../check/readers/leases.ts";

export interface RestoreSite {
  readonly core: KubeClient;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** API servers finish a CRD within seconds; a busy one takes longer. */
const waitMs = 60_000;
const pollMs = 500;
/** Requests at once: hundreds of objects in seconds, and no burden. */
const atOnce = 8;

/** All objects as they are, valid or not. Throws KubeError. */
export function listRaw({ core, signal }: RestoreSite): Promise<readonly Json[]> {
  return listed(core, { resource: podProtectors }, fieldsOf, { signal, pageSize: 250 });
}

/**
 * Takes the finalizers off those of `items`, which are terminating, that are as they were read: others may hold what is
 * not saved yet. Resolves to how many are not. Throws KubeError.
 */
export async function stripFinalizers({ core, signal }: RestoreSite, items: readonly Json[]): Promise<number> {
  let changed = 0;
  await inTurns(items, async (item) => {
    const { namespace, name, uid, resourceVersion, finalizers } = fieldsOf(item["metadata"]);
    if (asList(finalizers).length === 0) return;
    try {
      await core.request({
        method: "PATCH",
        path: resourcePath(podProtectors, { namespace: String(namespace), name: String(name) }),
        contentType: "application/merge-patch+json",
        body: { metadata: { uid, resourceVersion, finalizers: null } },
        signal,
      });
    } catch (error) {
      if (isKubeError(error, "conflict")) changed += 1;
      else if (!isKubeError(error, "notFound")) throw error;
    }
  });
  return changed;
}

/** Resolves when the CRD is gone; false = it is still there after a minute. Throws KubeError. */
export function waitGone(site: RestoreSite): Promise<boolean> {
  return poll(site, async () => {
    const read = await readDefinition(site.core, { signal: site.signal });
    if (read.kind === "forbidden" || read.kind === "failed") throw read.error;
    return read.kind === "gone";
  });
}

/** One that somebody else has made meanwhile is as good. Throws KubeError. */
export async function createDefinition({ core, signal }: RestoreSite): Promise<void> {
  try {
    await core.request({
      method: "POST",
      path: resourcePath(customResourceDefinitions),
      body: ownDefinition(),
      signal,
    });
  } catch (error) {
    if (!isKubeError(error, "alreadyExists")) throw error;
  }
}

/** Resolves when objects can be created; false = not within a minute. Throws KubeError. */
export function waitEstablished(site: RestoreSite): Promise<boolean> {
  const path = resourcePath(customResourceDefinitions, { name: definitionName });
  return poll(site, async () => {
    const { status } = fieldsOf(await site.core.request({ method: "GET", path, signal: site.signal }));
    const conditions = asList(fieldsOf(status)["conditions"]).map(fieldsOf);
    if (!conditions.some(({ type, status: value }) => type === "Established" && value === "True")) return false;
    // It is established a moment before every API server serves it.
    return isServed(site);
  });
}

async function isServed({ core, signal }: RestoreSite): Promise<boolean> {
  try {
    await core.request({ method: "GET", path: resourcePath(podProtectors), query: { limit: 1 }, signal });
    return true;
  } catch (error) {
    if (isKubeError(error, "notFound")) return false;
    throw error;
  }
}

async function poll({ clock, signal }: RestoreSite, isDone: () => Promise<boolean>): Promise<boolean> {
  const end = later(clock.monotonicMs(), waitMs);
  for (;;) {
    if (await isDone()) return true;
    if (clock.monotonicMs() >= end || signal.aborted) return false;
    await sleep(clock, pollMs, signal);
  }
}

/** Works on all `items`, a few at once. Rejects with the first failure. */
export async function inTurns<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const rest = items[Symbol.iterator]();
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      for (const item of rest) await work(item);
    }),
  );
}

/** As in the manifests. */
const election = "podseidon-generator";
/** A generator's Lease lasts 15 s by default; a leader that cannot renew it stops before. */
const quietMs = 20_000;
const leasePollMs = 1_000;

/**
 * Who leads; undefined = nobody. Waits for 20 s at most, and calls `tell` before it does. Clocks decide only where they
 * say that the last renewal was long ago. Throws KubeError.
 */
export async function findLeader(
  { core, clock, signal }: RestoreSite,
  namespace: string,
  tell: (line: string) => void,
): Promise<string | undefined> {
  const end = later(clock.monotonicMs(), quietMs);
  let seen: string | undefined;
  for (;;) {
    const lease = await readLease(core, namespace, election, signal);
    if (lease === undefined || isAway(lease, clock.epochMicros())) return undefined;
    const renewal = `${lease.holder} ${lease.renewedAt ?? ""}`;
    if (seen !== undefined && renewal !== seen) return lease.holder;
    if (clock.monotonicMs() >= end) return undefined;
    if (seen === undefined) tell(`wait up to 20 s, to see whether the generator ${lease.holder} has stopped`);
    seen = renewal;
    await sleep(clock, leasePollMs, signal);
  }
}
