import assert from "node:assert/strict";
import { test } from "node:test";
import { readPromQL } from "./promql.ts";

test("metrics are found wherever they stand, and functions, labels and words of the language are none", () => {
  const { selectors, grouped } = readPromQL(
    'histogram_quantile(0.99, sum by (le, cell) (rate(a_bucket{status=~"X|Y",cell!="b"}[5m]))) > 0.5 ' +
      "or (b:c unless d offset 1h) < Inf and on (core) -max(e) / 3 * count(f == 1)",
  );
  assert.deepEqual(selectors, [
    { metric: "a_bucket", labels: ["status", "cell"] },
    { metric: "b:c", labels: [] },
    { metric: "d", labels: [] },
    { metric: "e", labels: [] },
    { metric: "f", labels: [] },
  ]);
  assert.deepEqual(grouped, ["le", "cell", "core"]);
});

test("what cannot be read is an error and not a gap", () => {
  assert.throws(() => readPromQL("a @ 3"), /cannot read "@ 3"/);
});
