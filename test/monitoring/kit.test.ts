/** manifests/monitoring: rules and dashboards read what exists, and every alert has what a person needs at night. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { load } from "js-yaml";
import { dashboardJSON } from "../../scripts/dashboards/dashboard.ts";
import { dashboards } from "../../scripts/dashboards/index.ts";
import { readCatalog, readProcessNames } from "../../scripts/metrics-page/catalog.ts";
import { type Deployment, manifestsFolder, render } from "../manifests/manifest-files.ts";
import { readPromQL } from "./promql.ts";

interface Rule {
  readonly record?: string;
  readonly alert?: string;
  readonly expr: string;
  readonly for?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

const root = path.join(import.meta.dirname, "../..");
const parts = ["processes", "core", "worker"] as const;
type Part = (typeof parts)[number];

function rulesOf(part: Part): readonly Rule[] {
  const file = path.join(manifestsFolder, "monitoring", part, "rules.yaml");
  const { spec } = load(readFileSync(file, "utf8")) as {
    readonly spec: { readonly groups: readonly { readonly rules: readonly Rule[] }[] };
  };
  return spec.groups.flatMap(({ rules }) => rules);
}

const rules = parts.flatMap(rulesOf);
const alerts = rules.filter(({ alert }) => alert !== undefined);
const catalog = await readCatalog();

/** Labels that Prometheus and the PodMonitor give to every series. */
const targetLabels = ["job", "instance", "namespace", "pod", "container"];
/** Not ours: of Prometheus, and of API servers. */
const foreign = new Map<string, readonly string[]>([
  ["up", []],
  ["ALERTS", ["alertname", "alertstate", "severity"]],
  ["apiserver_admission_webhook_rejection_count", ["name", "error_type"]],
]);

/** Labels by the name of a series. */
async function knownSeries(): Promise<ReadonlyMap<string, readonly string[]>> {
  const known = new Map(foreign);
  for (const name of await readProcessNames()) known.set(name, []);
  for (const { name, type, labels } of catalog) {
    if (type !== "histogram") known.set(name, labels);
    else for (const end of ["_bucket", "_sum", "_count"]) known.set(name + end, [...labels, "le"]);
  }
  for (const { record = "", expr } of rules) known.set(record, readPromQL(expr).grouped);
  return known;
}

const known = await knownSeries();

/** What an expression reads that does not exist, one line each. */
function mistakesOf(expr: string): string[] {
  const { selectors, grouped } = readPromQL(expr);
  const unknown = selectors.flatMap(({ metric, labels }) => {
    const its = known.get(metric);
    if (its === undefined) return [`${metric} does not exist`];
    return labels
      .filter((label) => ![...its, ...targetLabels].includes(label))
      .map((label) => `${metric} has no ${label}`);
  });
  const all = new Set([...targetLabels, ...selectors.flatMap(({ metric }) => known.get(metric) ?? [])]);
  return [...unknown, ...grouped.filter((label) => !all.has(label)).map((label) => `nothing has a label ${label}`)];
}

const pageOf = (alert: string): string =>
  `${alert
    .replace(/^Podseidon/, "")
    .replaceAll(/(?<=[a-z])(?=[A-Z])/g, "-")
    .toLowerCase()}.md`;

test("every rule reads metrics that exist, by labels that they have", () => {
  for (const { record, alert, expr } of rules) assert.deepEqual(mistakesOf(expr), [], alert ?? record ?? "");
});

test("a metric that does not exist, and a label that a metric does not have, are found", () => {
  assert.deepEqual(mistakesOf("sum by (cell) (rate(webhook_requests_count[5m]))"), [
    "webhook_requests_count does not exist",
    "nothing has a label cell",
  ]);
  assert.deepEqual(mistakesOf('webhook_request_count{state="Rejected"}'), ["webhook_request_count has no state"]);
  assert.deepEqual(mistakesOf("webhook_request > 0"), ["webhook_request does not exist"]);
});

test("every query of a dashboard reads metrics that exist, and its legend uses labels that are left", () => {
  for (const { uid, rows } of dashboards) {
    for (const { title, queries } of rows.flatMap(({ panels }) => panels)) {
      for (const [expr, legend] of queries) {
        assert.deepEqual(mistakesOf(expr), [], `${uid}: ${title}`);
        const { selectors, grouped } = readPromQL(expr);
        const left = grouped.length > 0 ? grouped : selectors.flatMap(({ metric }) => known.get(metric) ?? []);
        for (const [, label = ""] of legend.matchAll(/\{\{(\w+)\}\}/g))
          assert.ok([...left, ...targetLabels].includes(label), `${uid}: ${title}: {{${label}}}`);
      }
    }
  }
});

test("the dashboards of manifests/monitoring are those of scripts/dashboards", () => {
  const folder = path.join(manifestsFolder, "monitoring/dashboards");
  const files = readdirSync(folder).filter((name) => name.endsWith(".json"));
  assert.deepEqual(files.toSorted(), dashboards.map(({ uid }) => `${uid}.json`).toSorted());
  for (const dashboard of dashboards) {
    const written: unknown = JSON.parse(readFileSync(path.join(folder, `${dashboard.uid}.json`), "utf8"));
    const wanted: unknown = JSON.parse(JSON.stringify(dashboardJSON(dashboard)));
    assert.deepEqual(written, wanted, "node scripts/n.mjs scripts/dashboards/main.ts && make fmt");
  }
  const configMaps = render("monitoring/dashboards");
  assert.equal(configMaps.length, files.length);
  for (const { metadata } of configMaps) assert.equal(metadata.labels?.["grafana_dashboard"], "1");
});

test("every panel says what a person should see in it, and fits on the grid beside the others", () => {
  for (const dashboard of dashboards) {
    for (const { title, description } of dashboard.rows.flatMap(({ panels }) => panels))
      assert.match(description, /^[A-Z0-9].+\.$/, title);
    const { panels } = dashboardJSON(dashboard) as {
      readonly panels: readonly { readonly gridPos: { readonly [K in "x" | "y" | "w" | "h"]: number } }[];
    };
    const taken = new Set<string>();
    for (const { gridPos } of panels) {
      assert.ok(gridPos.x + gridPos.w <= 24);
      for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++) {
        for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
          assert.ok(!taken.has(`${x} ${y}`), "two panels in one place");
          taken.add(`${x} ${y}`);
        }
      }
    }
  }
});

test("every alert has a severity, a summary, a description, and the page that its name says", () => {
  for (const { alert = "", labels, annotations } of alerts) {
    assert.match(alert, /^Podseidon[A-Z]/);
    assert.match(labels?.["severity"] ?? "", /^(?:critical|warning|info)$/, alert);
    assert.ok((annotations?.["summary"] ?? "").length > 10, alert);
    assert.match(annotations?.["description"] ?? "", /^.{20,}\.$/, alert);
    assert.equal(annotations?.["runbook_url"], `docs/runbooks/${pageOf(alert)}`);
  }
});

test("every alert is played by promtool, raised at least once and not raised at least once", () => {
  for (const part of parts) {
    const { tests } = load(readFileSync(path.join(root, "test/monitoring/alerts", `${part}.yaml`), "utf8")) as {
      readonly tests: readonly {
        readonly alert_rule_test: readonly { readonly alertname: string; readonly exp_alerts?: readonly unknown[] }[];
      }[];
    };
    const played = tests.flatMap(({ alert_rule_test: expected }) => expected);
    for (const { alert } of rulesOf(part)) {
      if (alert === undefined) continue;
      const outcomes = played.filter(({ alertname }) => alertname === alert);
      assert.ok(
        outcomes.some(({ exp_alerts: raised = [] }) => raised.length > 0),
        `${alert} is never raised`,
      );
      assert.ok(
        outcomes.some(({ exp_alerts: raised = [] }) => raised.length === 0),
        alert,
      );
    }
  }
});

/** The parts of a page, in this order: what a person at three in the morning needs first. */
const headings = ["What it means", "Is anybody hurt", "Look at", "Do", "The way back"];

test("every runbook page belongs to an alert and has the five parts in their order", () => {
  const pages = readdirSync(path.join(root, "docs/runbooks")).filter((name) => name !== "README.md");
  assert.deepEqual(pages.toSorted(), [...new Set(alerts.map(({ alert = "" }) => pageOf(alert)))].toSorted());
  const index = readFileSync(path.join(root, "docs/runbooks/README.md"), "utf8");
  for (const { alert = "" } of alerts) {
    const text = readFileSync(path.join(root, "docs/runbooks", pageOf(alert)), "utf8");
    assert.equal(text.split("\n")[0], `# ${alert}`);
    assert.deepEqual(
      Array.from(text.matchAll(/^## (.+)$/gm), ([, heading]) => heading),
      headings,
      alert,
    );
    assert.ok(index.includes(`(${pageOf(alert)})`), `${alert} in the index`);
  }
});

test("the PodMonitor finds the pods of every Deployment, and names their jobs as the rules do", () => {
  const [monitor] = render("monitoring/processes").filter(({ kind }) => kind === "PodMonitor") as unknown as [
    {
      readonly spec: {
        readonly selector: { readonly matchLabels: Readonly<Record<string, string>> };
        readonly podMetricsEndpoints: readonly { readonly port: string }[];
      };
    },
  ];
  const { selector, podMetricsEndpoints } = monitor.spec;
  const deployments = ["overlays/single-cluster", "overlays/worker", "base/update-trigger"].flatMap(
    (folder) => render(folder).filter(({ kind }) => kind === "Deployment") as Deployment[],
  );
  const jobs = new Set<string>();
  for (const { spec } of deployments) {
    const { labels } = spec.template.metadata;
    for (const [label, value] of Object.entries(selector.matchLabels)) assert.equal(labels[label], value);
    const ports = spec.template.spec.containers[0].ports.map(({ name }) => name);
    for (const { port } of podMetricsEndpoints) assert.ok(ports.includes(port));
    jobs.add(`podseidon-${labels["app.kubernetes.io/component"]}`);
  }
  const texts = [...rules.map(({ expr }) => expr), JSON.stringify(dashboards)];
  const named = texts.flatMap((text) => Array.from(text.matchAll(/job=\\?"([^"\\]+)/g), ([, job = ""]) => job));
  assert.ok(named.length > 10);
  for (const job of named) assert.ok(jobs.has(job), job);
});
