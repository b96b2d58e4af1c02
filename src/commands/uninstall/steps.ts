/**
 * The steps of an uninstall, in the only safe order: whatever is cut off after any of them, pods and workloads can be
 * deleted, or the run can be started again. Each looks for what is left of its own, so that nothing depends on an
 * earlier run. Between two of them no generator may be at work: it would put its finalizer back on what was released.
 * Clocks are not compared for that: a Lease that nobody renews for longer than it lasts is free.
 */
import { finalizer } from "../../api/v1alpha1/names.ts";
import { asKubeError } from "../../kube/kube-client.ts";
import { definitionName } from "../../kube/pod-protectors.ts";
import { leases, podProtectors } from "../../kube/resources.ts";
import { later, sleep } from "../../util/clock.ts";
import { readLease } from "../check/readers/leases.ts";
import { reading } from "../clusters/reading.ts";
import {
  definitionKind,
  findConfigurations,
  findDummyPods,
  findGeneratorPods,
  findNamespaces,
  findOthers,
  findPrograms,
  findSettings,
} from "./inventory.ts";
import { findGuardedSources, readCustomKinds } from "./source-finalizers.ts";
import { find, type Found, nameOf, type Obstacle, remove, removeFinalizer, type Site, type Target } from "./target.ts";

/** What the cluster is to Podseidon. */
export type Part = "core" | "worker" | "single";
export const parts: readonly Part[] = ["core", "worker", "single"];

export interface Step {
  /** What is done, and what for: a sentence without its full stop. */
  readonly title: string;
  /** What is left to be done. Rejects only for programmer errors. */
  find(site: Site): Promise<Found>;
  /** Whether `change` has something to do with it; else it only takes time to go. */
  isOpen(target: Target): boolean;
  change(site: Site, target: Target): Promise<Obstacle | undefined>;
  /** Undefined = it is over, else why it is not. */
  afterwards?(site: Site, tell: (line: string) => void): Promise<Obstacle | undefined>;
}

const deletion = {
  isOpen: ({ isTerminating }: Target) => !isTerminating,
  change: remove,
};

const configurations: Step = {
  title: "Delete the webhook configurations: from then on pods can be deleted whatever runs",
  find: findConfigurations,
  ...deletion,
};

const programs: Step = { title: "Delete the Deployments of Podseidon", find: findPrograms, ...deletion };

const programsOfCore: Step = {
  ...programs,
  title: "Delete the Deployments of Podseidon, and wait until no generator leads: it would put its finalizer back",
  afterwards: waitGeneratorGone,
};

const sources: Step = {
  title: "Take the finalizer of the generator off the workloads, so that they can be deleted",
  find: findGuardedSources,
  isOpen: () => true,
  change: (site, target) => removeFinalizer(site, target, finalizer),
};

const protectors: Step = {
  title: "Delete all PodProtectors, those that people made as well, and take the finalizer off",
  find: (site) => find(site, { kind: "PodProtector", resource: podProtectors }, () => true),
  isOpen: ({ isTerminating, finalizers }) => !isTerminating || finalizers.includes(finalizer),
  // In this order nobody takes one without the finalizer for one that is to stay.
  change: (site, target) => (target.isTerminating ? removeFinalizer(site, target, finalizer) : remove(site, target)),
};

const definition: Step = {
  title: "Delete the CRD",
  find: (site) => find(site, definitionKind, () => true, { fieldSelector: `metadata.name=${definitionName}` }),
  ...deletion,
};

const dummyPods: Step = { title: "Delete the dummy pods of the update-trigger", find: findDummyPods, ...deletion };

const settings: Step = {
  title: "Delete rights, policies, accounts, Leases, ConfigMaps and Secrets of Podseidon",
  find: findSettings,
  ...deletion,
};

const namespaces: Step = {
  title: "Delete the namespaces of Podseidon that hold nothing of others",
  find: findFreeNamespaces,
  ...deletion,
};

export function stepsOf(part: Part): readonly Step[] {
  // A core has no webhook configuration, unless by force.
  const core = [configurations, programsOfCore, sources, protectors, definition];
  return [...(part === "worker" ? [configurations, programs] : core), dummyPods, settings, namespaces];
}

/** Others that are named for a namespace that stays. */
const namedMax = 3;

async function findFreeNamespaces(site: Site): Promise<Found> {
  const { targets, obstacles } = await findNamespaces(site);
  const open = targets.filter(deletion.isOpen);
  if (open.length === 0) return { targets, obstacles };
  const custom = await readCustomKinds(site, { mustScale: false });
  const free = targets.filter(({ isTerminating }) => isTerminating);
  const kept: string[] = [];
  const problems = [...obstacles, ...custom.obstacles];
  for (const target of open) {
    const others = await findOthers(site, target.name, custom.kinds);
    problems.push(...others.obstacles);
    if (others.targets.length === 0) free.push(target);
    else kept.push(`Namespace ${target.name} stays: it holds ${othersText(others.targets)}, not of Podseidon`);
  }
  // Of a namespace that cannot be looked into nobody knows.
  return { targets: problems.length === 0 ? free : [], obstacles: problems, kept };
}

function othersText(targets: readonly Target[]): string {
  const names = targets.slice(0, namedMax).map((target) => `${target.kind} ${nameOf(target)}`);
  const more = targets.length - names.length;
  return more === 0 ? names.join(", ") : `${names.join(", ")} and ${more} more`;
}

/** As in the manifests. */
const election = "podseidon-generator";
/** A generator's Lease lasts 15 s by default; a leader that cannot renew it stops before. */
const quietMs = 20_000;
/** Pods have 30 s to end, and a node may be slow; then nobody has ended them. */
const waitMs = 150_000;
const pollMs = 1_000;

/** Undefined = none leads, and no pod of one is left. */
export async function waitGeneratorGone(site: Site, tell: (line: string) => void): Promise<Obstacle | undefined> {
  const { clock, signal } = site;
  const end = later(clock.monotonicMs(), waitMs);
  let seen: string | undefined;
  let quietSince = clock.monotonicMs();
  for (let isTold = false; ; isTold = true) {
    const [pods, lease] = [await findGeneratorPods(site), await readHolder(site)];
    const failed = pods.obstacles[0] ?? (lease.ok ? undefined : lease.obstacle);
    if (failed?.isFinal === true) return failed;
    const renewal = lease.ok ? lease.renewal : seen;
    if (renewal !== seen) quietSince = clock.monotonicMs();
    seen = renewal;
    const isQuiet = seen === undefined || clock.monotonicMs() >= later(quietSince, quietMs);
    const holder = lease.ok ? (lease.holder ?? "") : "";
    if (failed === undefined && pods.targets.length === 0 && isQuiet) return undefined;
    if (clock.monotonicMs() >= end || signal.aborted) return failed ?? stillThere(pods.targets.length, holder, site);
    if (!isTold) tell("waiting until no generator leads");
    await sleep(clock, pollMs, signal);
  }
}

type ReadHolder =
  /** Undefined = nobody holds it. `renewal` changes whenever it is renewed. */
  | { readonly ok: true; readonly holder: string | undefined; readonly renewal: string | undefined }
  | { readonly ok: false; readonly obstacle: Obstacle };

async function readHolder({ client, cluster, namespace, signal }: Site): Promise<ReadHolder> {
  const access = { cluster, verb: "get", resource: leases, namespace, name: election, role: "cluster-admin" } as const;
  const read = await reading(access, () => readLease(client, namespace, election, signal));
  if (!read.ok) {
    const isFinal = ["forbidden", "unauthorized", "aborted"].includes(asKubeError(read.error).kind);
    return { ok: false, obstacle: { isFinal, problem: read.problem } };
  }
  const { holder, renewedAt } = read.value ?? { holder: "", renewedAt: undefined };
  if (holder === "") return { ok: true, holder: undefined, renewal: undefined };
  return { ok: true, holder, renewal: `${holder} ${renewedAt ?? ""}` };
}

function stillThere(pods: number, holder: string, { namespace }: Site): Obstacle {
  const problem =
    pods > 0
      ? `${pods} pods of the generator are still there in ${namespace}`
      : `the generator ${holder} still leads, though its Deployment is gone: it runs elsewhere. Stop it there first`;
  return { isFinal: true, problem };
}
