/**
 * The steps of an uninstall, in the only safe order: whatever is cut off after any of them, pods and workloads can be
 * deleted, or the run can be started again. Each looks for what is left of its own, so that nothing depends on an
 * earlier run.
 */
import { finalizer } from "../../api/v1alpha1/names.ts";
import { definitionName } from "../../kube/pod-protectors.ts";
import { podProtectors } from "../../kube/resources.ts";
import { readCustomKinds } from "./custom-kinds.ts";
import { waitGeneratorGone } from "./generator-gone.ts";
import {
  definitionKind,
  findConfigurations,
  findDummyPods,
  findNamespaces,
  findOthers,
  findPrograms,
  findSettings,
} from "./inventory.ts";
import { findGuardedSources } from "./source-finalizers.ts";
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
