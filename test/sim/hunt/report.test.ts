import assert from "node:assert/strict";
import { test } from "node:test";
import { findingsOf, measure, tablesOf, weathers, type Cell } from "./report.ts";
import { renderText } from "./table.ts";
import { lostOutcome } from "../workers/task.ts";

test("a cell sums what its runs brought, whatever the order in which they end", async () => {
  const pool = {
    runAll: async (
      tasks: Iterable<Parameters<typeof lostOutcome>[0]>,
      onOutcome: (outcome: ReturnType<typeof lostOutcome>) => boolean,
    ) => {
      for (const task of [...tasks].toReversed()) {
        const lost = lostOutcome(structuredClone(task), "it rained");
        onOutcome({ ...lost, deletions: task.seed, breaches: 1, worstDepth: task.seed, restoreBreaches: 2 });
      }
    },
  };
  const asked = { firstSeed: 5, seeds: 2, algorithms: ["clock", "observed"] as const, weathers: weathers.slice(0, 2) };
  const cells = await measure(pool, asked);
  assert.deepEqual(
    cells.map(({ algorithm, weather, deletions, broken, worstDepth, afterRestores }) => [
      algorithm,
      weather,
      deletions,
      broken,
      worstDepth,
      afterRestores,
    ]),
    ["clock", "observed"].flatMap((algorithm) =>
      ["none", "latency"].map((weather) => [algorithm, weather, 11, 2, 6, 4]),
    ),
  );
  assert.deepEqual(findingsOf(cells.slice(2, 3), "observed"), [
    "observed, none, seed 5: it rained",
    "observed, none, seed 6: it rained",
  ]);
});

test("the tables fit a page of 120 columns", () => {
  const cells = weathers.flatMap(({ name }): Cell[] =>
    (["observed", "clock", "status", "managed-fields"] as const).map((algorithm) => {
      const figures = {
        deletions: 1_000_000,
        admitted: 1_000_000,
        broken: 99_999,
        worstDepth: 99,
        afterRestores: 9_999,
        heldPodSeconds: 9_999_999,
      };
      return { algorithm, weather: name, ...figures, findings: [] };
    }),
  );
  const [glance, ...others] = tablesOf(cells);
  assert.equal(others.length, 4);
  assert.ok(glance !== undefined && renderText(glance, 120).includes("99999 (99)"));
  for (const table of [glance, ...others]) {
    const lines = renderText(table, 120).split("\n");
    assert.equal(lines.length, 2 + weathers.length, "one line for each fault class");
    assert.ok(lines.every((line) => line.length <= 120));
  }
});
