/** docs/metrics.md, and what became of the metrics of the Go original. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { type CatalogEntry } from "../../scripts/metrics-page/catalog.ts";
import { readPageData } from "../../scripts/metrics-page/data.ts";
import { metricsPage, purposeName, type UpstreamMetric } from "../../scripts/metrics-page/page.ts";
import { filesBelow } from "../manifests/manifest-files.ts";

const root = path.join(import.meta.dirname, "../..");
const data = await readPageData();

test("docs/metrics.md is up to date: node scripts/n.mjs scripts/metrics-page/main.ts", () => {
  assert.equal(readFileSync(path.join(root, "docs/metrics.md"), "utf8"), metricsPage(data));
});

test("every metric has a sentence on what it is good for, and no sentence is about none", () => {
  const names = new Set(data.catalog.map(({ name }) => purposeName(name)));
  assert.deepEqual([...names.difference(new Set(data.purposes.keys()))], []);
  assert.deepEqual([...new Set(data.purposes.keys()).difference(names)], []);
  for (const [name, sentence] of data.purposes) assert.match(sentence, /^[A-Z0-9`].{10,}[.]$/s, name);
});

test("a page without the sentence of a metric differs from the one with it", () => {
  const others = new Map(data.purposes);
  others.delete("webhook_request");
  assert.notEqual(metricsPage({ ...data, purposes: others }), metricsPage(data));
});

test("every metric whose name stands in the sources is in the catalog", () => {
  const known = new Set(data.catalog.map(({ name }) => name));
  const created = filesBelow(path.join(root, "src"), ".ts").flatMap((file) =>
    Array.from(
      readFileSync(file, "utf8").matchAll(/\.(?:counter|gauge|histogram)\(\s*"([a-z_]+)"/g),
      ([, name = ""]) => name,
    ),
  );
  assert.ok(created.length > 90);
  assert.deepEqual([...new Set(created).difference(known)], []);
});

/** What does not hold of the list, one line each. */
function mistakesOf(upstream: readonly UpstreamMetric[], catalog: readonly CatalogEntry[]): string[] {
  const here = new Map(catalog.map((entry) => [entry.name, entry]));
  return upstream.flatMap(({ name, type, labels, status, to, reason }) => {
    const found = here.get(name);
    switch (status) {
      case "kept": {
        if (found === undefined) return [`${name} is not here`];
        const lacking = labels.filter((label) => !found.labels.includes(label));
        return [
          ...(found.type === type ? [] : [`${name} is a ${found.type}`]),
          ...lacking.map((label) => `${name} lacks the label ${label}`),
        ];
      }
      case "renamed":
        return here.has(to ?? "") && reason !== undefined ? [] : [`${name} has no ${to ?? "new name"}, or no reason`];
      case "dropped":
        return found === undefined && reason !== undefined ? [] : [`${name} is here, or has no reason`];
      default:
        return [`${name} is ${String(status)}`];
    }
  });
}

test("each of the 87 metrics of the Go original is kept with its type and labels, or there is a reason why not", () => {
  assert.equal(new Set(data.upstream.map(({ name }) => name)).size, 87);
  assert.deepEqual(mistakesOf(data.upstream, data.catalog), []);
});

test("a kept metric that is gone, of another type, or without a label is found, and so is a silent end", () => {
  const kept = { status: "kept", type: "gauge", labels: [] } as const;
  const planted: readonly UpstreamMetric[] = [
    { ...kept, name: "heartbeat" },
    { ...kept, name: "gone" },
    { ...kept, name: "healthck_failure", labels: ["check", "pod"] },
    { ...kept, name: "ppr_enqueue", status: "dropped" },
    { ...kept, name: "old", status: "renamed", to: "gone", reason: "so" },
  ];
  assert.deepEqual(mistakesOf(planted, data.catalog), [
    "gone is not here",
    "healthck_failure is a counter",
    "healthck_failure lacks the label pod",
    "ppr_enqueue is here, or has no reason",
    "old has no gone, or no reason",
  ]);
});
