/** Mutations of when a PodProtector is really gone (docs/webhook.md#tombstones), and of those that are made again. */
import { type Mutation } from "./mutation.ts";

export const mutationsOfVanishing: readonly Mutation[] = [
  {
    name: "absence-is-release",
    why: "a PodProtector that is only missing in a list stays in force",
    file: "webhook/protector/departure.ts",
    find: `  switch (last.maker) {`,
    replace: `  if (!isDeletionSeen) return { kind: "gone", why: "deleted" };\n  switch (last.maker) {`,
    scenario: "45-erased-unseen",
  },
  {
    name: "deletion-with-the-crd-is-believed",
    why: "the deletion of the CRD releases no PodProtector, though it sends their DELETED events",
    file: "webhook/protector/departure.ts",
    find: `    case "gone":\n      return remains;`,
    replace: `    case "gone":\n      return believed;`,
    scenario: "45b-crd-deleted",
  },
  {
    name: "deletion-of-ours-is-believed",
    why: "what this generator makes is not released by a DELETED event",
    file: "webhook/protector/departure.ts",
    find: `    case "generator":\n      return remains;`,
    replace: `    case "generator":\n      return isDeletionSeen ? afterDeletion(evidence) : remains;`,
    scenario: "45c-generated-and-deleted",
  },
  {
    name: "released-names-wait-too",
    why: "a PodProtector that is made again after its release is counted at once",
    file: "aggregator/former-protectors.ts",
    find: `    if (Object.hasOwn(protector.metadata.annotations ?? {}, annotations.released)) return;`,
    replace: ``,
    scenario: "45d-released-and-made-again",
  },
  {
    name: "webhook-reads-no-list-of-releases",
    why: "the generator's list tells of a release whose mark was not seen",
    file: "webhook/protector/tombstones.ts",
    find: `entry.isLetGo ||= state !== undefined && isLetGo(state, entry.tombstone.uid);`,
    replace: ``,
    scenario: "45e-released-unseen",
  },
  {
    name: "made-again-and-judged-at-once",
    why: "a webhook that had a tombstone takes no counts of the new object for a settle window",
    file: "webhook/protector/protector.ts",
    find: `      isRemade: this.#isSettling,`,
    replace: ``,
    scenario: "46-made-again-unseen",
  },
  {
    name: "made-again-and-counted-at-once",
    why: "first counts wait a settle window where a PodProtector of that name vanished without release",
    file: "accounting/count/cell-plan.ts",
    find: `  if (memory.remadeSinceMs === undefined) return sinceMs;`,
    replace: `  if (sinceMs !== undefined) return sinceMs;`,
    scenario: "46b-made-again",
  },
];
