/** Mutations of who is silent, and what a silent cell is worth (docs/accounting.md#silent-cells). */
import { type Mutation } from "./mutation.ts";

export const mutationsOfSilence: readonly Mutation[] = [
  {
    name: "silent-cells-still-count",
    why: "what cannot be seen is not available",
    file: "webhook/protector/core.ts",
    find: `return state.kind === "silent" ? this.clock.monotonicMs() - state.since : undefined;`,
    replace: `return undefined;`,
    scenario: "42-lost-cell",
  },
  {
    name: "buckets-of-silent-cells-count",
    why: "a silent cell contributes 0, and never less",
    file: "accounting/reserve/quota-figures.ts",
    find: `(cell.silentForMs === undefined ? cell.unconfirmed : 0)`,
    replace: `cell.unconfirmed`,
    scenario: "42b-promised-in-a-lost-cell",
  },
  {
    name: "holes-do-not-matter",
    why: "silence counts only where the observer has looked",
    file: "accounting/silence/cell-silence.ts",
    find: `if (previousSentAt === undefined || list.answeredAt - previousSentAt > this.#times.contactMs) {`,
    replace: `if (previousSentAt === undefined) {`,
    scenario: "42c-core-away",
  },
  {
    name: "unmarked-lease-is-believed",
    why: "an observer that starts and sees no beat does not take the cell for alive",
    file: "accounting/silence/cell-silence.ts",
    find: `return unheardMs >= (this.#marker === undefined ? startAloneMs : startMs) ? cell.beatAt : undefined;`,
    replace: `cell.isUndecided = false; return undefined;`,
    scenario: "42e-started-in-an-outage",
  },
  {
    name: "every-look-is-a-beat",
    why: "only a change of the beat is one, and no other write",
    file: "accounting/silence/cell-silence.ts",
    find: `if (lease.beat === cell.beat) return;`,
    replace: ``,
    scenario: "42-lost-cell",
  },
  {
    name: "silent-cells-are-not-marked",
    why: "the generator marks silent cells, so that a webhook that starts in the outage knows them",
    file: "generator/silent-cell-marks.ts",
    find: `if (lease.silentSince !== undefined || unheardMs < silentAfterMs) return true;`,
    replace: `if (unheardMs < Infinity) return true;`,
    scenario: "43-marked-by-the-generator",
  },
  {
    name: "beating-cells-are-retired",
    why: "a cell is retired only when nobody has counted it for as long as makes it silent",
    file: "generator/cell-retirement.ts",
    find: `if (request.verdict === "waiting" && (isQuiet || isSilent(cell)))`,
    replace: `if (request.verdict === "waiting" && (isQuiet || cell !== undefined))`,
    scenario: "43b-retired-cell",
  },
];
