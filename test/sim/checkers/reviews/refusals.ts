/**
 * Nothing is refused without need: while all is well, and there has been room under every floor that concerns the pod
 * for a while, its deletion is admitted. What is well, and what room is, is judged by the truth. And while all is well,
 * nothing is refused at once that only promised deletions are in the way of.
 */
import { silenceTimes } from "../../../../src/accounting/silence/silence-times.ts";
import { type PodRecord } from "../../../../src/api/pod.ts";
import { type Kernel } from "../../kernel/kernel.ts";
import { type Plan } from "../../plan.ts";
import { type SimProcess } from "../../processes/process.ts";
import { type Answering } from "../../network/reviews.ts";
import { type AccountingChecker } from "../accounting/accounting.ts";

/** Counts, and settled admissions, are written about a second after they could be. */
const roomForMs = 3_000;
/** Somebody else's admission, by which the refusal was judged, may be under way to the core. */
const graceMs = 1_000;
/** Of --webhook-refusal-hold, and at most half of the deadline (docs/webhook.md#held-reviews). */
const holdMs = 1_000;
/** The API server rounds its timeout up to whole seconds. */
const roundingMs = 1_000;
/** Timers of one moment. */
const toleranceMs = 1;
/** They pass within a moment. */
const passing: readonly unknown[] = ["UnconfirmedAdmissions", "MaxConcurrentLag"];
/** After an edit of what is counted, each cell is counted anew when its snapshot has passed a barrier. */
const recountedMs = { withTrigger: roomForMs, withoutTrigger: 75_000 };

export interface RefusalOptions {
  readonly kernel: Kernel;
  readonly checkers: ReadonlyMap<string, AccountingChecker>;
  readonly plan: Pick<Plan, "updateTrigger" | "silentAfterMs">;
  /** Of webhooks and aggregators. */
  readonly settleWindowMs: number;
  /** What nothing is demanded of. */
  readonly lost: { readonly cells: ReadonlySet<string>; readonly processes: ReadonlySet<SimProcess> };
  /** Its core will never come back: what needs quota of it is refused. */
  readonly isAway: (checker: AccountingChecker) => boolean;
  /** Nothing has gone wrong since the world began, or since everything was mended. */
  readonly isCalm: () => boolean;
  /** The previous release takes quota also where nothing must stay, and waits for counts there. */
  readonly isOfThisRelease: (replica: string) => boolean;
}

export class RefusalChecker {
  readonly #options: RefusalOptions;
  #calmSinceMs: number | undefined;

  constructor(options: RefusalOptions) {
    this.#options = options;
  }

  /** A pod or a PodProtector is another one than before. */
  changed(): void {
    const { kernel, checkers, isCalm } = this.#options;
    if (!isCalm()) {
      if (this.#calmSinceMs !== undefined) for (const { room } of checkers.values()) room.forget();
      this.#calmSinceMs = undefined;
      return;
    }
    this.#calmSinceMs ??= kernel.nowMs;
    for (const { room } of checkers.values()) room.observe();
  }

  /** A replica has refused the deletion of the pod, as it is now. */
  refused(replica: string, cell: string, pod: PodRecord, message: string): void {
    const { kernel, checkers, lost, isAway, isOfThisRelease } = this.#options;
    if (lost.cells.has(cell) || [...lost.processes].some(({ name }) => name === replica)) return;
    const concerned = [...checkers.values()].filter((checker) => checker.concerns(pod));
    const hasNoFloor = concerned.some(({ object }) => object !== undefined && object.spec.minAvailable <= 0);
    if (hasNoFloor && !isOfThisRelease(replica)) return;
    const sinceMs = kernel.nowMs - roomForMs;
    if (concerned.length === 0 || concerned.some(isAway) || !this.#isWellSince(sinceMs, concerned)) return;
    kernel.schedule(graceMs, () => {
      if (!this.#isWellSince(sinceMs, concerned)) return;
      const rooms = concerned.map(({ room, name }) => ({ name, free: room.since(sinceMs, cell) }));
      if (rooms.some(({ free }) => free <= 0)) return;
      const text = rooms.map(({ name, free }) => `${free} of ${name}`).join(" and ");
      kernel.fail(`${replica} refused ${pod.name} although there was room for ${text}: ${message}`);
    });
  }

  /** A review that may be held is refused for these reasons. */
  refusedAfter({ replica, arrivedMs, timeoutMs }: Answering, causes: readonly unknown[]): void {
    const { kernel, isCalm, isOfThisRelease } = this.#options;
    if (!isCalm() || this.#calmSinceMs === undefined || this.#calmSinceMs > arrivedMs) return;
    if (!isOfThisRelease(replica) || causes.length === 0 || !causes.every((cause) => passing.includes(cause))) return;
    const deadlineMs = Math.max(timeoutMs - roundingMs, timeoutMs / 2);
    const heldMs = kernel.nowMs - arrivedMs;
    if (heldMs + toleranceMs >= Math.min(holdMs, deadlineMs / 2)) return;
    kernel.fail(`${replica} refused after ${Math.round(heldMs)} ms what promised deletions alone are in the way of`);
  }

  /** All was well, and the webhooks could know what is counted. */
  #isWellSince(sinceMs: number, concerned: readonly AccountingChecker[]): boolean {
    const { kernel, plan, settleWindowMs, isCalm } = this.#options;
    if (!isCalm() || this.#calmSinceMs === undefined || this.#calmSinceMs > sinceMs) return false;
    const { withTrigger, withoutTrigger } = recountedMs;
    const recountsMs = plan.updateTrigger ? withTrigger : withoutTrigger;
    const recountedByMs = (atMs: number): boolean => kernel.nowMs - atMs >= recountsMs + graceMs;
    // While it is not counted, Leases may name it as behind: then the next beat and the next LIST end the silence.
    const { beatMs, observeMs } = silenceTimes(plan.silentAfterMs);
    const toldByMs = kernel.nowMs - settleWindowMs - recountsMs - beatMs - observeMs - graceMs;
    // An invalid one admits nothing.
    return concerned.every(
      (checker) => checker.isValid && recountedByMs(checker.edit.sinceMs) && checker.wasToldOfBy(toldByMs),
    );
  }
}
