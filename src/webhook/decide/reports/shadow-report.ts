/**
 * What people see of deletions that PodProtectors in shadow would have refused, or all of them with --webhook-dry-run
 * (docs/webhook.md#shadow): by PodProtector, operation and caller. A metric counts each, and an Event on the
 * PodProtector has a count for each caller. The log lines are those of decision-report.ts.
 */
import { type Deletion } from "../../deletion.ts";
import { type WebhookMetrics } from "../../metrics.ts";
import { type Protector } from "../../protector/protector.ts";
import { printable } from "../../../util/printable.ts";
import { type Refused } from "../decision.ts";
import { named, type ProtectorEvents } from "./protector-events.ts";

export interface ShadowReportOptions {
  readonly events: Pick<ProtectorEvents, "wouldRefuse">;
  readonly metrics: Pick<WebhookMetrics, "wouldRefuse">;
}

export class ShadowReport {
  readonly #options: ShadowReportOptions;

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
    }
  }
}
