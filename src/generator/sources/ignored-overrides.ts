/**
 * Tells people of annotations on workloads that are ignored (docs/generator.md#overrides): an Event on the workload for
 * what is new, and a gauge. The PodProtector has the condition OverrideIgnored besides. It is for people, so it takes
 * its time: the leader looks through its cache now and then.
 */
import { type ObjectKey } from "../../api/object-key.ts";
import { type Config } from "../../config/config.ts";
import { type EventRecorder } from "../../kube/event-recorder.ts";
import { type SourceRecord } from "../../sources/source.ts";
import { type Clock, sleep } from "../../util/clock.ts";
import { type Gauge, type Metrics } from "../../util/metrics.ts";
import { type SourceCaches } from "./source-caches.ts";
import { SourceChoice } from "./source-choice.ts";

/** Between two looks: whoever has just written an annotation is still there. A look through 20,000 takes some 10 ms. */
const lookEveryMs = 5_000;

export interface IgnoredOverridesOptions {
  readonly config: Pick<Config["generator"], "sourceSelector" | "deploymentPlugin">;
  readonly sources: Pick<SourceCaches, "keys" | "get">;
  readonly protectors: { get(key: ObjectKey): unknown };
  readonly events: Pick<EventRecorder, "record">;
  readonly clock: Clock;
  readonly metrics: Metrics;
}

export class IgnoredOverrides {
  readonly #options: IgnoredOverridesOptions;
  /** A ReplicaSet has the annotations of its Deployment too, which is told. */
  readonly #choice: SourceChoice;
  readonly #number: Gauge;
  /** What stands on the workloads now and was told. */
  #told: ReadonlySet<string> = new Set();

  constructor(options: IgnoredOverridesOptions) {
    this.#options = options;
    this.#choice = new SourceChoice(options.config);
    this.#number = options.metrics.gauge(
      "generator_ignored_override_sources",
      "Sources with annotations for this generator that are ignored, as the leader sees them",
    );
  }

  /** As Generator.lead. */
  async lead(signal: AbortSignal): Promise<void> {
    this.#told = new Set();
    while (!signal.aborted) {
      this.#look();
      await sleep(this.#options.clock, lookEveryMs, signal);
    }
    this.#number.set({}, 0);
  }

  #look(): void {
    const { sources, protectors, events } = this.#options;
    const told = new Set<string>();
    for (const key of sources.keys()) {
      const source = sources.get(key);
      if (source === undefined || source.overrides.problems.length === 0) continue;
      if (!this.#choice.isChosen(source, protectors.get(key) !== undefined)) continue;
      // One Event for all of an object, since Events of one reason about one object are counted in one.
      const message = source.overrides.problems.join(". ");
      const what = `${source.uid} ${message}`;
      if (!this.#told.has(what)) events.record(referenceTo(source), "Warning", "AnnotationIgnored", message);
      told.add(what);
    }
    this.#told = told;
    this.#number.set({}, told.size);
  }
}

function referenceTo({ kind, namespace, name, uid }: SourceRecord) {
  return { apiVersion: kind.apiVersion, kind: kind.kind, namespace, name, uid };
}
