/** Rules of modes by namespace, and of PodProtectors in shadow, switched off for scenarios. */
import { type Mutation } from "../mutations/mutation.ts";

export const rulesOfModes: readonly Mutation[] = [
  {
    name: "shadow-refuses",
    why: "a PodProtector in shadow refuses nothing",
    file: "webhook/decide/several-protectors.ts",
    find: `return isShadow || this.#options.dryRun;`,
    replace: `return this.#options.dryRun;`,
  },
  {
    name: "shadow-is-not-recorded",
    why: "what a PodProtector in shadow would have refused is recorded all the same",
    file: "accounting/reserve/reservation.ts",
    find: `return { ...forced, verdict: { ...forced.verdict, insteadOf: strict.verdict } };`,
    replace: `return { verdict: { ...forced.verdict, isRecorded: false, insteadOf: strict.verdict } };`,
  },
  {
    name: "shadow-lasts",
    why: "the annotation goes when the namespace is enforced again",
    file: "generator/drift.ts",
    find: `const outdated = [annotations.released, annotations.overridden, annotations.mode]`,
    replace: `const outdated = [annotations.released, annotations.overridden]`,
  },
  {
    name: "lost-shadow-refuses",
    why: "a tombstone is in the mode that the PodProtector was in",
    file: "webhook/protector/protector.ts",
    find: `return (this.#unusable ?? this.view)?.isShadow === true;`,
    replace: `return this.#tombstone === undefined && (this.#unusable ?? this.view)?.isShadow === true;`,
  },
  {
    name: "switched-off-is-our-own",
    why: "a namespace that is switched off by its label is a change like a deletion",
    file: "generator/mass-changes/change.ts",
    find: `if (subject.switchedOff !== undefined) return edited(`,
    replace: `if (subject.switchedOff === null) return edited(`,
  },
];
