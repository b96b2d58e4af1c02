/** Writes manifests/monitoring/dashboards/*.json: `node scripts/n.mjs scripts/dashboards/main.ts`, then `make fmt`. */
import { writeFileSync } from "node:fs";
import path from "node:path";
import { dashboardJSON } from "./dashboard.ts";
import { dashboards } from "./index.ts";

const folder = path.join(import.meta.dirname, "../../manifests/monitoring/dashboards");
for (const dashboard of dashboards) {
  writeFileSync(path.join(folder, `${dashboard.uid}.json`), `${JSON.stringify(dashboardJSON(dashboard), null, 2)}\n`);
}
