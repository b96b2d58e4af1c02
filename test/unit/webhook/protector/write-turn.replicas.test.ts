import { test } from "node:test";
import { writeInTurns } from "./replicas-in-turns.ts";

test("2 replicas write one PodProtector in turns: few conflicts, equal shares", () => writeInTurns(2));
