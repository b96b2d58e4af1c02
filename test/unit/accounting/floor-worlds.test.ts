/** A tenth of the random worlds; floor-worlds.proof.ts has all of them, and what they notice. */
import { test } from "node:test";
import { assertLiesAreLimited, assertWorldsHold } from "./floor-run.ts";

test("no sequence of reviews, lags, conflicts and restarts in 120 worlds breaks the floor or loses quota", () =>
  assertWorldsHold(120));

test("in 120 worlds a cell that lies costs the others no more pods than the workload says it can have", () =>
  assertLiesAreLimited(120));
