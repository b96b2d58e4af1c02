/** The text of docs/metrics.md: what is served, by whom, with which labels, and what it is good for. */
import { type CatalogEntry, type MetricType, roleNames } from "./catalog.ts";

/** A metric of the Go original, and what became of it. */
export interface UpstreamMetric {
  readonly name: string;
  readonly type: MetricType;
  readonly labels: readonly string[];
  readonly status: "kept" | "renamed" | "dropped";
  /** Of a renamed one: its name here. */
  readonly to?: string;
  /** Why it is not kept. */
  readonly reason?: string;
}

export interface PageData {
  readonly catalog: readonly CatalogEntry[];
  readonly purposes: ReadonlyMap<string, string>;
  readonly upstream: readonly UpstreamMetric[];
}

/** Upstream's five series of one figure are one row. */
const podStates = ["created", "available", "ready", "scheduled", "running"] as const;

/** The name under which a metric has its sentence: X stands for the state of pods. */
export function purposeName(name: string): string {
  if (!name.startsWith("generator_monitor_workloads_")) return name;
  const state = podStates.find((one) => name.includes(`_${one}_`));
  // "available" is also a part of other names.
  return state === undefined || /_(?:estimated_available|min_available)/.test(name) ? name : name.replace(state, "X");
}

interface Section {
  readonly title: string;
  readonly intro: string;
  readonly has: (entry: CatalogEntry) => boolean;
}

const startsWith =
  (...prefixes: readonly string[]) =>
  ({ name }: CatalogEntry): boolean =>
    prefixes.some((prefix) => name.startsWith(prefix));

/** The first section that has an entry shows it. */
const sections: readonly Section[] = [
  {
    title: "Cells",
    intro: "What webhooks and generators see of the [heartbeats](aggregator.md#heartbeat) of cells.",
    has: startsWith("cell_", "cells_"),
  },
  {
    title: "Webhook",
    intro: "",
    has: startsWith("webhook_", "retrybatch_"),
  },
  {
    title: "Aggregator",
    intro:
      "With several cores those that count for one core have the label `core` besides. Standby replicas serve them,\n" +
      "too.",
    has: startsWith("aggregator_"),
  },
  {
    title: "Sums over all workloads",
    intro:
      "Upstream's monitor, by the leader of the generator. X is created, available, ready, scheduled or running\n" +
      "([monitor](generator.md#monitor)).",
    has: startsWith("generator_monitor_"),
  },
  {
    title: "Generator",
    intro: "Gauges are those of the leader; a standby has 0, so take the maximum.",
    has: startsWith("generator_"),
  },
  { title: "Several roles", intro: "Those without a role in brackets are served by every process.", has: () => true },
];

export function metricsPage({ catalog, purposes, upstream }: PageData): string {
  const groups = Map.groupBy(catalog, (entry) => sections.find(({ has }) => has(entry)));
  return [
    "# Metrics",
    "",
    "<!-- Generated from the sources and scripts/metrics-page/purposes.yaml by",
    "     `node scripts/n.mjs scripts/metrics-page/main.ts`. Do not edit. -->",
    "",
    "Every role serves `/metrics` in the format of Prometheus (`--prometheus-http-*`, port 9090 in the manifests).",
    "[monitoring.md](monitoring.md) has what to do with it: scraping, alerts, runbooks, dashboards.",
    "",
    "- Names and labels of the metrics that the Go original has are the same;",
    "  [those that are not here](#metrics-of-the-go-original) are at the end.",
    "- The labels `namespace` and `user` are left out unless `--metrics-by-namespace` and `--metrics-by-user` ask for",
    "  them. The label `error` is `nil` without an error.",
    "- A metric has at most 10,000 series; what is beyond them shares one with the value `other`.",
    "- Of the process itself there are `process_*` (CPU, memory, open files) and `nodejs_*` (heap, garbage",
    "  collection, lag of the event loop) as prom-client names them. `nodejs_eventloop_lag_p99_seconds` above 0.2 is a",
    "  process that has more to do than it can.",
    ...sections.flatMap((section) => sectionText(section, groups.get(section) ?? [], purposes)),
    ...upstreamText(upstream),
    "",
  ].join("\n");
}

function sectionText(
  { title, intro }: Section,
  entries: readonly CatalogEntry[],
  purposes: ReadonlyMap<string, string>,
): string[] {
  const rows = new Map<string, string>();
  for (const entry of entries) rows.set(purposeName(entry.name), row(entry, purposes));
  return [
    "",
    `## ${title}`,
    "",
    ...(intro === "" ? [] : [intro, ""]),
    "| metric | type | labels | what it is | good for |",
    "|---|---|---|---|---|",
    ...rows.values(),
  ];
}

function row({ name, type, help, labels, roles }: CatalogEntry, purposes: ReadonlyMap<string, string>): string {
  const shown = purposeName(name);
  const served = roles.size === 1 || roles.size === roleNames.length ? "" : ` (${[...roles].join(", ")})`;
  const text = shown === name ? help : help.replace(/\b(?:created|available|ready|scheduled|running)\b/, "X");
  const cells = [`\`${shown}\``, type, labels.map((label) => `\`${label}\``).join(", "), `${text}${served}`];
  return `| ${[...cells, purposes.get(shown) ?? ""].map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
}

function upstreamText(upstream: readonly UpstreamMetric[]): string[] {
  const kept = upstream.filter(({ status }) => status === "kept");
  const others = upstream.filter(({ status }) => status !== "kept");
  return [
    "",
    "## Metrics of the Go original",
    "",
    `Of its ${upstream.length} metrics ${kept.length} are here under the same names with the same labels. The others:`,
    "",
    "| metric | labels | instead | why |",
    "|---|---|---|---|",
    ...others.map(({ name, labels, to, reason }) => {
      const instead = to === undefined ? "" : `\`${to}\``;
      return `| \`${name}\` | ${labels.map((label) => `\`${label}\``).join(", ")} | ${instead} | ${reason ?? ""} |`;
    }),
    "",
    "In place of Go's `go_*` there is `nodejs_*`.",
  ];
}
