/**
 * Counts a few PodProtectors from scratch now and then, and compares with what is kept incrementally
 * (docs/aggregator.md#self-check). They can only differ by a mistake in this program; then it is told, and what is kept
 * is made anew, as wrong counts would let pods go that must stay.
 */
import { countingSelector } from "../../accounting/count/counting-selector.ts";
import { type ObjectKey } from "../../api/object-key.ts";
import { type PodRecord } from "../../api/pod.ts";
import { type PodProtector } from "../../api/v1alpha1/pod-protector.ts";
import { type Informer } from "../../kube/informer.ts";
import { type StoredProtector } from "../../kube/resources.ts";
import { type CompiledSelector, compileSelector, matches } from "../../label-index/index.ts";
import { type Clock, sleep } from "../../util/clock.ts";
import { type Logger } from "../../util/logger.ts";
import { type Rng } from "../../util/rng.ts";
import { type MatchTable } from "../counting/match-table.ts";
import { type AggregatorMetrics } from "../metrics.ts";

export interface SelfCheckOptions {
  readonly table: Pick<MatchTable, "podKeysOf" | "rebuild">;
  readonly pods: Pick<Informer<PodRecord>, "get" | "hasSynced" | "values">;
  readonly protectors: Pick<Informer<StoredProtector>, "values">;
  /** These PodProtectors have to be counted again. */
  readonly onRepaired: (keys: Iterable<ObjectKey>) => void;
  readonly clock: Clock;
  readonly rng: Rng;
  readonly logger: Logger;
  readonly metrics: Pick<AggregatorMetrics, "selfChecks">;
}

/** A walk over 100,000 pods takes some milliseconds: a few hundredths of a per cent of a core. */
const periodMs = 60_000;
/** All pods are looked at whatever the number; so many are done with one look. */
const sampleMax = 20;
/** In a log line, so that a person can read it. */
const namedMax = 10;

interface Sampled {
  readonly key: ObjectKey;
  readonly protector: PodProtector;
  readonly selector: CompiledSelector;
  /** Keys of the pods that it selects. */
  readonly found: Set<ObjectKey>;
}

export class SelfCheck {
  readonly #options: SelfCheckOptions;

  constructor(options: SelfCheckOptions) {
    this.#options = options;
  }

  /** Checks until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, pods } = this.#options;
    for (;;) {
      await sleep(clock, periodMs, signal);
      if (signal.aborted) return;
      if (pods.hasSynced()) this.#check();
    }
  }

  #check(): void {
    for (const sampled of this.#count(this.#sample())) {
      const wrong = this.#differences(sampled);
      if (wrong.size === 0) this.#options.metrics.selfChecks.inc({ result: "same" });
      else this.#repair(sampled, wrong);
    }
  }

  #sample(): readonly Sampled[] {
    const { protectors, rng } = this.#options;
    const all = [...protectors.values()];
    const isWhole = all.length <= sampleMax;
    const sample: Sampled[] = [];
    while (all.length > 0 && sample.length < sampleMax) {
      const index = isWhole ? all.length - 1 : Math.floor(rng.next() * all.length);
      const { key, protector } = all[index]!;
      all[index] = all.at(-1)!;
      all.pop();
      const compiled = compileSelector(countingSelector(protector.spec));
      // Of an invalid one only the table knows the last selector that was valid.
      if (compiled.ok) sample.push({ key, protector, selector: compiled.selector, found: new Set() });
    }
    return sample;
  }

  /** Finds the pods of the sample, in one walk over those of the cell. */
  #count(sample: readonly Sampled[]): readonly Sampled[] {
    const byNamespace = Map.groupBy(sample, ({ protector }) => protector.metadata.namespace);
    for (const { key, namespace, labels } of this.#options.pods.values()) {
      for (const { selector, found } of byNamespace.get(namespace) ?? []) if (matches(selector, labels)) found.add(key);
    }
    return sample;
  }

  /** Pods that are counted and should not be, or the other way round, with their records while they are there. */
  #differences({ key, found }: Sampled): ReadonlyMap<ObjectKey, PodRecord | undefined> {
    const { pods, table } = this.#options;
    const kept = new Set(table.podKeysOf(key));
    return new Map([...found.symmetricDifference(kept)].map((podKey) => [podKey, pods.get(podKey)]));
  }

  #repair(sampled: Sampled, wrong: ReadonlyMap<ObjectKey, PodRecord | undefined>): void {
    const { logger, metrics, onRepaired, table } = this.#options;
    const { key, protector, found } = sampled;
    const details = {
      podProtector: key,
      pods: found.size,
      wrong: wrong.size,
      some: [...wrong.keys()].slice(0, namedMax),
    };
    metrics.selfChecks.inc({ result: "wrong" });
    onRepaired(table.rebuild(key, protector, wrong));
    const isRepaired = this.#differences(sampled).size === 0;
    metrics.selfChecks.inc({ result: isRepaired ? "repaired" : "unrepaired" });
    if (isRepaired) logger.error("PodProtector counted the wrong pods by a bug, counting it again", details);
    else logger.error("PodProtector counts the wrong pods by a bug, restart this process", details);
  }
}
