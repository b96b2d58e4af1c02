/** Mutations of when a PodProtector is gone (docs/generator.md#when-a-podprotector-is-gone). */
import { type Mutation } from "../mutation.ts";

export const mutationsOfReleases: readonly Mutation[] = [
  {
    name: "vanished-protector-stays-away",
    why: "a PodProtector that vanishes while its Deployment is there is made again at once",
    file: "generator/controller.ts",
    find: `onEvent: (event) => this.#protectorEvent(event),`,
    replace: `onEvent: () => {},`,
    scenario: "47-vanished-protector",
  },
  {
    name: "lists-that-missed-versions-are-trusted",
    why: "a PodProtector that was made and lost again between two lists is made again",
    file: "generator/controller.ts",
    find: `if (changed === undefined) lookAtAll();`,
    replace: ``,
    scenario: "47r-made-and-lost-unseen",
  },
  {
    name: "vanished-with-its-source-stays-away",
    why: "a PodProtector that vanishes with its Deployment is made again, and dangles",
    file: "generator/decide.ts",
    find: `if (lost !== undefined && holder.kind === "none") return { kind: "recreate", lost };`,
    replace: ``,
    scenario: "47b-wiped-core",
  },
  {
    name: "list-of-releases-is-not-read",
    why: "a release whose mark a relist has hidden is no loss",
    file: "generator/protectors/recreation.ts",
    find: `if (isByHand || (await vanished.fateOf(lost, signal)) !== "lost") {`,
    replace: `if (isByHand) {`,
    scenario: "47c-unseen-release",
  },
  {
    name: "releases-are-not-listed",
    why: "a release is in the list before the object is marked",
    file: "generator/controller.ts",
    find: `if (!isListed && !this.#releases.mayRelease(stored.uid, cause, stored.key)) return false;`,
    replace: ``,
    scenario: "47c-unseen-release",
  },
];
