/** What goes wrong in a world, each class at random times of its own (actors/strikes/periods.ts). */

/** In the order in which a seed draws them, as all lists here. */
export const drawnFirst = [
  "latency",
  "resets",
  "partitions",
  "watch-lag",
  "broken-watches",
  "stale-lists",
  "server-errors",
  "conflicts",
  "lost-responses",
  "server-restarts",
  "stalled-commits",
  "stale-reviews",
  "slow-reviews",
  "crashes",
  "rollouts",
  "pauses",
  "clocks",
  "flapping-pods",
  "relabelled-pods",
  "edits",
  "erasures",
  "disasters",
  "evictions",
  "other-refusals",
  "late-cells",
  "settings",
] as const;
/** Drawn after all others, so that what a seed draws besides does not depend on them. */
export const drawnLast = [
  "bystanders",
  "odd-deployments",
  "hostile-protectors",
  "go-components",
  "forbidden-fences",
  "core-policies",
  "odd-reviews",
] as const;
/** These came later still, and are drawn after everything else. */
export const newest = ["odd-answers", "small-pages", "outages", "namespace-labels", "losses"] as const;
/**
 * What people, controllers and disasters do to Deployments and to nodes, all day long. Drawn last, so that all else
 * that a seed draws is what it is without them.
 */
export const sourceClasses = [
  "source-edits",
  "autoscaling",
  "cascades",
  "vanished-sources",
  "drains",
  "node-loss",
] as const;
/** What the core loses (actors/strikes/core-losses.ts). */
const coreLosses = ["lost-protectors"] as const;
/** What a tool changes everywhere at once (actors/strikes/mass-changes.ts). */
const massChanges = ["mass-changes"] as const;
/** What happens to a whole core at once (actors/strikes/core-losses.ts). */
const coreDisasters = ["wiped-core", "deleted-crd"] as const;
/** What people have namespaces in (actors/people/modes.ts). Drawn after the size and the sources of the world. */
export const modes = ["modes"] as const;
/** What lasts as long as silence does, or the hours of people, and what people do meanwhile. Drawn later. */
export const longOnes = ["absences", "full-cores", "cell-leases", "lost-nodes", "passing-sources"] as const;
/**
 * Machines that sleep (actors/strikes/suspensions.ts), proxies that drop bookmarks, clocks of nodes, which write the
 * Ready times of pods, evictions with preconditions, which fit or do not, and pods of other owners
 * (actors/strangers.ts). Drawn after everything else. A class that is new comes last.
 */
export const latest = ["suspensions", "lost-bookmarks", "node-clocks", "preconditions", "strangers-pods"] as const;
/** Drawn when nearly all else of a plan has been. */
export const drawnAfterAll = [...sourceClasses, ...coreLosses, ...massChanges, ...coreDisasters] as const;
const drawnLate = [...drawnLast, ...newest, ...drawnAfterAll, ...modes, ...longOnes, ...latest] as const;
/** Faults that a seed switches on or off together. */
export const faultClasses = [...drawnFirst, ...drawnLate] as const satisfies readonly string[];
/**
 * Faults that even a correct guard cannot hold against in full (docs/accounting.md): drawn only on demand. Beside all
 * other faults restores hold in nearly all worlds, but not in all: a core's new history may reach the very version of
 * an object that a process still knows from the old one, and then a compare-and-swap cannot tell them apart.
 */
export const onDemand = ["restores", "old-crd", "last-known-quota", "webhook-dry-runs"] as const;
export const lateFaults: ReadonlySet<string> = new Set(drawnLate);
export type FaultClass = (typeof faultClasses)[number] | (typeof onDemand)[number];
