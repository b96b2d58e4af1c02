/**
 * What people see of deletions that PodProtectors in shadow would have refused, or all of them with --webhook-dry-run
 * (docs/webhook.md#shadow): by PodProtector, operation and caller. A metric counts each, an Event on the PodProtector
 * has a count for each caller, and the log a line.
 */
import { type Clock, later, type MonotonicMs } from "../../util/clock.ts";
import { type Logger } from "../../util/logger.ts";
import { type Deletion } from "../deletion.ts";
import { type WebhookMetrics } from "../metrics.ts";
import { type Protector } from "../protector/protector.ts";
import { printable } from "../../util/printable.ts";
import { type Cause, type Refused } from "./decision.ts";
import { named, type ProtectorEvents } from "./protector-events.ts";

export interface ShadowReportOptions {
  readonly events: Pick<ProtectorEvents, "wouldRefuse">;
  readonly metrics: Pick<WebhookMetrics, "wouldRefuse">;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Between two lines about one PodProtector, operation and caller: a runaway controller repeats within seconds. */
const lineEveryMs = 60_000;
/** As many as there are series of Events; some hundred bytes each. A new one ends the silence of the oldest. */
const linesMax = 4_096;

interface Line {
  readonly silentUntilMs: MonotonicMs;
  /** Since the last line. */
  untold: number;
}

export class ShadowReport {
  readonly #options: ShadowReportOptions;
  /** By PodProtector, operation and caller, the one that was told first before the others. */
  readonly #lines = new Map<string, Line>();

  constructor(options: ShadowReportOptions) {
    this.#options = options;
  }

  /** `refusal`: what would have been answered to the deletion of `user`, by some of `protectors`. */
  wouldRefuse(refusal: Refused, protectors: readonly Protector[], deletion: Deletion, user: string): void {
    const { events, metrics } = this.#options;
    const { operation } = deletion;
    const caller = printable(JSON.stringify(user));
    for (const [protector, cause] of named(refusal, protectors)) {
      metrics.wouldRefuse({ podprotector: protector.id, operation, reason: cause.reason });
      events.wouldRefuse(protector, { operation, ...cause }, deletion, caller);
      this.#log(protector, cause, deletion, caller);
    }
  }

  #log({ id }: Protector, { reason, message }: Cause, { operation, pod, cellID }: Deletion, caller: string): void {
    const { clock, logger } = this.#options;
    const key = `${id} ${operation} ${caller}`;
    const nowMs = clock.monotonicMs();
    const line = this.#lines.get(key);
    if (line !== undefined && nowMs < line.silentUntilMs) {
      line.untold += 1;
      return;
    }
    this.#lines.delete(key);
    this.#lines.set(key, { silentUntilMs: later(nowMs, lineEveryMs), untold: 0 });
    const [oldest] = this.#lines.keys();
    if (this.#lines.size > linesMax && oldest !== undefined) this.#lines.delete(oldest);
    const what = { podProtector: id, operation, caller, cell: cellID, pod: `${pod.namespace}/${pod.name}` };
    logger.info("Would refuse a deletion", { ...what, reason, message, untoldBefore: line?.untold ?? 0 });
  }
}
