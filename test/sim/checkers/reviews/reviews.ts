/**
 * Checks every review: answered in time by each replica that was asked, and never "allowed" for quota without a record
 * under the floor's rule.
 */
import { type PodRecord, readAnnotations, readPodRecord } from "../../../../src/api/pod.ts";
import { annotations } from "../../../../src/api/v1alpha1/names.ts";
import { type PodProtectorSpec } from "../../../../src/api/v1alpha1/pod-protector.ts";
import { type EpochMicros } from "../../../../src/util/clock.ts";
import { availableFrom, canMeet, isUnseenBy } from "../../../../src/accounting/count/health-criterion.ts";
import { type JsonObject, asObject, asString } from "../../../double/engine/object.ts";
import { type Answering, type Arrival, type ReviewObserver } from "../../network/reviews.ts";
import { namespace as ownNamespace } from "../../clusters/namespaces.ts";
import { type Kernel } from "../../kernel/kernel.ts";
import { type SimNode } from "../../kernel/node.ts";
import { firstCore } from "../../clusters/core-names.ts";
import { type Core } from "../../core.ts";
import { type Plan } from "../../plan.ts";
import { type SimProcess } from "../../processes/process.ts";
import { type AccountingChecker } from "../accounting/accounting.ts";
import { type Orphans } from "../orphans.ts";
import { type Ledger, type TruePod } from "../accounting/ledger.ts";
import { type RefusalChecker } from "./refusals.ts";
import { type ShadowMode } from "./shadows.ts";
import { checkAnswered, checkUnanswered } from "./review-times.ts";

/** A Ready time that is further ahead is not believed (docs/accounting.md#ready-times), and moments of a review. */
const aheadMs = 10_000;
/** A webhook whose clock is that much behind may still call a pod young (docs/accounting.md#what-is-left-open). */
const youthSlackMs = 1_000;

/** A review has left the webhook for certain after so long. */
const earnestMs = 60_000;

/** What the checker sees of its world. */
interface Reviewed {
  readonly kernel: Kernel;
  readonly ledger: Ledger;
  /** Of all cores. */
  readonly checkers: ReadonlyMap<string, AccountingChecker>;
  readonly cores: readonly Core[];
  readonly webhooks: readonly SimProcess[];
  readonly totals: { admitted: number; refused: number };
  readonly refusals: RefusalChecker;
  readonly orphans: Pick<Orphans, "letGo">;
  readonly plan: Plan;
  readonly isOfThisRelease: (replica: string) => boolean;
  /** Nothing in this world keeps the product from its promises. */
  readonly isExact: boolean;
}

/** A pod as it was when its deletion was asked for. */
interface Asked {
  readonly replica: string;
  readonly uid: string;
  readonly record: PodRecord;
  readonly arrivedMs: number;
}

export class ReviewChecker implements ReviewObserver {
  readonly #world: Reviewed;
  /** When a deletion of the pod was asked for last, not as a dry run; by cell and name. */
  readonly #askedAtMs = new Map<string, number>();
  /** Reviews that have reached a replica since it last started and have not been answered. */
  readonly #open = new WeakMap<SimNode, number>();

  constructor(world: Reviewed) {
    this.#world = world;
  }

  asked(review: JsonObject, cell: string): void {
    const request = asObject(review["request"]);
    if (request["dryRun"] === true) return;
    const metadata = asObject(asObject(request["oldObject"] ?? request["object"])["metadata"]);
    this.#askedAtMs.set(`${cell}/${asString(metadata["name"]) ?? ""}`, this.#world.kernel.nowMs);
  }

  openAt(node: SimNode): number {
    return this.#open.get(node) ?? 0;
  }

  arrived({ node }: Arrival): void {
    this.#open.set(node, this.openAt(node) + 1);
  }

  left(arrival: Arrival, replica: string, failure: string | undefined): void {
    const { kernel } = this.#world;
    this.#open.set(arrival.node, this.openAt(arrival.node) - 1);
    checkAnswered(kernel, `a review at ${replica}`, arrival);
    // What the HTTP app says when a handler throws. The previous release has mistakes that are mended in this one.
    if (failure?.includes("unexpected failure") !== true) return;
    if (this.#world.isOfThisRelease(replica)) kernel.fail(`${replica} has made a mistake: ${failure}`);
  }

  unanswered(arrival: Arrival, replica: string): void {
    checkUnanswered(this.#world.kernel, `a review at ${replica}`, arrival);
  }

  answered(review: JsonObject, cell: string, answer: JsonObject, by: Answering): void {
    const { replica, arrivedMs } = by;
    const { kernel, totals, ledger, checkers } = this.#world;
    const request = asObject(review["request"]);
    const old = readPodRecord(request["oldObject"]);
    const name = asString(request["name"]) || (old?.name ?? "");
    const isAllowed = answer["allowed"] === true;
    const operation = request["operation"] === "CREATE" ? "evict" : "delete";
    const status = isAllowed ? "" : ` ${String(asObject(answer["status"])["message"]).slice(0, 160)}`;
    kernel.note(`${replica} ${operation} ${cell}/${name} ${isAllowed ? "allowed" : `refused${status}`}`);
    if (answer["uid"] !== request["uid"]) kernel.fail(`${replica} answers another review than it was asked`);
    this.#checkShadow(cell, name, answer, by);
    if (isAllowed && request["dryRun"] === true && old !== undefined) this.#checkDryRun(cell, old, arrivedMs);
    const pod = operation === "delete" ? ledger.pods.get(old?.uid ?? "") : ledger.present(cell, name);
    if (!isAllowed) {
      totals.refused += 1;
      if (mayBeHeld(request)) this.#world.refusals.refusedAfter(by, causesOf(answer));
      const present = pod?.cell === cell && pod.goneAt === undefined ? pod.versions.at(-1)?.record : undefined;
      // Else not every replica can find the pod of an eviction.
      const canBeFound = operation === "delete" || this.#world.plan.evictedPods === "map";
      const isUnfitting = pod !== undefined && isConflict(answer) && !mustFit(request, pod, arrivedMs);
      if (present?.isTerminating === false && canBeFound && !isUnfitting)
        this.#world.refusals.refused(replica, cell, present, status);
    }
    if (!isAllowed || request["dryRun"] === true) return;
    if (pod === undefined || pod.cell !== cell) return;
    const isForced = isForcedReview(request) || isLetGo(answer);
    if (isLetGo(answer)) this.#world.orphans.letGo(replica, cell, nodeOf(request));
    const unknown = new Set(
      [...checkers].flatMap(([name, checker]) => (checker.mustBeKnownTo(replica, arrivedMs) ? [] : [name])),
    );
    // The webhook has judged the one before, and the eviction deletes whoever has the name.
    const isSuccessor = operation !== "delete" && (pod.versions[0]?.atMs ?? 0) > arrivedMs;
    const shadowed = new Set([...checkers.keys()].filter((one) => this.#mayBe("shadow", one, replica, arrivedMs)));
    const recorded = new Set(
      [...checkers].flatMap(([name, checker]) => (checker.hasRecorded(pod.uid, arrivedMs) ? [name] : [])),
    );
    ledger.admitted(cell, request, pod.uid, { isForced, isSuccessor, unknown, shadowed, recorded });
    const record = operation === "delete" ? old : pod.versions.at(-1)?.record;
    if (record === undefined || record.isTerminating || isForced) return;
    totals.admitted += 1;
    // The pod of an eviction was read some time during the review, so only what it was all the time is known.
    const before = operation === "delete" ? old : pod.versions.findLast(({ atMs }) => atMs < arrivedMs)?.record;
    if (before === undefined) return;
    for (const [protector, checker] of checkers) {
      const spec = checker.specFor(replica, arrivedMs);
      // Without a floor, records are best effort.
      if (spec === undefined || spec.minAvailable <= 0 || unknown.has(protector) || shadowed.has(protector)) continue;
      const { strangers, object } = checker.standing;
      if ([before, record].some((one) => strangers.mayBeLeftOut(one, cell, object, arrivedMs))) continue;
      const needsQuota = [before, record].every(
        (one) =>
          checker.concerns(one) && this.#needsQuota(checker, { replica, uid: pod.uid, record: one, arrivedMs }, spec),
      );
      const isUnseen = [before, record].every((one) => checker.concerns(one) && isUnseenBy(checker.criterion, one));
      const serving = isUnseen && this.#promisesUnseen(replica) ? checker.room.servingBelowFloor() : undefined;
      if (serving !== undefined) kernel.fail(`${serving} pods of ${protector} serve, and ${name}, unseen, may go`);
      if (!needsQuota) continue;
      if (checker.object !== undefined) checker.answered(pod.uid, arrivedMs);
      else kernel.fail(`${replica} admits the deletion of ${name} while ${protector} is lost, which it knew`);
    }
  }

  /** Not the release before, and not where replicas lend without seeing each other. */
  #promisesUnseen(replica: string): boolean {
    const { isExact, plan } = this.#world;
    return isExact && this.#world.isOfThisRelease(replica) && !plan.faults.has("last-known-quota");
  }

  /** What is in shadow refuses nothing, and what is not in shadow lets nothing go. */
  #checkShadow(cell: string, pod: string, answer: JsonObject, by: { replica: string; arrivedMs: number }): void {
    const { kernel, plan } = this.#world;
    const { replica, arrivedMs } = by;
    const { shadow, "reject-by-podprotector": id, "dry-run": dryRun } = asObject(answer["auditAnnotations"]);
    // With --webhook-dry-run all are in shadow.
    if (!this.#world.isOfThisRelease(replica) || plan.faults.has("webhook-dry-runs") || dryRun !== undefined) return;
    const [core, of, name] = asString(id)?.split("/") ?? [];
    if (core === undefined || name === undefined || of !== ownNamespace) return;
    const protector = core === firstCore ? name : `${core}/${name}`;
    const isAllowed = answer["allowed"] === true;
    if (isAllowed && shadow !== undefined && !this.#mayBe("shadow", protector, replica, arrivedMs))
      kernel.fail(`${replica} lets ${cell}/${pod} go in shadow, but ${protector} is enforced`);
    if (!isAllowed && !this.#mayBe("enforced", protector, replica, arrivedMs))
      kernel.fail(`${replica} refuses ${cell}/${pod} for ${protector}, which is in shadow`);
  }

  /** Whether the replica may have taken the PodProtector for that. */
  #mayBe(mode: ShadowMode, protector: string, replica: string, arrivedMs: number): boolean {
    const [name = "", core = firstCore] = protector.split("/").toReversed();
    const found = this.#world.cores.find((one) => one.name === core);
    return found?.shadows.mayBe(mode, replica, name, arrivedMs) === true;
  }

  #needsQuota(
    checker: AccountingChecker,
    { replica, uid, record, arrivedMs }: Asked,
    { minReadySeconds }: Pick<PodProtectorSpec, "minReadySeconds">,
  ): boolean {
    if (checker.criterion !== "Available" || !canMeet("Available", record)) return canMeet(checker.criterion, record);
    const soonest = this.#world.ledger.microsAt(arrivedMs + this.#fastestWebhookMs() + aheadMs);
    const { readySince = Number.POSITIVE_INFINITY } = record;
    // No webhook's clock has come to that time, if there is one.
    if (readySince > soonest && this.#world.isOfThisRelease(replica)) return true;
    const from = availableFrom(record, minReadySeconds);
    if (from === undefined) return false;
    return checker.wasOldByData(uid, from, arrivedMs) || this.#isOld(from, minReadySeconds, arrivedMs);
  }

  /** Judged, but not written; when nobody has asked in earnest for a while, nobody else has written either. */
  #checkDryRun(cell: string, { uid, name }: PodRecord, arrivedMs: number): void {
    const { kernel, checkers } = this.#world;
    const askedAtMs = this.#askedAtMs.get(`${cell}/${name}`) ?? Number.NEGATIVE_INFINITY;
    if (kernel.nowMs - askedAtMs < earnestMs) return;
    for (const checker of checkers.values()) {
      if (checker.hasRecorded(uid, arrivedMs)) kernel.fail(`a dry run has recorded the deletion of ${name}`);
    }
  }

  /** By any webhook's clock, or for so long that no clock makes it young. */
  #isOld(from: EpochMicros, minReadySeconds: number, arrivedMs: number): boolean {
    const { ledger } = this.#world;
    const ageMs = (ledger.microsAt(arrivedMs) - from) / 1000;
    if (minReadySeconds === 0 || ageMs >= youthSlackMs + this.#slowestWebhookMs()) return true;
    return ageMs >= youthSlackMs && !ledger.exclusions.excuses("slow clock", arrivedMs - ageMs);
  }

  #fastestWebhookMs(): number {
    return Math.max(0, ...this.#world.webhooks.map((webhook) => webhook.node()?.wallClockErrorMs ?? 0));
  }

  #slowestWebhookMs(): number {
    return Math.max(0, ...this.#world.webhooks.map((webhook) => -(webhook.node()?.wallClockErrorMs ?? 0)));
  }
}

/** By the product's word: of a lost node that has been kept for long enough (scenarios/48c-orphans-are-let-go.txt). */
function isLetGo(answer: JsonObject): boolean {
  return asObject(answer["auditAnnotations"])["orphan-let-go"] !== undefined;
}

function isConflict(answer: JsonObject): boolean {
  return asObject(answer["status"])["reason"] === "Conflict";
}

/** The preconditions of the eviction fit the pod whenever it was looked at since the review came. */
function mustFit(request: JsonObject, { uid, versions }: TruePod, arrivedMs: number): boolean {
  const options = asObject(asObject(request["object"])["deleteOptions"]);
  const named = asObject(options["preconditions"]);
  const before = versions.findLastIndex(({ atMs }) => atMs <= arrivedMs);
  const seen = versions.slice(Math.max(0, before));
  const fits = (wanted: unknown, present: string): boolean => wanted === undefined || wanted === present;
  return seen.every(({ record }) => fits(named["resourceVersion"], record.resourceVersion)) && fits(named["uid"], uid);
}

function nodeOf(request: JsonObject): string {
  return asString(asObject(asObject(request["oldObject"])["spec"])["nodeName"]) ?? "";
}

function causesOf(answer: JsonObject): readonly unknown[] {
  const { causes } = asObject(asObject(answer["status"])["details"]);
  return Array.isArray(causes) ? causes.map((cause) => asObject(cause)["reason"]) : [];
}

/** Neither a dry run, nor by whom nothing is held. */
function mayBeHeld(request: JsonObject): boolean {
  const options = asObject(asObject(request["object"])["deleteOptions"]);
  const user = asString(asObject(request["userInfo"])["username"]) ?? "";
  const isDryRun = request["dryRun"] === true || options["dryRun"] !== undefined;
  return !isDryRun && request["operation"] !== "UPDATE" && !user.startsWith("system:");
}

function isForcedReview(request: JsonObject): boolean {
  const forced = annotations.forceDelete;
  return (
    forced in readAnnotations(request["oldObject"]) ||
    asString(readAnnotations(request["object"])[forced]) !== undefined
  );
}
