/**
 * Refusals in words (docs/webhook.md#refusals): which PodProtector, how many pods must stay, are available, are
 * promised and are free, per cell, and what to do. Each cause has a first sentence of its own; where upstream has that
 * cause, it is upstream's. 429 without retryAfterSeconds: see docs/decisions/0008-no-retry-after.md.
 */
import { type QuotaFigures } from "../../../accounting/reserve/quota-figures.ts";
import { type RefusingVerdict as QuotaVerdict } from "../../../accounting/reserve/reservation.ts";
import { type OpenAdmission } from "../../../accounting/history/oldest-open.ts";
import { assertNever } from "../../../util/assert.ts";
import { formatWholeSeconds } from "../../../api/micro-time.ts";
import { byHandKeyOf, generatorStateName } from "../../../kube/generator-state.ts";
import { type Tombstone } from "../../protector/departure.ts";
import { type Audit, type Cause, type Refused, refusedForNow, type RequestStatus } from "../decision.ts";
import { cellsNamedMax, figuresText, quoted } from "./figures-text.ts";
import { type FloorOwner } from "./floor-owner.ts";
import {
  ageText,
  unseenAdvice,
  unseenText,
  lateCells,
  lateText,
  missedText,
  retirementAdvice,
  silenceAdvice,
  unheardOf,
} from "./silence-text.ts";
import { printable } from "../../../util/printable.ts";

export type RefusingVerdict =
  | QuotaVerdict
  /** `reason`: why the PodProtector is invalid. */
  | { readonly kind: "unusable"; readonly reason: string }
  /** The PodProtector is gone without having been let go. */
  | { readonly kind: "tombstone"; readonly tombstone: Tombstone; readonly goneForMs: number };

/** A PodProtector (core/namespace/name) that refuses. */
export interface RefusingProtector {
  readonly id: string;
  readonly verdict: RefusingVerdict;
  /** Undefined = it is hand-made. */
  readonly owner: FloorOwner | undefined;
  /** For how long a cell has not been heard that is not silent yet; undefined = it is not late. Absent = none is. */
  readonly lateForMs?: (cellID: string) => number | undefined;
  /** What keeps its core from taking writes, for people; undefined = nothing. */
  readonly coreTrouble?: string | undefined;
}

/**
 * When quota comes back, as docs/accounting.md#the-promise has it at the defaults of the aggregator's flags: the fence
 * delay of 10 s and 5 s more; the settle window of 75 s and 60 s more.
 */
const settling =
  "a promised deletion settles a second or two after its pod begins to terminate; " +
  "one that is not carried out settles after about 15 s (evictions: 2 min)";

/** PodProtectors named in details.causes. */
const causesMax = 8;

/** `refusing`: at least one; the first one gives the message, all of them the causes. `cellID`: the cell of the pod. */
export function refusalOf(refusing: readonly [RefusingProtector, ...RefusingProtector[]], cellID: string): Refused {
  const [{ id, verdict, owner, lateForMs, coreTrouble }] = refusing;
  const causes = refusing.slice(0, causesMax).map(causeOf);
  if (verdict.kind === "unusable") return unusable(id, verdict.reason, causes);
  if (verdict.kind === "tombstone") return lost(id, verdict, causes);
  const late = lateCells(verdict.figures, lateForMs);
  const unheard = unheardOf(verdict, late);
  const { figures } = verdict;
  const help = [advice(verdict, { cellID, owner, unheard }), lateText(late), coreTrouble];
  const reason = `${firstSentence(id, verdict, unheard)}: ${explanation(verdict, cellID)}`;
  const message = [reason, figuresText(figures), ...help.filter((text) => text !== undefined)].join(". ");
  return { ...refusedForNow(statusOf(verdict), message, causes, auditOf(id, figures)), figures };
}

/** As one: the message and the numbers of the first, the causes of all. Each has one cause at least. */
export function joined(refusals: readonly Refused[]): Refused | undefined {
  const [first] = refusals;
  return first && { ...first, causes: refusals.flatMap(({ causes }) => causes).slice(0, causesMax) };
}

function causeOf({ id, verdict }: RefusingProtector): Cause {
  if (verdict.kind === "unusable") return { reason: "UnusablePodProtector", message: verdict.reason, field: id };
  if (verdict.kind === "tombstone") return { reason: "ProtectorLost", message: lostText(verdict), field: id };
  const figures = figuresText(verdict.figures);
  const others = remarkOnCells(verdict);
  return { reason: causeReason(verdict), message: others === "" ? figures : `${others}. ${figures}`, field: id };
}

/** Which cells the refusal is due to, where the figures alone do not tell. */
function remarkOnCells(verdict: QuotaVerdict): string {
  switch (verdict.kind) {
    case "counts-pending":
      return `No counts of ${namesOf(verdict.awaited)}`;
    case "cell-silent":
      return verdict.isRetiring === true
        ? "The cell of the pod is being retired"
        : `The cell of the pod has been silent for ${ageText(verdict.silentForMs)}`;
    case "rejected":
    case "retry":
      return verdict.missed === undefined ? "" : missedText(verdict.figures, verdict.missed);
    default:
      return assertNever(verdict);
  }
}

/** Waiting does not help, so it is no 429. */
function unusable(id: string, reason: string, causes: readonly Cause[]): Refused {
  return {
    kind: "refused",
    status: "ProtectorUnusable",
    code: 503,
    reason: "ServiceUnavailable",
    message: `PodProtector ${id} is invalid, so pod deletions are denied: ${reason}. Fix or delete the PodProtector`,
    causes,
    audit: { "reject-by-podprotector": id },
  };
}

type LostVerdict = Extract<RefusingVerdict, { readonly kind: "tombstone" }>;

/** It may be made again any moment. */
function lost(id: string, verdict: LostVerdict, causes: readonly Cause[]): Refused {
  const message = `PodProtector ${id} ${lostText(verdict)}, so its pods stay protected. ${lostAdvice(verdict)}`;
  return refusedForNow("ProtectorLost", message, causes, { "reject-by-podprotector": id });
}

function lostText({ tombstone, goneForMs }: LostVerdict): string {
  return (
    "is gone from the core cluster without having been released, " +
    `since ${formatWholeSeconds(tombstone.since)} (${ageText(goneForMs)})`
  );
}

/** A UID of Kubernetes has no characters that a key of a ConfigMap cannot have. */
function lostAdvice({ tombstone: { uid, maker, mayHaveBeenReleased, stateNamespace } }: LostVerdict): string {
  const unseen =
    "More PodProtectors were released than the generator's list holds while this webhook could not reach the core, " +
    "so it may have been released: it is let go after an hour unless it is made again";
  const byMaker = {
    generator:
      "The generator makes it again while the workload is there, or while it remembers it: check that it runs, and " +
      "that the CRD is there",
    "original-generator": "The generator makes it again as soon as it can; else it is let go after an hour",
    person: "It was made by hand: make it again",
  }[maker];
  const again = mayHaveBeenReleased === true ? unseen : byMaker;
  return (
    `${again}. To let it go by hand, add the key ${byHandKeyOf(printable(uid))} ` +
    `to the ConfigMap ${stateNamespace}/${generatorStateName} of the core cluster`
  );
}

/** The numbers of a decision as audit annotations. */
function auditOf(id: string, figures: QuotaFigures): Audit {
  return {
    "reject-by-podprotector": id,
    criterion: figures.criterion,
    required: String(figures.required),
    aggregated: String(figures.aggregated),
    estimated: String(figures.aggregated - figures.unconfirmed),
    unconfirmed: String(figures.unconfirmed),
  };
}

function statusOf(verdict: QuotaVerdict): RequestStatus {
  switch (verdict.kind) {
    case "rejected":
      return "Rejected";
    case "retry":
      return "RetryAdvised";
    case "counts-pending":
      return "CountsPending";
    case "cell-silent":
      return "CellSilent";
    default:
      return assertNever(verdict);
  }
}

function causeReason(verdict: QuotaVerdict): string {
  if (verdict.kind === "rejected") return "TooFewReplicas";
  if (verdict.kind !== "retry") return statusOf(verdict);
  return {
    unconfirmed: "UnconfirmedAdmissions",
    "lag-limit": "MaxConcurrentLag",
    "full-buffer": "FullBuffer",
    "full-status": "FullBuffer",
  }[verdict.cause];
}

/** `unheard`: cells that have to be heard first, so that the cause is theirs. */
function firstSentence(id: string, verdict: QuotaVerdict, unheard: readonly string[]): string {
  if (verdict.kind === "rejected" && verdict.missed === undefined)
    return `PodProtector ${id} reports too few ${nounOf(verdict)} replicas to admit pod deletion`;
  return `PodProtector ${id} ${lackOf(verdict, unheard)} and is temporarily unable to admit pod deletion`;
}

function lackOf(verdict: QuotaVerdict, unheard: readonly string[]): string {
  switch (verdict.kind) {
    case "cell-silent":
      return verdict.isRetiring === true ? "is losing this cell" : "has no news of this cell";
    case "counts-pending":
      if (verdict.silentForMs !== undefined) return "has no news of this cell";
      return unheard.length === 0
        ? `has no counts of ${namesOf(verdict.awaited)}`
        : `hears nothing of ${namesOf(unheard)}`;
    case "rejected":
      return `has no news of ${namesOf(verdict.missed ?? [])}`;
    case "retry":
      if (verdict.missed !== undefined) return `has no news of ${namesOf(verdict.missed)}`;
      return unheard.length === 0 ? fullnessOf(verdict.cause) : `hears nothing of ${namesOf(unheard)}`;
    default:
      return assertNever(verdict);
  }
}

function fullnessOf(cause: Extract<QuotaVerdict, { readonly kind: "retry" }>["cause"]): string {
  switch (cause) {
    case "unconfirmed":
      return "has promised all pods that may go";
    case "lag-limit":
      return "has promised as many deletions as maxConcurrentLag permits";
    case "full-buffer":
    case "full-status":
      return "has full admission buffer";
    default:
      return assertNever(cause);
  }
}

function nounOf({ figures }: QuotaVerdict): string {
  return figures.criterion.toLowerCase();
}

/** Why, without the numbers and the advice: a clause without a full stop. `cellID`: the cell of the pod. */
export function explanation(verdict: QuotaVerdict, cellID: string): string {
  const { required } = verdict.figures;
  const cell = quoted(cellID);
  switch (verdict.kind) {
    case "rejected":
      return verdict.isUnseen === true
        ? `${unseenText}, and fewer than the ${required} that must stay are seen${missedClause(verdict)}`
        : `without this pod fewer than the ${required} that must stay would be left${missedClause(verdict)}`;
    case "cell-silent":
      if (verdict.isRetiring === true) return `cell ${cell} is being retired, so nothing can be recorded there`;
      return (
        `nothing has been heard from cell ${cell} about this PodProtector for ${ageText(verdict.silentForMs)}, ` +
        "so nobody knows how many of its pods are available"
      );
    case "counts-pending":
      if (verdict.silentForMs !== undefined) {
        const silence = `nothing has been heard from cell ${cell} for ${ageText(verdict.silentForMs)}`;
        return `${silence}, and it had not counted what the PodProtector selects now`;
      }
      return verdict.awaited.includes(cellID)
        ? `the aggregator of cell ${cell} has not counted the pods that the PodProtector selects now`
        : "there may be enough replicas, but these aggregators have not counted what the PodProtector selects now";
    case "retry":
      switch (verdict.cause) {
        case "unconfirmed":
          return (
            `after the promised deletions fewer than the ${required} that must stay could be left` +
            missedClause(verdict)
          );
        case "lag-limit":
          return "no other is admitted before one of them has settled";
        case "full-buffer":
          return `the admission history of cell ${cell} is full`;
        case "full-status":
          return "the admission history of all cells together is as large as the object may be";
        default:
          return assertNever(verdict.cause);
      }
    default:
      return assertNever(verdict);
  }
}

function missedClause({ figures, missed }: Extract<QuotaVerdict, { readonly missed?: unknown }>): string {
  return missed === undefined ? "" : `; ${missedText(figures, missed)}`;
}

interface Advised {
  /** Of the pod. */
  readonly cellID: string;
  readonly owner: FloorOwner | undefined;
  readonly unheard: readonly string[];
}

function advice(verdict: QuotaVerdict, { cellID, owner, unheard }: Advised): string {
  switch (verdict.kind) {
    case "cell-silent":
      return verdict.isRetiring === true ? retirementAdvice(cellID) : silenceAdvice(cellID);
    case "rejected":
      if (verdict.missed?.[0] !== undefined) return silenceAdvice(verdict.missed[0]);
      if (verdict.isUnseen === true) return unseenAdvice;
      return `${outlook(verdict.figures, owner)}${floorAdvice(owner)}`;
    case "retry":
      if (verdict.missed?.[0] !== undefined) return silenceAdvice(verdict.missed[0]);
      return unheard.length > 0
        ? `What is promised in ${namesOf(unheard)} settles when ${itIs(unheard)} heard again${oldestOf(verdict)}`
        : `Try again in a few seconds: ${settling}${oldestOf(verdict)}`;
    case "counts-pending":
      if (verdict.silentForMs !== undefined) return silenceAdvice(cellID);
      if (unheard.length > 0) return `What the PodProtector selects there counts when ${itIs(unheard)} heard again`;
      if (verdict.figures.cells.some(({ counts }) => counts === "remade")) {
        return (
          "The PodProtector was gone and was made again a moment ago; " +
          "try again when what was promised before has settled, in about a minute"
        );
      }
      return (
        "Try again in a few seconds; if this persists, check that the aggregator of each such cell is running, " +
        "and that the URL of the webhook ends with its --aggregator-cell-id"
      );
    default:
      return assertNever(verdict);
  }
}

function itIs(cellIDs: readonly string[]): string {
  return cellIDs.length === 1 ? "it is" : "they are";
}

/** Who has promised deletions that are not carried out can be found by their pods. */
function oldestOf({ oldest = [] }: { readonly oldest?: readonly OpenAdmission[] }): string {
  if (oldest.length === 0) return "";
  const texts = oldest.map(({ cellID, pod, kind, ageSeconds }) => {
    const what = pod === undefined ? `${kind} pods` : `${kind} of pod ${quoted(pod)}`;
    return `${what} in cell ${quoted(cellID)}, ${ageSeconds} s ago`;
  });
  return `. Promised longest: ${texts.join("; ")}`;
}

/** What has to happen first, as far as that is known. */
function outlook({ required, total, criterion }: QuotaFigures, owner: FloorOwner | undefined): string {
  const noun = criterion.toLowerCase();
  if (owner?.isUndrainable === true) {
    const whose = `of an ${noun} one`;
    const never = `All replicas must stay, so outside rolling updates no deletion ${whose} can ever be admitted`;
    return owner.restart === undefined ? never : `${never}. To move the pods: ${owner.restart}`;
  }
  if (total === undefined || total > required) return `Wait until more than ${required} replicas are ${noun}`;
  // A replacement may be on its way, or never come: that is not known.
  const short = `Only ${total} ${total === 1 ? "replica exists" : "replicas exist"} now`;
  return `${short}: no ${noun} one may go until there are more than ${required}`;
}

/** Where a person may change the floor. The annotation that forces a deletion is for docs/refusals.md to tell. */
function floorAdvice(owner: FloorOwner | undefined): string {
  if (owner === undefined)
    return ". If none is on its way, scale the workload up, or lower spec.minAvailable of the PodProtector";
  const { name, fields, overrides, undone, hasVanished } = owner;
  if (hasVanished) return `. The floor was set by ${name}, which vanished without being deleted: create it again`;
  const or = overrides === undefined ? "" : `, or by ${overrides}`;
  return `. The floor is set by ${fields} of ${name}${or}; ${undone} are undone`;
}

function namesOf(cellIDs: readonly string[]): string {
  const names = cellIDs.slice(0, cellsNamedMax).map(quoted).join(", ");
  if (cellIDs.length === 1) return `cell ${names}`;
  const more = cellIDs.length - cellsNamedMax;
  return `cells ${names}${more > 0 ? ` and ${more} more` : ""}`;
}
