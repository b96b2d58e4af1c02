import assert from "node:assert/strict";
import { test } from "node:test";
import { createCellMetrics } from "../../../../src/generator/metrics/cell-metrics.ts";
import { createMetrics } from "../../../../src/observability/metrics.ts";

test("the registry takes every metric about cells with the labels that the generator sets", async () => {
  const registry = createMetrics({ byNamespace: true, byUser: false, ofProcess: false });
  const metrics = createCellMetrics(registry);
  metrics.removed.inc({ reason: "ghost" });
  metrics.failures.inc({ error: "network" });
  metrics.leaseFailures.inc({ error: "conflict" });
  metrics.setSizes({ ghosts: 2, silent: 3, affected: 4, retiring: 5, retiringProtectors: 6 });
  const { text } = await registry.expose();
  for (const line of [
    'generator_cells_removed_total{reason="ghost"} 1',
    'generator_cell_removal_failures_total{error="network"} 1',
    'generator_cell_lease_write_failures_total{error="conflict"} 1',
    "generator_ghost_cells 2",
    "generator_silent_cells 3",
    "generator_silent_cell_podprotectors 4",
    "generator_retiring_cells 5",
    "generator_retiring_cell_podprotectors 6",
  ])
    assert.ok(text.split("\n").includes(line), `${line} in\n${text}`);
});
