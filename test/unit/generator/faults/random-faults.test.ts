/** The first of the random histories; random-faults.proof.ts has the others. */
import { test } from "node:test";
import { runHistory } from "./random-history.ts";

test("seeds 1 to 10: no wanted protector is lost, and in the end all is right", async () => {
  for (let seed = 1; seed <= 10; seed++) await runHistory(seed);
});
