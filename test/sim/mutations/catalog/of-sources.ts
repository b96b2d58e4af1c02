/** Mutations of the generator: what a source asks for, and when its PodProtector is let go. */
import { type Mutation } from "../mutation.ts";

const only = ["source-edits", "vanished-sources"] as const;
const plan = { hasGenerator: true } as const;
const exact = { ...plan, percentRounding: "at-least-one", singleReplica: "drainable" } as const;

export const mutationsOfSources: readonly Mutation[] = [
  {
    name: "floor-is-always-zero",
    why: "the floor is replicas less what may go at once",
    file: "sources/floor.ts",
    find: `const minAvailable = Math.max(0, replicas - mayGo);`,
    replace: `const minAvailable = 0;`,
    only,
    plan,
  },
  {
    name: "vanished-source-releases",
    why: "a Deployment that merely vanishes leaves its PodProtector in force",
    file: "generator/decide.ts",
    find: `if (isReleased(stored.protector))\n`,
    replace: `if (stored === stored)\n`,
    only,
    plan,
  },
  {
    name: "percentage-is-one-off",
    why: "a percentage that lets more than one pod go rounds down by default",
    file: "sources/floor.ts",
    find: `return Math.max(1, Math.floor(share));`,
    replace: `return Math.max(1, Math.floor(share) + 1);`,
    only,
    plan: exact,
  },
  {
    name: "zero-lets-one-go",
    why: "a number is taken at its word, 0 included",
    file: "sources/floor.ts",
    find: `  if (typeof value === "number") return Math.max(0, value);`,
    replace: `  if (typeof value === "number") return Math.max(1, value);`,
    only,
    plan,
  },
  {
    name: "min-ready-seconds-dropped",
    why: "minReadySeconds is the Deployment's",
    file: "generator/sources/source-plan.ts",
    find: `minReadySeconds: Math.max(0, spec.minReadySeconds),`,
    replace: `minReadySeconds: 0,`,
    only,
    plan,
  },
  {
    name: "selector-drift-stays",
    why: "an edited selector is repaired",
    file: "generator/protectors/drift.ts",
    find: `if (!isSameSelector(actual.spec.selector, wanted.spec.selector)) {`,
    replace: `if (actual.spec.selector === undefined) {`,
    only,
    plan,
  },
  {
    name: "source-is-not-held",
    why: "the Deployment gets its finalizer before the PodProtector is made",
    file: "generator/protectors/protector-lifecycle.ts",
    find: `const isThere = await this.#patchSourceFinalizers(source, finalizers, signal);`,
    replace: `const isThere = !signal.aborted;`,
    only,
    plan,
  },
  {
    name: "mark-of-release-stays",
    why: "a mark of release goes when the source is there",
    file: "generator/protectors/drift.ts",
    find: `const outdated = [annotations.released, annotations.overridden, annotations.mode, annotations.keep]`,
    replace: `const outdated = [annotations.overridden, annotations.mode, annotations.keep]`,
    only,
    plan,
  },
  {
    name: "sources-share-a-selector",
    why: "each PodProtector has the selector of its own source",
    file: "generator/sources/source-plan.ts",
    find:
      `export function planFor(\n` +
      `  source: SourceRecord,\n` +
      `  rule: FloorRule,\n` +
      `  { mode, healthCriterion }: OfNamespace = unlabelled,\n` +
      `  { isCriterionDropped = false, areOwnersDropped = false, keeps }: PlanOptions = {},\n` +
      `): WantedProtector {\n` +
      `  const { kind, namespace, name, uid, overrides, spec } = source;\n`,
    replace:
      `const selectors: Record<string, PodProtectorSpec["selector"]> = {};\n` +
      `export function planFor(\n` +
      `  source: SourceRecord,\n` +
      `  rule: FloorRule,\n` +
      `  { mode, healthCriterion }: OfNamespace = unlabelled,\n` +
      `  { isCriterionDropped = false, areOwnersDropped = false, keeps }: PlanOptions = {},\n` +
      `): WantedProtector {\n` +
      `  const { kind, namespace, name, uid, overrides } = source;\n` +
      `  const spec = { ...source.spec, selector: (selectors[namespace] ??= source.spec.selector) };\n`,
    only,
    plan,
  },
  {
    name: "on-delete-takes-as-an-update",
    why: "nothing but its owner's word lets pods of a StatefulSet with OnDelete go",
    file: "sources/stateful-set.ts",
    find: `const takenByUpdate = isUpdatedByHand ? 0 : Math`,
    replace: `const takenByUpdate = isUpdatedByHand ? replicas : Math`,
    only,
    plan: exact,
  },
  {
    name: "stateful-set-update-takes-none",
    why: "a rolling update of a StatefulSet takes at least one pod",
    file: "sources/stateful-set.ts",
    find: `Math.max(1, podsOf(maxUnavailable, replicas, Math.floor));`,
    replace: `podsOf(maxUnavailable, replicas, Math.floor);`,
    only,
    plan: exact,
  },
  {
    name: "stateful-sets-lend-a-quarter",
    why: "a StatefulSet lends one pod where nothing is set",
    file: "sources/stateful-set.ts",
    find: `const defaultMaxUnavailable = 1;`,
    replace: `const defaultMaxUnavailable = "25%";`,
    only,
    plan: exact,
  },
  {
    name: "replica-sets-lend-a-half",
    why: "a ReplicaSet lends a quarter of its pods",
    file: "sources/replica-set.ts",
    find: `maxUnavailable: defaultShare, takenByUpdate`,
    replace: `maxUnavailable: "50%", takenByUpdate`,
    only,
    plan: exact,
  },
  {
    name: "replication-controllers-select-everything",
    why: "the selector of a ReplicationController is the labels that it has",
    file: "sources/replication-controller.ts",
    find: `selector: { matchLabels },`,
    replace: `selector: Object.keys(matchLabels).length > 0 ? {} : { matchLabels },`,
    only,
    plan,
  },
  {
    name: "replication-controllers-keep-none",
    why: "a ReplicationController lends a quarter of its pods",
    file: "sources/replication-controller.ts",
    find: `maxUnavailable: defaultShare, takenByUpdate: 0`,
    replace: `maxUnavailable: defaultShare, takenByUpdate: replicas`,
    only,
    plan,
  },
  {
    name: "every-terminating-source-is-kept",
    why: "but for Deployments, a terminating source asks for nothing",
    file: "generator/sources/source-choice.ts",
    find: `if (isTerminating && !(this.#untilZero.has(kind.id) && spec.replicas > 0)) return false;`,
    replace: `if (isTerminating && !(this.#untilZero.size > 0 && spec.replicas > 0)) return false;`,
    only,
    plan: { ...plan, protectsNonZero: true },
  },
];
