/**
 * The figures of single PodProtectors as gauges, in the words that people see everywhere: must stay, available,
 * promised, free (docs/generator.md#monitor). A bounded number of them: where there are more, those with the fewest
 * free pods, since these refuse first.
 */
import { protectorID } from "../../api/object-key.ts";
import { conditionTypes } from "../../api/v1alpha1/conditions.ts";
import { isInShadow } from "../../api/v1alpha1/names.ts";
import { type StoredProtector } from "../../kube/resources.ts";
import { type Gauge, type MetricLabels, type Metrics } from "../../util/metrics.ts";

/**
 * PodProtectors with series of their own, four each. Most cores have fewer; 4,000 series are a scrape of half a
 * megabyte, and what is beyond them is nothing that a person reads. kube-state-metrics has no such limit.
 */
export const shownMax = 1_000;

const figures = ["must_stay", "available", "promised", "free"] as const;
type Figures = Readonly<Record<(typeof figures)[number], number>>;

const helps: Readonly<Record<(typeof figures)[number], string>> = {
  must_stay: "Pods that must stay",
  available: "Pods that are available by the last counts, over all cells",
  promised: "Admitted deletions that are not settled, over all cells",
  free: "Pods that may go now: available less promised less those that must stay, 0 at least",
};

interface Shown {
  readonly labels: MetricLabels;
  readonly values: Figures;
}

/** Returns what is to be called before each scrape with the PodProtectors, and with none while another one leads. */
export function createProtectorGauges(
  metrics: Metrics,
  core: string,
): (protectors: readonly StoredProtector[]) => void {
  const gauges = figures.map((figure) => ({
    figure,
    gauge: metrics.gauge(
      `generator_podprotector_${figure}`,
      `${helps[figure]}; of the PodProtectors (core/namespace/name) with the fewest free pods, by the leader`,
      ["podprotector", "mode"],
    ),
  }));
  const showConditions = createConditionGauge(metrics);
  let before = new Map<string, Shown>();
  return (protectors) => {
    showConditions(protectors);
    const shown = fewestFree(protectors, core);
    for (const [id, { labels }] of before) {
      if (!shown.has(id)) for (const { gauge } of gauges) gauge.remove(labels);
    }
    for (const { labels, values } of shown.values()) {
      for (const { figure, gauge } of gauges) gauge.set(labels, values[figure]);
    }
    before = shown;
  };
}

/** By the values of the labels. */
function fewestFree(protectors: readonly StoredProtector[], core: string): Map<string, Shown> {
  const all = protectors.map((stored) => ({ stored, values: figuresOf(stored) }));
  const chosen =
    all.length <= shownMax ? all : all.toSorted((a, b) => a.values.free - b.values.free).slice(0, shownMax);
  return new Map(
    chosen.map(({ stored: { key, protector }, values }) => {
      const mode = isInShadow(protector.metadata) ? "shadow" : "enforced";
      const podprotector = protectorID(core, key);
      return [`${podprotector} ${mode}`, { labels: { podprotector, mode }, values }];
    }),
  );
}

function figuresOf({ protector: { spec, status } }: StoredProtector): Figures {
  const mustStay = Math.max(0, spec.minAvailable);
  const available = status?.summary.aggregatedAvailableReplicas ?? 0;
  const estimated = status?.summary.estimatedAvailableReplicas ?? 0;
  return {
    must_stay: mustStay,
    available,
    promised: available - estimated,
    free: Math.max(0, estimated - mustStay),
  };
}

function createConditionGauge(metrics: Metrics): (protectors: readonly StoredProtector[]) => void {
  const gauge: Gauge = metrics.gauge(
    "generator_podprotector_conditions",
    "PodProtectors of which this condition is true, by type, as the leader sees them",
    ["type"],
  );
  return (protectors) => {
    const counts = new Map<string, number>(conditionTypes.map((type) => [type, 0]));
    for (const { protector } of protectors) {
      for (const { type, status } of protector.status?.conditions ?? []) {
        const count = counts.get(type);
        if (count !== undefined && status === "True") counts.set(type, count + 1);
      }
    }
    for (const [type, count] of counts) gauge.set({ type }, count);
  };
}
