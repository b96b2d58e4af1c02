/** A tenth of the random worlds; floor-worlds.proof.ts has all of them, and what they notice. */
import { test } from "node:test";
import { assertWorldsHold } from "./floor-run.ts";

test("no sequence of reviews, lags, conflicts and restarts in 120 worlds breaks the floor or loses quota", () =>
  assertWorldsHold(120));
