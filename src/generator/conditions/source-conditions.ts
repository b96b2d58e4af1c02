/**
 * Writes what the generator has found about the source of a PodProtector into the conditions of its status:
 * Undrainable, Unprotected, Dangling (docs/conditions.md), and Unusable. They are for people, so they take their time:
 * the leader looks through its cache now and then, and writes only what differs.
 */
import { sleep } from "../../util/clock.ts";
import { ConditionWriter, type ConditionWriterOptions } from "./condition-writer.ts";

/**
 * Between two looks: a person does not wait longer than that for an explanation. A look through 10,000 objects takes
 * some 30 ms. It is also the pace at which one object is written while a Go component drops the conditions again.
 */
const lookEveryMs = 15_000;

export class SourceConditions {
  readonly #options: Omit<ConditionWriterOptions, "addsReady">;
  readonly #writer: ConditionWriter;

  constructor(options: Omit<ConditionWriterOptions, "addsReady">) {
    this.#options = options;
    this.#writer = new ConditionWriter({ ...options, addsReady: true });
  }

  /** As Generator.lead. */
  async lead(signal: AbortSignal): Promise<void> {
    const { clock, protectors } = this.#options;
    while (!signal.aborted) {
      await sleep(clock, lookEveryMs, signal);
      const differing = [...protectors.values()].filter((stored) => this.#writer.differs(stored));
      await this.#writer.writeAll(
        differing.map(({ key }) => key),
        signal,
      );
    }
  }
}
