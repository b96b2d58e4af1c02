/**
 * Several PodProtectors on one pod (docs/webhook.md#several-podprotectors): all are judged on their newest known state
 * first, and the deletion is recorded only when all would admit it, one after the other in the order of their names.
 * When a later one refuses after all (another replica was faster), the earlier records stay: another review may rely on
 * them already; they settle like every record that was not used.
 *
 * Whether a PodProtector blocks is a property of its opinion. One in shadow (with --webhook-dry-run all are) is judged
 * and recorded like the others, and what it would have refused is told beside an answer that it does not change.
 */
import { hasFloor } from "../../accounting/reserve/disruption.ts";
import { type Verdict } from "../../accounting/reserve/reservation.ts";
import { errorLabel } from "../../kube/kube-client.ts";
import { type SubmitOutcome } from "../../retry-batch/index.ts";
import { assert, assertNever } from "../../util/assert.ts";
import { type Clock } from "../../util/clock.ts";
import { type Deletion } from "../deletion.ts";
import { type WebhookMetrics } from "../metrics.ts";
import { type Protector } from "../protector/protector.ts";
import { isCounted, isForeignUnder, isProtected, needUnder } from "../protector/protector-view.ts";
import { type Patience, type Reservations } from "../protector/reservations.ts";
import { type ReservationResult } from "../protector/status-writer.ts";
import { type Tombstone } from "../protector/departure.ts";
import { allowed, type Allowed, type Audit, type Decision, inShadow, type Refused } from "./decision.ts";
import { floorOwnerOf } from "./refusals/floor-owner.ts";
import { holdReasonOf } from "./hold-rule.ts";
import {
  coreUnavailable,
  type LeftOutLabel,
  leftOutLabels,
  notInTime,
  queueFull,
  recordFailure,
  vanished,
} from "./refusals/record-refusal.ts";
import { coreTroubleText } from "./refusals/silence-text.ts";
import { joined, refusalOf, type RefusingProtector, type RefusingVerdict } from "./refusals/refusal.ts";
import { messageOf } from "../../util/printable.ts";

/** Who asks, and how long that one waits. */
export interface Caller extends Patience {
  /** For the metric. */
  readonly user: string;
  /** Its address, where no client certificate tells who it is. */
  readonly unidentifiedPeer?: string | undefined;
  /** Allowed whatever is answered, by the annotation force-delete. */
  readonly isForced?: boolean;
}

export interface SeveralProtectorsOptions {
  readonly reservations: Pick<Reservations, "reserve">;
  /** --webhook-dry-run: all are in shadow. */
  readonly dryRun: boolean;
  readonly clock: Clock;
  readonly metrics: WebhookMetrics;
}

/** What one PodProtector says on its newest known state, without a write. `blocks`: what it refuses is refused. */
type Opinion = { readonly protector: Protector; readonly blocks: boolean } & (
  | { readonly says: "admit"; readonly need: "nothing" }
  | { readonly says: "refuse"; readonly need: "quota"; readonly verdict: RefusingVerdict }
  /** Only a write tells: the admission needs a record, or the state may be old or wrong. */
  | { readonly says: "ask"; readonly need: "record" | "quota" | "nothing" }
  /** Counted but not protected: admitted, and recorded if possible. What is forced needs no opinion (`record`). */
  | { readonly says: "note"; readonly need: "best-effort" | "quota" | "nothing" }
  /** It has no floor: admitted, and recorded if possible. Only a newer state may refuse, which has one. */
  | { readonly says: "offer"; readonly need: "best-effort" }
);

/** "judge": a doubtful state is judged by. "ask": it is read first, so that only a write tells. */
type Doubts = "judge" | "ask";

export class SeveralProtectors {
  readonly #options: SeveralProtectorsOptions;

  constructor(options: SeveralProtectorsOptions) {
    this.#options = options;
  }

  /** Judges without writing. */
  evaluate(protectors: readonly Protector[], deletion: Deletion, caller: Caller): Decision {
    const startMs = this.#options.clock.monotonicMs();
    const opinions = this.#opinions(protectors, deletion, "judge");
    for (const { says } of opinions) this.#handled(deletion, caller, startMs, says === "refuse");
    return refusalBy(opinions, deletion, true) ?? admitted(opinions, refusalBy(opinions, deletion, false));
  }

  /**
   * Those that a deletion has to wait for, when the newest known states refuse it for a reason that may pass within a
   * moment; none = judging it would tell more. Nobody waits for one in shadow.
   */
  awaited(protectors: readonly Protector[], deletion: Deletion): readonly Protector[] {
    const asked = protectors.filter((protector) => isInForce(protector, deletion) && this.#blocks(protector));
    // One in doubt is asked only when no other refuses: what it would say without being read decides nothing.
    const certain = this.#opinions(asked, deletion, "ask").filter(isRefusal);
    const refusing = certain.length > 0 ? certain : this.#opinions(asked, deletion, "judge").filter(isRefusal);
    const reason = holdReasonOf(refusing.map(refusingBy), deletion);
    return reason === undefined ? [] : refusing.map(({ protector }) => protector);
  }

  /** Whether what any of them refuses is refused. */
  block(protectors: readonly Protector[]): boolean {
    return protectors.some((protector) => this.#blocks(protector));
  }

  /** False for those in shadow. */
  #blocks({ isShadow }: Protector): boolean {
    return !isShadow && !this.#options.dryRun;
  }

  /** Judges and records; admitted only when each record that the rules demand was written. */
  async reserve(protectors: readonly Protector[], deletion: Deletion, caller: Caller): Promise<Decision> {
    // One that is deleted and created again while another is written is asked as it is by then.
    for (const protector of protectors) protector.hold();
    try {
      return await this.#reserveHeld(protectors, deletion, caller);
    } finally {
      for (const protector of protectors) protector.release();
    }
  }

  async #reserveHeld(protectors: readonly Protector[], deletion: Deletion, caller: Caller): Promise<Decision> {
    const startMs = this.#options.clock.monotonicMs();
    const opinions = this.#opinions(protectors, deletion, "ask").map(reconsidered);
    const refusal = refusalBy(opinions, deletion, true);
    const blocking = opinions.filter(({ blocks }) => blocks);
    for (const opinion of blocking) {
      const isAsked = refusal === undefined && opinion.says === "ask";
      const decision = isAsked ? await this.#write(opinion, deletion, caller) : undefined;
      this.#handled(deletion, caller, startMs, opinion.says === "refuse" || decision?.kind === "refused");
      if (decision !== undefined) return decision;
    }
    if (refusal !== undefined) return refusal;
    // Nothing that these say keeps another from being written, so all at once.
    const left = opinions.filter(({ blocks, says }) => !blocks || says === "offer" || says === "note");
    const answers = await Promise.all(
      left.map(async (opinion) => {
        const answer = await this.#write(opinion, deletion, caller);
        if (!opinion.blocks) this.#handled(deletion, caller, startMs, answer?.kind === "refused");
        return { blocks: opinion.blocks, answer };
      }),
    );
    // An error is none of the PodProtector's in shadow; webhook_record_failure counts it.
    const shadowed = answers.flatMap(({ blocks, answer }) => (!blocks && answer?.kind === "refused" ? [answer] : []));
    const raised = answers.find(({ blocks, answer }) => blocks && answer !== undefined);
    return raised?.answer ?? admitted(opinions, joined(shadowed));
  }

  /** Does what its opinion asks for. Undefined = it admits. */
  async #write(opinion: Opinion, deletion: Deletion, caller: Caller): Promise<Decision | undefined> {
    const { metrics, reservations } = this.#options;
    const { protector, says, blocks } = opinion;
    if (says === "admit") return undefined;
    if (says === "note") {
      await this.record([protector], deletion, caller);
      return undefined;
    }
    if (!blocks && (protector.tombstone !== undefined || protector.unusable !== undefined)) {
      metrics.recordFailed(protector.tombstone === undefined ? "Unusable" : "Vanished");
      return refusalBy([opinion], deletion, false);
    }
    const asked = blocks ? deletion : { ...deletion, isShadow: true };
    const outcome = await reservations.reserve(protector, asked, caller);
    const answer = this.#answerOf(protector, outcome, deletion);
    if (blocks && (says === "ask" || isByState(outcome, answer))) return answer;
    const failure = recordFailure(outcome);
    if (failure !== undefined) metrics.recordFailed(failure);
    if (blocks || answer?.kind !== "refused") return undefined;
    return { ...answer, isRepeated: wasRecordedBefore(outcome) };
  }

  /**
   * Records a deletion that is forced, or counted but not protected, as far as possible, in all at once; what cannot be
   * recorded in time is counted in a metric.
   */
  async record(protectors: readonly Protector[], deletion: Deletion, caller: Caller): Promise<void> {
    const { metrics, reservations } = this.#options;
    await Promise.all(
      protectors.map(async (protector) => {
        const outlook = recordOutlook(protector, deletion);
        if (outlook === "nothing") return;
        if (outlook !== "write") return metrics.recordFailed(outlook);
        const failure = recordFailure(await reservations.reserve(protector, deletion, caller));
        if (failure !== undefined) metrics.recordFailed(failure);
      }),
    );
  }

  #opinions(protectors: readonly Protector[], deletion: Deletion, doubts: Doubts): readonly Opinion[] {
    return protectors.map((protector) => opinionOf(protector, this.#blocks(protector), deletion, doubts));
  }

  #handled(
    { cellID, pod, operation, lostNode }: Deletion,
    { user, isForced = false }: Caller,
    startMs: number,
    isRejected: boolean,
  ): void {
    this.#options.metrics.handledPod({
      cellID,
      namespace: pod.namespace,
      user,
      requestType: operation === "evict" ? "EvictPod" : lostNode === undefined ? "DeletePod" : "EndPod",
      isRejected: isRejected && !isForced,
      durationMs: this.#options.clock.monotonicMs() - startMs,
    });
  }

  /** Undefined = this one admits. */
  #answerOf(protector: Protector, outcome: SubmitOutcome<ReservationResult>, deletion: Deletion): Decision | undefined {
    const { id, core } = protector;
    switch (outcome.kind) {
      case "done":
        return afterReservation(protector, outcome.result, deletion);
      case "failed":
        return {
          kind: "error",
          tag: `Reserve/${errorLabel(outcome.error)}`,
          message: `cannot reserve PodProtector admission: error executing retry batch: ${messageOf(outcome.error)}`,
        };
      case "cancelled":
        return notInTime(id, core.trouble.message);
      case "overloaded":
        return queueFull(id);
      default:
        return assertNever(outcome);
    }
  }
}

function opinionOf(protector: Protector, blocks: boolean, deletion: Deletion, doubts: Doubts): Opinion {
  const { view, unusable, tombstone } = protector;
  if (tombstone !== undefined) return opinionOfTombstone(protector, blocks, tombstone, deletion);
  const isNoted = view !== undefined && !isProtected(view, deletion.pod.labels);
  if (unusable !== undefined) {
    if (isNoted) return { protector, blocks, says: "note", need: "quota" };
    return { protector, blocks, says: "refuse", need: "quota", verdict: { kind: "unusable", reason: unusable.reason } };
  }
  const verdict = verdictOn(protector, deletion);
  const need = verdict.kind === "admitted" ? verdict.need : "quota";
  if (isNoted) return { protector, blocks, says: "note", need: need === "record" ? "best-effort" : need };
  if (view !== undefined && !hasFloor(view.protector.spec.minAvailable))
    return need === "nothing"
      ? { protector, blocks, says: "admit", need }
      : { protector, blocks, says: "offer", need: "best-effort" };
  // What takes no quota is not written, so that a watch that is late would go unnoticed.
  const isUnwritten = deletion.pod.isUnseen || (view !== undefined && isForeignUnder(view, deletion));
  if (isUnwritten && !protector.isJustRead) protector.suspect();
  if (doubts === "ask" && protector.isDoubtful) return { protector, blocks, says: "ask", need };
  if (verdict.kind !== "admitted") return { protector, blocks, says: "refuse", need: "quota", verdict };
  return need === "nothing" ? { protector, blocks, says: "admit", need } : { protector, blocks, says: "ask", need };
}

/** What needs quota is refused: there is nothing that a write could take it from. Nothing else can be recorded. */
function opinionOfTombstone(protector: Protector, blocks: boolean, tombstone: Tombstone, deletion: Deletion): Opinion {
  const { view, core } = protector;
  const need = view === undefined ? "quota" : needUnder(view, deletion, core.rule);
  if (need === "nothing") return { protector, blocks, says: "admit", need };
  // Nobody counts what is seen.
  if (need !== "quota" && need !== "floor") return { protector, blocks, says: "note", need: "best-effort" };
  return { protector, blocks, says: "refuse", need: "quota", verdict: tombstoneVerdict(protector, tombstone) };
}

function tombstoneVerdict({ core }: Protector, tombstone: Tombstone): RefusingVerdict {
  return { kind: "tombstone", tombstone, goneForMs: core.clock.monotonicMs() - tombstone.sinceMs };
}

function verdictOn(protector: Protector, deletion: Deletion): Verdict {
  const [verdict] = protector.judge([deletion]).verdicts;
  assert(verdict !== undefined, "there is one verdict for each deletion");
  return verdict;
}

/**
 * Before a refusal by a state that may be old, the object is read live: by the next batch, so that many reviews cost
 * one GET (docs/decisions/0006-live-read-before-a-refusal.md).
 */
function reconsidered(opinion: Opinion): Opinion {
  if (opinion.says !== "refuse") return opinion;
  if (opinion.verdict.kind === "unusable" || opinion.verdict.kind === "tombstone") return opinion;
  const { protector, blocks } = opinion;
  const mayBeOld = protector.core.mayBeOld() && protector.suspect();
  return mayBeOld ? { protector, blocks, says: "ask", need: "quota" } : opinion;
}

type Refusal = Extract<Opinion, { readonly says: "refuse" }>;

function isRefusal(opinion: Opinion): opinion is Refusal {
  return opinion.says === "refuse";
}

/** What those that block refuse together, or what the others would. */
function refusalBy(opinions: readonly Opinion[], deletion: Deletion, blocks: boolean): Refused | undefined {
  const refusals = opinions
    .filter(isRefusal)
    .filter((one) => one.blocks === blocks)
    .map(refusingBy);
  const [first, ...others] = refusals;
  return first && refusedBy([first, ...others], deletion);
}

/** With what it awaits, so that it may be held. */
function refusedBy(all: readonly [RefusingProtector, ...RefusingProtector[]], deletion: Deletion): Refused {
  const reason = holdReasonOf(all, deletion);
  return { ...refusalOf(all, deletion.cellID), ...(reason !== undefined && { awaits: reason }) };
}

/** Whether it counts the pod still, for which it was judged before. */
function isInForce({ view, unusable, tombstone }: Protector, { pod }: Deletion): boolean {
  if (tombstone !== undefined || unusable !== undefined) return true;
  return view?.isReleased === false && isCounted(view, pod.labels);
}

function refusingBy({ protector, verdict }: Pick<Refusal, "protector" | "verdict">): RefusingProtector {
  const object = protector.view?.protector;
  const { cells, trouble } = protector.core;
  const coreTrouble = coreTroubleText(trouble.recentMessage, cells.unwrittenForMs());
  const lateForMs = (cellID: string): number | undefined => cells.lateForMs(cellID);
  const owner = object === undefined ? undefined : floorOwnerOf(object);
  return { id: protector.id, verdict, owner, lateForMs, coreTrouble };
}

function afterReservation(protector: Protector, result: ReservationResult, deletion: Deletion): Decision | undefined {
  const { id } = protector;
  switch (result.kind) {
    case "not-in-force":
      return undefined;
    case "vanished":
      return vanished(id);
    case "unusable":
      return refusedBy([refusingBy({ protector, verdict: result })], deletion);
    case "tombstone":
      return refusedBy([refusingBy({ protector, verdict: tombstoneVerdict(protector, result.tombstone) })], deletion);
    case "core-unavailable":
      return coreUnavailable(id, result.trouble);
    case "judged": {
      const refused = result.verdict.kind === "admitted" ? result.verdict.insteadOf : result.verdict;
      return refused && refusedBy([refusingBy({ protector, verdict: refused })], deletion);
    }
    default:
      return assertNever(result);
  }
}

/** Whether a PodProtector refuses that had no floor: its newest state has one, or is invalid. */
function isByState(outcome: SubmitOutcome<ReservationResult>, answer: Decision | undefined): boolean {
  if (outcome.kind !== "done" || answer === undefined) return false;
  return outcome.result.kind === "judged" || outcome.result.kind === "unusable";
}

/** The API server reviews a deletion again when the pod has changed meanwhile, or was an older one in its cache. */
function wasRecordedBefore(outcome: SubmitOutcome<ReservationResult>): boolean {
  if (outcome.kind !== "done" || outcome.result.kind !== "judged") return false;
  const { verdict } = outcome.result;
  return verdict.kind === "admitted" && verdict.isRepeated;
}

/** PodProtectors named in the audit annotation of an admission. */
const admittedNamesMax = 20;

/** `wouldBe`: what those in shadow would have refused. */
function admitted(opinions: readonly Opinion[], wouldBe: Refused | undefined): Allowed {
  const names = opinions.slice(0, admittedNamesMax).map(({ protector, need }) => `${protector.id}=${need}`);
  const audit: Audit = names.length === 0 ? {} : { "admit-by-podprotectors": names.join(",") };
  const decision = allowed("AdmittedAll", audit);
  return wouldBe === undefined ? decision : inShadow(decision, wouldBe);
}

/** Whether a record can be written, as far as the newest known state tells; else why not, as a word for the metric. */
function recordOutlook(
  protector: Protector,
  deletion: Deletion,
): "nothing" | "write" | "Unusable" | "Vanished" | LeftOutLabel {
  if (protector.tombstone !== undefined) return "Vanished";
  if (protector.unusable !== undefined) return "Unusable";
  if (protector.view === undefined) return "nothing";
  const verdict = verdictOn(protector, deletion);
  if (verdict.kind !== "admitted") return "write";
  if (verdict.need === "nothing") return "nothing";
  return verdict.leftOut === undefined || protector.isDoubtful ? "write" : leftOutLabels[verdict.leftOut];
}
