import { test } from "node:test";
import { runHistory } from "./random-history.ts";

for (let seed = 11; seed <= 60; seed += 10) {
  test(`seeds ${seed} to ${seed + 9}: no wanted protector is lost, and in the end all is right`, async () => {
    for (let each = seed; each < seed + 10; each++) await runHistory(each);
  });
}
