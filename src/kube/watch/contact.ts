/** What a reflector knows of its contact with the server, and what it says of it: to readiness, and to the log. */
import { type Clock, longAgo, type MonotonicMs } from "../../util/clock.ts";
import { type LogFields, type Logger } from "../../util/logger.ts";
import { Outage } from "../../util/outage.ts";
import { wayToFail } from "../kube-errors.ts";
import { type Ending, type State, type Step } from "./state.ts";

export class Contact {
  readonly #clock: Clock;
  readonly #name: string;
  readonly #logger: Logger;
  readonly #inLogs: LogFields;
  readonly #outage: Outage;
  /** When news of the objects last came. */
  #newsAtMs: MonotonicMs = longAgo;
  /** The last failure while it lasts. */
  lastError: string | undefined;
  /** The watch has failed, and no news have come since. */
  isCatchingUp = false;
  /** The log has it that there is no WatchList. */
  #isRefusalTold = false;
  /** The log has it that bookmarks are missing, and none has come since. */
  #isMissTold = false;

  constructor(clock: Clock, logger: Logger, labels: { readonly cluster: string; readonly informer: string }) {
    this.#clock = clock;
    this.#logger = logger;
    this.#name = labels.informer;
    this.#inLogs = labels;
    this.#outage = new Outage(clock);
  }

  /** Milliseconds since news of the objects last came. */
  stalenessMs(): number {
    return this.#clock.monotonicMs() - this.#newsAtMs;
  }

  /**
   * The server answered well, which is no news of the objects yet: a proxy on the way may swallow what follows. And
   * until a list is complete the store may be of a former history.
   */
  answered(): void {
    const over = this.#outage.ended();
    if (over !== undefined) this.#logger.info("Listing and watching again", { ...this.#inLogs, ...over });
  }

  /** The store is as new as what the server just sent. */
  gotNews(): void {
    this.lastError = undefined;
    this.isCatchingUp = false;
    this.#newsAtMs = this.#clock.monotonicMs();
  }

  /** A bookmark has come, so the next one that is missed is worth a line again. */
  gotBookmark(): void {
    this.#isMissTold = false;
  }

  /** A phase has ended, and `step` is what comes of it. */
  report(state: State, ending: Ending, step: Step): void {
    const verb = ending.resumeFrom === undefined ? "list" : "watch";
    if (ending.type === "missed") {
      this.#failed(verb, `${ending.why}: a proxy may drop bookmarks`);
      this.#missed("warn", `${ending.why}: a proxy may drop bookmarks`);
      return;
    }
    if (step.relistReason === "silent") {
      this.#failed(verb, "no news for minutes, listing anew");
      this.#missed("info", "no bookmark for minutes: a proxy may drop bookmarks, or the server has none to send");
      return;
    }
    if (ending.type === "ended") {
      if (ending.resumeFrom === undefined) {
        this.lastError = `cannot list ${this.#name}: the server ended the stream before its end mark`;
      }
      const phase = { phase: state.phase, version: ending.resumeFrom };
      this.#logger.verbose(3, "Informer phase ended", { ...this.#inLogs, ...phase });
      return;
    }
    const { error } = ending;
    const fields = { ...this.#inLogs, verb, kind: error.kind, err: error };
    if (step.isRefusal === true) {
      if (!this.#isRefusalTold) this.#logger.info("The server offers no WatchList, listing in pages", fields);
      this.#isRefusalTold = true;
      return;
    }
    this.#failed(verb, error.message);
    // A cluster may be away for hours, and a right be missing for ever: each way to fail is told once. That one
    // connection is dead is no outage yet.
    const isNews = ending.isSilent !== true && this.#outage.failed(wayToFail(error));
    if (isNews) this.#logger.warn("Failed to list or watch, retrying", fields);
    else this.#logger.verbose(2, "Still failing to list or watch, retrying", fields);
  }

  #missed(level: "warn" | "info", why: string): void {
    const fields = { ...this.#inLogs, why };
    if (this.#isMissTold) this.#logger.verbose(2, "A bookmark did not come, listing anew", fields);
    else this.#logger[level]("A bookmark did not come, listing anew", fields);
    this.#isMissTold = true;
  }

  #failed(verb: string, why: string): void {
    this.isCatchingUp = true;
    this.lastError = `cannot ${verb} ${this.#name}: ${why}`;
  }
}
