import { test } from "node:test";
import { writeInTurns } from "./replicas-in-turns.ts";

for (const count of [3, 4])
  test(`${count} replicas write one PodProtector in turns: few conflicts, equal shares`, () => writeInTurns(count));
