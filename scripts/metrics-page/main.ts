/** Writes docs/metrics.md: `node scripts/n.mjs scripts/metrics-page/main.ts`. A test fails while it is behind. */
import { writeFileSync } from "node:fs";
import path from "node:path";
import { readPageData } from "./data.ts";
import { metricsPage } from "./page.ts";

const page = path.join(import.meta.dirname, "../../docs/metrics.md");
writeFileSync(page, metricsPage(await readPageData()));
