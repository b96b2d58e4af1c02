/** `make bench`: measures and prints a table of figures, each beside what it is compared with in the same run. Also as JSON in test-results/bench.json. */
import { mkdirSync, writeFileSync } from "node:fs";
import os from "node:os";
import { fileURLToPath } from "node:url";
import { measureIndexes } from "./indexes.ts";
import { measurePodLists } from "./pod-lists.ts";
import { measureReviews } from "./reviews.ts";
import { type Row } from "./row.ts";
import { measureTransport } from "./transport.ts";

const resultFile = fileURLToPath(new URL("../../test-results/bench.json", import.meta.url));
const say = (line: string): void => console.error(`… ${line}`);

const rows: Row[] = [
  ...measureIndexes(say),
  ...(await measureReviews(say)),
  ...(await measureTransport(say)),
  ...(await measurePodLists(say)),
];
for (const { what, figure, comparedWith, ratio } of rows) {
  console.log(`${what}\n    ${figure}; ${comparedWith}; ratio ${ratio.toFixed(ratio < 10 ? 2 : 0)}`);
}
const machine = {
  node: process.version,
  cpus: os.cpus().length,
  cpu: os.cpus()[0]?.model,
  loadBefore: os.loadavg()[0],
};
mkdirSync(new URL(".", `file://${resultFile}`), { recursive: true });
writeFileSync(resultFile, `${JSON.stringify({ machine, rows }, undefined, 2)}\n`);
