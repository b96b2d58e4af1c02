/** Few of the many runs of `make sim`, always the same; run.proof.ts has more. */
import { test } from "node:test";
import { assertSeedsHold } from "./seed-runs.ts";

test("no rule breaks in the runs of 4 seeds, and deletions are admitted", (t) => assertSeedsHold(t, 4));
