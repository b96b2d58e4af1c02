/**
 * Tells people what is not covered (docs/aggregator.md#coverage): pods that no PodProtector protects, and PodProtectors
 * that match no pod. Gauges of every replica, and a line in the log of the leader.
 */
import { type Clock, sleep } from "../../util/clock.ts";
import { type Logger } from "../../util/logger.ts";
import { type Metrics } from "../../util/metrics.ts";
import { type Coverage } from "./coverage.ts";

export interface CoverageReportOptions {
  readonly coverage: Pick<Coverage, "byKind" | "size" | "some">;
  /** Whether the pods and the PodProtectors of all cores have been listed: before that everything looks uncovered. */
  readonly isKnown: () => boolean;
  /** PodProtectors that match no pod, core/namespace/name. */
  readonly unmatched: () => Iterable<string>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/** Rollouts and workloads that are just being made are over by then, mostly. */
const firstAfterMs = 60_000;
/** A line each time would say the same for weeks, or fill the log while somebody rolls things out. */
const periodMs = 600_000;
/** Names in a line, so that a person can read it. */
const namedMax = 10;

export class CoverageReport {
  readonly #options: CoverageReportOptions;
  /** What was told last; "" = nothing was wrong. */
  #told = "";

  constructor(options: CoverageReportOptions) {
    this.#options = options;
    const { coverage, isKnown, metrics } = options;
    const uncovered = metrics.gauge(
      "aggregator_uncovered_pods",
      "Pods of the cell that no PodProtector of any core protects, by kind of workload; without exempt pods",
      ["kind"],
    );
    metrics.onScrape(() => {
      if (isKnown()) for (const [kind, pods] of coverage.byKind) uncovered.set({ kind }, pods);
    });
  }

  /** Tells until the signal aborts, which ends a term: of several replicas only the leader tells. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, isKnown } = this.#options;
    this.#told = "";
    await sleep(clock, firstAfterMs, signal);
    while (!signal.aborted) {
      if (isKnown()) this.#tell();
      await sleep(clock, periodMs, signal);
    }
  }

  #tell(): void {
    const { coverage, logger, unmatched } = this.#options;
    const kinds = Object.fromEntries([...coverage.byKind].filter(([, pods]) => pods > 0));
    const named: string[] = [];
    let podProtectors = 0;
    for (const id of unmatched()) {
      podProtectors += 1;
      if (named.length < namedMax) named.push(id);
    }
    const isAllWell = coverage.size === 0 && podProtectors === 0;
    const finding = isAllWell ? "" : JSON.stringify([kinds, podProtectors, named]);
    if (finding === this.#told) return;
    this.#told = finding;
    if (coverage.size > 0)
      logger.info("Pods are protected by no PodProtector", {
        pods: coverage.size,
        kinds,
        some: coverage.some(namedMax),
      });
    if (podProtectors > 0) logger.info("PodProtectors match no pod", { podProtectors, some: named });
    if (isAllWell) logger.info("Every pod is protected by a PodProtector again, and every PodProtector matches pods");
  }
}
