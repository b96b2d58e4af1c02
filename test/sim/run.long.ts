import { test } from "node:test";
import { assertSeedsHold } from "./seed-runs.ts";

test("no rule breaks in the runs of 200 seeds, and deletions are admitted", (t) => assertSeedsHold(t, 200));
