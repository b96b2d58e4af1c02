/** Checks every review: answered at most once by each replica that was asked, and never "allowed" for quota without a record under the floor's rule. */
import { type PodRecord, readAnnotations, readPod } from "../../../src/api/pod.ts";
import { annotations } from "../../../src/api/v1alpha1/names.ts";
import { availableFrom } from "../../../src/core/health-criterion.ts";
import { type JsonObject, asObject, asString } from "../../double/engine/object.ts";
import { type ReviewObserver } from "../network/reviews.ts";
import { type Kernel } from "../kernel/kernel.ts";
import { type SimProcess } from "../processes/process.ts";
import { type AccountingChecker } from "./accounting.ts";
import { type Ledger } from "./ledger.ts";

/** A webhook whose clock is that much behind may still call a pod young (design 2.6 reports it apart). */
const youthSlackMs = 1_000;

/** What the checker sees of its world. */
interface Reviewed {
  readonly kernel: Kernel;
  readonly ledger: Ledger;
  readonly checkers: ReadonlyMap<string, AccountingChecker>;
  readonly webhooks: readonly SimProcess[];
  /** Whether a replica had been told of a revision of the core by then. */
  knew(replica: string, revision: number, atMs: number): boolean;
  readonly totals: { admitted: number; refused: number };
}

export class ReviewChecker implements ReviewObserver {
  readonly #world: Reviewed;

  constructor(world: Reviewed) {
    this.#world = world;
  }

  answered(review: JsonObject, cell: string, answer: JsonObject, by: { replica: string; arrivedMs: number }): void {
    const { replica, arrivedMs } = by;
    const { kernel, totals, ledger, checkers } = this.#world;
    const request = asObject(review["request"]);
    const old = readPod(request["oldObject"]);
    const name = asString(request["name"]) || (old?.name ?? "");
    const isAllowed = answer["allowed"] === true;
    const operation = request["operation"] === "CREATE" ? "evict" : "delete";
    const status = isAllowed ? "" : ` ${String(asObject(answer["status"])["message"]).slice(0, 160)}`;
    kernel.note(`${replica} ${operation} ${cell}/${name} ${isAllowed ? "allowed" : `refused${status}`}`);
    if (answer["uid"] !== request["uid"]) kernel.fail(`${replica} answers another review than it was asked`);
    if (!isAllowed || request["dryRun"] === true) {
      totals.refused += isAllowed ? 0 : 1;
      return;
    }
    const pod = [...ledger.pods.values()].find(
      (one) =>
        one.cell === cell &&
        (operation === "delete" ? one.uid === old?.uid : one.name === name && one.goneAt === undefined),
    );
    if (pod === undefined) return;
    const isForced = isForcedReview(request);
    const isKnown = ({ editedRevision }: AccountingChecker): boolean =>
      this.#world.knew(replica, editedRevision, arrivedMs);
    const unknown = new Set([...checkers].flatMap(([name, checker]) => (isKnown(checker) ? [] : [name])));
    ledger.admitted(cell, request, pod.uid, { isForced, unknown });
    const record = operation === "delete" ? old : pod.versions.at(-1)?.record;
    if (record === undefined || record.terminating || isForced) return;
    totals.admitted += 1;
    // The pod of an eviction was read some time during the review, so only what it was all the time is known.
    const before = operation === "delete" ? old : pod.versions.findLast(({ atMs }) => atMs < arrivedMs)?.record;
    if (before === undefined) return;
    for (const [protector, checker] of checkers) {
      if (checker.object === undefined || unknown.has(protector)) continue;
      if (![before, record].every((one) => checker.concerns(one))) continue;
      const { minReadySeconds } = checker.object.spec;
      if (![before, record].every((one) => this.#needsQuota(one, minReadySeconds, arrivedMs))) continue;
      checker.answered(pod.uid, arrivedMs);
    }
  }

  /** Pods that may have been judged too young, or unready by a reader a moment earlier, are left out. */
  #needsQuota(record: PodRecord, minReadySeconds: number, arrivedMs: number): boolean {
    const from = availableFrom(record, minReadySeconds);
    if (from === undefined) return false;
    const slackMs = minReadySeconds === 0 ? 0 : youthSlackMs + this.#slowestWebhookMs();
    const arrivedMicros = this.#world.ledger.microsAt(arrivedMs);
    return from <= arrivedMicros - slackMs * 1000;
  }

  #slowestWebhookMs(): number {
    return Math.max(0, ...this.#world.webhooks.map((webhook) => -(webhook.node()?.wallClockErrorMs ?? 0)));
  }
}

function isForcedReview(request: JsonObject): boolean {
  const forced = annotations.forceDelete;
  return (
    forced in readAnnotations(request["oldObject"]) ||
    asString(readAnnotations(request["object"])[forced]) !== undefined
  );
}
