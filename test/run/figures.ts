/** What the rings of tests took when they were last measured: `main.ts RING --record`. */
import { readFileSync } from "node:fs";
import path from "node:path";

export interface Ring {
  /** Of wall time, on two quiet cores. */
  readonly seconds: number;
  /** Of each process. */
  readonly groups: Readonly<Record<string, number>>;
}

export const figuresPath = path.join(import.meta.dirname, "figures.json");

export const figures = JSON.parse(readFileSync(figuresPath, "utf8")) as Readonly<Record<string, Ring>>;
