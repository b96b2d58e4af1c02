/** The hand-written parts of docs/metrics.md, from the files beside this one. */
import { readFileSync } from "node:fs";
import path from "node:path";
import { load } from "js-yaml";
import { readCatalog } from "./catalog.ts";
import { type PageData, type UpstreamMetric } from "./page.ts";

const read = (file: string): string => readFileSync(path.join(import.meta.dirname, file), "utf8");

export async function readPageData(): Promise<PageData> {
  const purposes = load(read("purposes.yaml")) as Readonly<Record<string, string>>;
  return {
    catalog: await readCatalog(),
    purposes: new Map(Object.entries(purposes)),
    upstream: JSON.parse(read("upstream-metrics.json")) as UpstreamMetric[],
  };
}
