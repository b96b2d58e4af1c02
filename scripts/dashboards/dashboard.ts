/** A Grafana dashboard in as few words as it needs, and the JSON that Grafana reads. */

export type Unit = "short" | "s" | "dtdurations" | "percentunit" | "reqps" | "ops" | "bytes" | "bool";

export interface Panel {
  readonly title: string;
  /** What a person should see in it. */
  readonly description: string;
  readonly queries: readonly (readonly [expr: string, legend: string])[];
  readonly unit?: Unit;
  /** Default "timeseries"; "stat" is one number; "bars" are values of now, side by side. */
  readonly kind?: "timeseries" | "stat" | "bars";
  readonly isStacked?: boolean;
  /** From which value a number is yellow, and red. Negative: under which (`[-21, -3]` is red under 3). */
  readonly limits?: readonly [yellow: number, red: number];
}

export interface Row {
  readonly title: string;
  readonly panels: readonly Panel[];
}

export interface Dashboard {
  /** Of the file and in the address: `podseidon-fleet`. */
  readonly uid: string;
  readonly title: string;
  readonly description: string;
  readonly rows: readonly Row[];
}

/** Grafana's grid. */
const columns = 24;
const widths = { timeseries: 8, bars: 8, stat: 3 };
const heights = { timeseries: 8, bars: 8, stat: 4 };
/** Of Grafana 11, which later ones read, too. */
const schemaVersion = 39;
const datasource = { type: "prometheus", uid: "${datasource}" };

export function dashboardJSON({ uid, title, description, rows }: Dashboard): object {
  return {
    uid,
    title,
    description,
    tags: ["podseidon"],
    schemaVersion,
    editable: true,
    graphTooltip: 1,
    refresh: "30s",
    time: { from: "now-1h", to: "now" },
    links: [{ type: "dashboards", title: "Podseidon", tags: ["podseidon"], asDropdown: true, includeVars: true }],
    templating: { list: [{ name: "datasource", type: "datasource", query: "prometheus", label: "Data source" }] },
    panels: placed(rows),
  };
}

function placed(rows: readonly Row[]): object[] {
  const panels: object[] = [];
  let y = 0;
  for (const row of rows) {
    panels.push({
      type: "row",
      id: panels.length + 1,
      title: row.title,
      collapsed: false,
      gridPos: at(0, y, columns, 1),
    });
    y += 1;
    let x = 0;
    let lineHeight = 0;
    for (const panel of row.panels) {
      const kind = panel.kind ?? "timeseries";
      if (x + widths[kind] > columns) {
        y += lineHeight;
        [x, lineHeight] = [0, 0];
      }
      panels.push({ ...panelJSON(panel), id: panels.length + 1, gridPos: at(x, y, widths[kind], heights[kind]) });
      x += widths[kind];
      lineHeight = Math.max(lineHeight, heights[kind]);
    }
    y += lineHeight;
  }
  return panels;
}

const at = (x: number, y: number, w: number, h: number): object => ({ x, y, w, h });

function panelJSON(panel: Panel): object {
  const { title, description, queries, unit = "short", kind = "timeseries", isStacked = false, limits } = panel;
  const isNow = kind !== "timeseries";
  return {
    type: kind === "bars" ? "bargauge" : kind,
    title,
    description,
    datasource,
    targets: queries.map(([expr, legendFormat], index) => ({
      refId: String.fromCodePoint(65 + index),
      datasource,
      expr,
      legendFormat,
      ...(isNow ? { instant: true } : {}),
    })),
    fieldConfig: {
      defaults: {
        unit,
        min: unit === "dtdurations" ? undefined : 0,
        noValue: "none",
        ...(isNow ? { color: { mode: "thresholds" }, thresholds: thresholds(limits) } : {}),
        ...(kind === "timeseries" ? { custom: custom(isStacked) } : {}),
      },
      overrides: [],
    },
    options: options(kind),
  };
}

function custom(isStacked: boolean): object {
  return { fillOpacity: isStacked ? 40 : 8, showPoints: "never", stacking: { mode: isStacked ? "normal" : "none" } };
}

function options(kind: Required<Panel>["kind"]): object {
  switch (kind) {
    case "stat":
      return { colorMode: "background", graphMode: "none", reduceOptions: { calcs: ["lastNotNull"] } };
    case "bars":
      return { orientation: "horizontal", displayMode: "basic", reduceOptions: { calcs: ["lastNotNull"] } };
    default:
      return { legend: { displayMode: "list", placement: "bottom" }, tooltip: { mode: "multi", sort: "desc" } };
  }
}

function thresholds(limits: Panel["limits"]): object {
  if (limits === undefined) return { mode: "absolute", steps: [{ color: "blue", value: null }] };
  const [yellow, red] = limits;
  const steps =
    yellow < 0
      ? [
          { color: "red", value: null },
          { color: "yellow", value: -red },
          { color: "green", value: -yellow },
        ]
      : [
          { color: "green", value: null },
          { color: "yellow", value: yellow },
          { color: "red", value: red },
        ];
  return { mode: "absolute", steps };
}
