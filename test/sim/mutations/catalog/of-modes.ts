/** Mutations of modes by namespace, and of PodProtectors in shadow (docs/generator.md#modes). */
import { type Mutation } from "../mutation.ts";

/** Namespaces and PodProtectors are switched, sources come and go, and pods are deleted all the time. */
const inWorlds: Pick<Mutation, "only" | "plan"> = {
  only: ["modes", "source-edits"],
  plan: { hasGenerator: true, cells: ["a"], podsPerCell: 4, minAvailable: 3, webhooks: 1, deletionsPerSecond: 2 },
};
/** A tool switches a whole namespace. */
const masses: Pick<Mutation, "only" | "plan"> = { ...inWorlds, only: ["modes", "mass-changes"] };

export const mutationsOfModes: readonly Mutation[] = [
  {
    name: "shadow-refuses",
    why: "a PodProtector in shadow refuses nothing",
    file: "webhook/decide/several-protectors.ts",
    find: `return !isShadow && !this.#options.dryRun;`,
    replace: `return !this.#options.dryRun;`,
    ...inWorlds,
  },
  {
    name: "all-are-in-shadow",
    why: "a PodProtector that is not in shadow refuses",
    file: "webhook/decide/several-protectors.ts",
    find: `return !isShadow && !this.#options.dryRun;`,
    replace: `return isShadow !== isShadow;`,
    ...inWorlds,
  },
  {
    name: "shadow-is-not-recorded",
    why: "what a PodProtector in shadow would have refused is recorded all the same",
    file: "accounting/reserve/reservation.ts",
    find: `return { ...forced, verdict: { ...forced.verdict, insteadOf: strict.verdict } };`,
    replace: `return { verdict: { ...forced.verdict, isRecorded: false, insteadOf: strict.verdict } };`,
    scenario: "73b-shadow-under-lag",
  },
  {
    name: "shadow-lasts",
    why: "the annotation goes when the namespace is enforced again",
    file: "generator/protectors/drift.ts",
    find: `const outdated = [annotations.released, annotations.overridden, annotations.mode, annotations.keep]`,
    replace: `const outdated = [annotations.released, annotations.overridden, annotations.keep]`,
    ...inWorlds,
  },
  {
    name: "mode-label-is-ignored",
    why: "the label of the namespace decides, not the default",
    file: "generator/sources/namespace-modes.ts",
    find: `(label?.value ?? this.#default(name))`,
    replace: `this.#default(name)`,
    ...inWorlds,
  },
  {
    name: "unreadable-mode-is-off",
    why: "a label that cannot be read changes nothing",
    file: "generator/sources/namespace-modes.ts",
    find: `label === "unreadable" ? before?.mode :`,
    replace: `label === "unreadable" ? "off" :`,
    ...inWorlds,
  },
  {
    name: "modes-are-not-followed",
    why: "what a label changes is looked at when it changes",
    file: "generator/sources/namespace-modes.ts",
    find: `for (const onChanged of this.#onChanged) onChanged(namespace);`,
    replace: `for (const onChanged of this.#onChanged) if (namespace === "") onChanged(namespace);`,
    ...inWorlds,
  },
  {
    name: "switched-off-is-our-own",
    why: "a namespace that is switched off by its label is a change like a deletion",
    file: "generator/mass-changes/change.ts",
    find: `if (subject.switched !== undefined) return edited(switchedBy(subject.switched, rule));`,
    replace: ``,
    ...masses,
  },
  {
    name: "shadow-is-our-own",
    why: "a namespace that is put in shadow by its label is a change like a deletion",
    file: "generator/mass-changes/change.ts",
    find: `const edit = subject.switched && switchedBy(subject.switched, rule);`,
    replace: `const edit = subject.switched?.by?.manager === "" ? switchedBy(subject.switched, rule) : undefined;`,
    ...masses,
  },
  {
    name: "shadow-needs-no-leave",
    why: "what is put in shadow is asked about first",
    file: "generator/decide.ts",
    find: `return isSwitched && minAvailable > 0 ? "shadow" : Math.min(minAvailable, wanted.spec.minAvailable);`,
    replace: `return isSwitched && minAvailable < 0 ? "shadow" : Math.min(minAvailable, wanted.spec.minAvailable);`,
    scenario: "73e-many-in-shadow",
  },
  {
    name: "default-off-releases",
    why: "without the labels of namespaces a default of off takes nothing away",
    file: "generator/sources/namespace-modes.ts",
    find: `!this.#hasLabels && mode !== "off" ? mode`,
    replace: `!this.#hasLabels ? mode`,
    scenario: "73f-off-without-labels",
  },
];
