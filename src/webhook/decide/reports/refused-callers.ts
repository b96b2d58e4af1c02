/**
 * Who was refused by each PodProtector for each reason, for its Event: counted for as long as the recorder writes one
 * Event, so that each Event has all callers of its time, and Events one after the other add up.
 */
import { CallerTally, formatCallerCounts } from "../../../api/caller-counts.ts";
import { seriesMax, seriesMaxAgeMs } from "../../../kube/event-recorder.ts";
import { type Clock, type MonotonicMs } from "../../../util/clock.ts";
import { type Protector } from "../../protector/protector.ts";

interface Counted {
  readonly tally: CallerTally;
  readonly startedAtMs: MonotonicMs;
}

export class RefusedCallers {
  readonly #clock: Pick<Clock, "monotonicMs">;
  /** By PodProtector and reason, the least recently refused first. */
  readonly #counted = new Map<string, Counted>();

  constructor(clock: Pick<Clock, "monotonicMs">) {
    this.#clock = clock;
  }

  /** One more deletion by `caller`; returns all of its time, as src/api/caller-counts.ts has it in words. */
  refused({ id, uid }: Pick<Protector, "id" | "uid">, reason: string, caller: string): string {
    const nowMs = this.#clock.monotonicMs();
    const key = [id, uid, reason].join("\n");
    const known = this.#counted.get(key);
    const isOver = known === undefined || nowMs - known.startedAtMs > seriesMaxAgeMs;
    const counted = isOver ? { tally: new CallerTally(), startedAtMs: nowMs } : known;
    this.#counted.delete(key);
    this.#counted.set(key, counted);
    const [oldest] = this.#counted.keys();
    if (this.#counted.size > seriesMax && oldest !== undefined) this.#counted.delete(oldest);
    counted.tally.add(caller);
    return formatCallerCounts(counted.tally.counts(nowMs - counted.startedAtMs));
  }
}
