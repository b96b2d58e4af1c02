/** Mutations of what holds mass changes (docs/mass-changes.md). */
import { type Mutation } from "../mutation.ts";

/** Generators come and go while a tool takes the floors of a dozen Deployments; little else is there to crash. */
const inWorlds: Pick<Mutation, "only" | "plan"> = {
  only: ["mass-changes", "crashes"],
  plan: { hasGenerator: true, cells: ["a"], podsPerCell: 3, minAvailable: 1, webhooks: 1, aggregatorsPerCell: 1 },
};

export const mutationsOfMassChanges: readonly Mutation[] = [
  {
    name: "many-changes-are-not-too-many",
    why: "changes of one cause that are too many at once are held",
    file: "generator/mass-changes/change-window.ts",
    find: `if (isMoreInAWindow(ofCause, ofCauseMax)) return cause.text;`,
    replace: ``,
    ...inWorlds,
  },
  {
    name: "bursts-are-judged-at-once",
    why: "a change is judged after a while, so that a burst is held whole",
    file: "api/v1alpha1/names.ts",
    find: `export const deepFallDelayMs = 2_000;`,
    replace: `export const deepFallDelayMs = 0;`,
    scenario: "49-mass-change",
  },
  {
    name: "approvals-are-not-looked-at",
    why: "a person lets held changes pass",
    file: "generator/mass-changes/held-changes.ts",
    find: `if (given !== undefined) {`,
    replace: `if (given !== undefined && given.text === "") {`,
    ...inWorlds,
  },
  {
    name: "restart-counts-anew",
    why: "a new leader counts the floors that were lowered before its term",
    file: "generator/mass-changes/former-term.ts",
    find: `if (cause === undefined) return undefined;`,
    replace: `return undefined;`,
    ...inWorlds,
  },
  {
    name: "passed-floors-are-counted-twice",
    why: "a floor that was let go does not count among those that are there, although the cache still shows it",
    file: "generator/mass-changes/floor-count.ts",
    find: ` || this.#passed.has(uid)) continue;`,
    replace: `) continue;`,
    scenario: "49d-mass-change-under-lag",
  },
  {
    name: "former-latches-are-left-alone",
    why: "a new leader ends the latches of the former one that hold nothing",
    file: "generator/mass-changes/held-changes.ts",
    find: `if (config.massChanges.policy !== "allow" && !(await this.#former.isRead(signal))) return;`,
    replace: ``,
    scenario: "49c-undone-over-a-restart",
  },
  {
    name: "restored-floors-are-taken-as-they-are",
    why: "floors that a restore of the core has lowered are judged, although PodProtector and Deployment agree",
    file: "generator/mass-changes/restored-floors.ts",
    find: `if (before?.uid !== uid || protector.spec.minAvailable >= before.minAvailable) return stored;`,
    replace: `if (before === before) return stored;`,
    scenario: "49e-restored-core",
  },
  {
    name: "falls-are-not-kept",
    why: "by the word of its owner a workload keeps its floor until a person approves",
    file: "generator/sources/kept.ts",
    find: `const isFall = (to === "release" ? 0 : to) < Math.min(atLeast, protector.spec.minAvailable);`,
    replace: `const isFall = (to === "release" ? 0 : to) < Math.min(0, atLeast);`,
    scenario: "49x-kept",
  },
  {
    name: "what-is-kept-goes-with-its-annotation",
    why: "a write that takes the annotation keep and the replicas is judged with it",
    file: "generator/sources/kept.ts",
    find: `const stored = keptNumberOf(protector.metadata) ?? 0;`,
    replace: `const stored = 0;`,
    scenario: "49y-kept-and-overwritten",
  },
  {
    name: "keep-is-taken-away-at-once",
    why: "taking keep away is held for ten minutes",
    file: "generator/sources/kept.ts",
    find: `export const takenAwayMs = 600_000;`,
    replace: `export const takenAwayMs = 0;`,
    scenario: "49y-kept-and-overwritten",
  },
  {
    name: "former-floors-are-taken-from-the-cache",
    why: "what a former leader lowered is listed live, since a watch that has fallen silent hides it",
    file: "generator/mass-changes/former-term.ts",
    find: `return compareResourceVersions(cached.resourceVersion, listed.resourceVersion) > 0 ? cached : listed;`,
    replace: `return cached;`,
    scenario: "49u-silent-watch",
  },
];
