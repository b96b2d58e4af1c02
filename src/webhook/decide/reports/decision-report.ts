/**
 * What people see of every decision (docs/logs.md#decisions): a counter of all, and a log line for those that somebody
 * may ask about: refused, forced, or admitted only because nothing is enforced. One runaway controller asks a thousand
 * times a second, so each PodProtector has a line at once and then one in ten seconds, which counts the others.
 */
import { type Clock } from "../../../util/clock.ts";
import { LineLimit } from "../../../util/line-limit.ts";
import { type LogFields, type Logger } from "../../../util/logger.ts";
import { printable } from "../../../util/printable.ts";
import { type DecisionResult, type WebhookMetrics } from "../../metrics.ts";
import { type Decision, type Refused } from "../decision.ts";
import { type Review, type Subject } from "../subject/subject.ts";

export interface DecisionReportOptions {
  /** --webhook-dry-run. */
  readonly dryRun: boolean;
  readonly metrics: Pick<WebhookMetrics, "decided">;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** A review that is decided. */
export interface Decided {
  /** Before the force-delete annotation and --webhook-dry-run turn it into "allowed". */
  readonly decision: Decision;
  readonly subject: Subject;
  readonly review: Pick<Review, "cause" | "user">;
  readonly cellID: string;
}

/** Between two lines about one PodProtector: as often as a person looks at a log that runs. */
const lineEveryMs = 10_000;
/** PodProtectors with lines of their own in that time: 100 lines a second, which every log takes. */
const linesMax = 1_000;

export class DecisionReport {
  readonly #options: DecisionReportOptions;
  readonly #lines: LineLimit;

  constructor(options: DecisionReportOptions) {
    this.#options = options;
    this.#lines = new LineLimit({ everyMs: lineEveryMs, keysMax: linesMax, clock: options.clock });
  }

  /** Nothing is told of dry runs: they decide nothing. */
  decided(decided: Decided): void {
    const { decision, subject, cellID } = decided;
    if (subject.kind === "deletion" && subject.isEvaluateOnly) return;
    const result = resultOf(decision, subject, this.#options.dryRun);
    const refusal = refusalIn(decision);
    const reason = reasonOf(decision, refusal);
    this.#options.metrics.decided(result, reason, cellID);
    // The answer of every API server to a pod that is gone already.
    if (reason === "NotFound" || reason === "Conflict") return;
    const line = lineOf(result);
    if (line === undefined) return;
    const podProtector = refusal?.audit["reject-by-podprotector"];
    this.#lines.tell(`${result} ${podProtector ?? reason}`, (others) => {
      const fields = {
        podProtector,
        ...askedBy(decided),
        reason,
        ...numbersOf(refusal),
        ...(others > 0 && { others }),
      };
      this.#options.logger[line.level](line.message, fields);
    });
  }

  /** Tells what is left. */
  close(): void {
    this.#lines.close();
  }
}

/** Forced is what an enforced PodProtector lets pass, whatever else is set. */
function resultOf(decision: Decision, { isForced }: Subject, dryRun: boolean): DecisionResult {
  if (decision.kind === "allowed") {
    if (decision.shadowed !== undefined) return "shadow";
    return decision.wasHeld === true ? "held" : "admitted";
  }
  if (isForced) return "forced";
  if (dryRun) return "dry_run";
  return decision.kind === "refused" ? "refused" : "error";
}

function refusalIn(decision: Decision): Refused | undefined {
  if (decision.kind === "refused") return decision;
  return decision.kind === "allowed" ? decision.shadowed : undefined;
}

/** The reason of the first cause, as the caller sees it. */
function reasonOf(decision: Decision, refusal: Refused | undefined): string {
  if (refusal !== undefined) return refusal.causes[0]?.reason ?? refusal.status;
  return decision.kind === "error" ? decision.tag : decision.status;
}

/** Undefined = no line: all is as usual, or (an error) the answer has one. */
function lineOf(result: DecisionResult): { readonly level: "info" | "warn"; readonly message: string } | undefined {
  switch (result) {
    case "refused":
      return { level: "info", message: "Refused a deletion" };
    case "forced":
      return { level: "warn", message: "Allowed a forced deletion that would have been refused" };
    case "shadow":
      return { level: "warn", message: "Allowed a deletion in shadow mode that would have been refused" };
    case "dry_run":
      return { level: "warn", message: "Allowed a deletion in dry-run mode that would have been refused" };
    case "admitted":
    case "held":
    case "error":
      return undefined;
    default:
      return result satisfies never;
  }
}

/** Names that strangers may choose. */
function askedBy({ subject, review, cellID }: Decided): LogFields {
  const pod = subject.kind === "deletion" ? `${subject.pod.namespace}/${subject.pod.name}` : undefined;
  return {
    ...(pod !== undefined && { pod: printable(pod) }),
    cell: printable(cellID),
    request: review.cause,
    user: printable(review.user),
  };
}

function numbersOf(refusal: Refused | undefined): LogFields {
  if (refusal?.figures === undefined) return {};
  const { required, aggregated, unconfirmed } = refusal.figures;
  return {
    mustStay: required,
    available: aggregated,
    promised: unconfirmed,
    free: Math.max(0, aggregated - unconfirmed - required),
  };
}
