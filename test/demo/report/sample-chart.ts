/** A small chart, for tests. */
import { type ChartData } from "../../../scripts/demo/report/chart.ts";

export const sampleChart: ChartData = {
  service: "search",
  replicas: 12,
  floor: 9,
  withPodseidon: [
    { atMs: 0, lowest: 12, last: 12 },
    { atMs: 1000, lowest: 9, last: 9 },
  ],
  withoutPodseidon: [
    { atMs: 900, lowest: 12, last: 12 },
    { atMs: 1000, lowest: 0, last: 0 },
  ],
  acts: [{ title: "The disaster", fromMs: 900, toMs: 4000 }],
  marks: [{ atMs: 1000, text: "kill -9" }],
  endMs: 4000,
  withoutEndMs: 3000,
};
