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
  {
    name: "releases-have-an-age",
    why: "no clock decides which releases are remembered",
    file: "generator/protectors/releases.ts",
    find: `      const { releases, numbers, taken } = merged(state, changes,`,
    replace: `
      const oldMicros = 1000 * givenMs(this.#options.clock, 3_600_000);
      const young = state.releases.filter((one) => Math.abs(changes.releasedAt - one.releasedAt) < oldMicros);
      const { releases, numbers, taken } = merged({ ...state, releases: young }, changes,`,
  },
  {
    name: "kept-ones-stay-listed",
    why: "what is kept after all leaves the list of releases, or its loss would be taken for a release",
    file: "generator/protectors/releases.ts",
    find: `if (this.#cleared.has(digest) && !this.#inFlight.has(digest)) return true;`,
    replace: `if (this.#cleared.size >= 0) return true;`,
    scenario: "45o-kept-after-all",
  },
  {
    name: "generator-beats-without-its-marks",
    why: "the generator beats only when all silent cells are marked: its beat says that the others are not",
    file: "generator/cells/silent-cell-marks.ts",
    find: `if (!(await this.#mark(cell, signal))) return;`,
    replace: `await this.#mark(cell, signal);`,
    scenario: "43h-marks-that-fail",
  },
  {
    name: "ghosts-of-unread-leases-go",
    why: "while the Leases cannot be listed it is not known which cells are ghosts",
    file: "generator/cells/cell-removals.ts",
    find: `isGhost(cell) && leased()?.has(cell.cellID) === false ?`,
    replace: `isGhost(cell) && leased()?.has(cell.cellID) !== true ?`,
    scenario: "35b-ghost-or-new-cell",
  },
  {
    name: "entries-stand-by-their-counts-alone",
    why: "whoever admits in a cell that is leaving keeps it: its whole entry must stand unchanged",
    file: "generator/cells/leaving-cells.ts",
    find: `import { isDeepStrictEqual } from "node:util";`,
    replace: `import { isDeepStrictEqual as isEqual } from "node:util";
const isDeepStrictEqual = (before: CellStatus, now: CellStatus): boolean =>
  isEqual(before.aggregation, now.aggregation);`,
    scenario: "43i-admitted-while-retired",
  },
];
