/** The state of the demo while it runs: collects what happens and hands out snapshots. */
import { type Clock } from "../../src/util/clock.ts";
import { cellNames, replicasOf, servicePlans } from "./scenario.ts";
import { Series } from "./statistics.ts";
import { type Act, type DemoState, type Remark, type RoleView } from "./view/state.ts";
import { PodCensus } from "./world/pod-census.ts";
import { ReviewCounts } from "./world/review-counts.ts";
import { namespace } from "./scenario.ts";

/** Who is told at once when something happens. */
export interface Audience {
  act(atMs: number, act: Act): void;
  remark(remark: Remark): void;
}

// Two points for each pixel of the report's charts.
const slotMs = 40;
// The demo makes about twenty.
const remarksMax = 200;

/** What is measured in one run of the clusters. */
export class RunRecord {
  readonly census: PodCensus;
  readonly counts = new ReviewCounts();
  readonly floors = new Map<string, number>();
  readonly series = new Map<string, Series>();
  readonly #elapsedMs: () => number;

  constructor(elapsedMs: () => number) {
    this.#elapsedMs = elapsedMs;
    this.census = new PodCensus(namespace, (service, available) => {
      this.series.get(service)?.add(elapsedMs(), available);
    });
  }

  /** True until availability is recorded. */
  get isStarting(): boolean {
    return this.series.size === 0;
  }

  /** From now on availability is recorded, and its lowest is remembered. */
  startRecording(): void {
    for (const { name } of servicePlans) {
      const series = new Series(slotMs);
      series.add(this.#elapsedMs(), this.census.total(name));
      this.series.set(name, series);
    }
  }
}

export class Board {
  readonly #clock: Clock;
  readonly #startMs: number;
  readonly #audience: Audience;
  readonly #remarks: Remark[] = [];
  #act: Act = { title: "", words: "" };
  #run: RunRecord;
  /** Processes of Podseidon; empty while it is off. */
  roles: () => readonly RoleView[] = () => [];

  constructor(clock: Clock, audience: Audience) {
    this.#clock = clock;
    this.#startMs = clock.monotonicMs();
    this.#audience = audience;
    this.#run = this.newRun();
  }

  /** Milliseconds since the beginning. */
  elapsedMs(): number {
    return this.#clock.monotonicMs() - this.#startMs;
  }

  /** Begins a run; it is what snapshots show. */
  newRun(): RunRecord {
    this.#run = new RunRecord(() => this.elapsedMs());
    return this.#run;
  }

  act(title: string, words: string): void {
    this.#act = { title, words };
    this.#audience.act(this.elapsedMs(), this.#act);
  }

  tell(text: string): void {
    const remark = { atMs: this.elapsedMs(), text };
    if (this.#remarks.length < remarksMax) this.#remarks.push(remark);
    this.#audience.remark(remark);
  }

  get remarks(): readonly Remark[] {
    return this.#remarks;
  }

  snapshot(): DemoState {
    const { census, counts, floors, series, isStarting } = this.#run;
    return {
      elapsedMs: this.elapsedMs(),
      act: this.#act,
      isStarting,
      services: servicePlans.map((plan) => ({
        name: plan.name,
        available: census.total(plan.name),
        replicas: replicasOf(plan),
        floor: floors.get(plan.name),
        lowest: series.get(plan.name)?.lowest,
        cells: cellNames.map((cell) => ({
          name: cell,
          available: census.inCell(plan.name, cell),
          replicas: plan.shares[cell],
        })),
      })),
      reviews: counts.reviews,
      roles: this.roles(),
      remarks: this.#remarks,
    };
  }
}
