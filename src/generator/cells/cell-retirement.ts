/**
 * The retirement of cells (docs/cells.md#retire-a-cell). A person asks for it by the annotation `forget` on the cell's
 * Lease. It begins when nothing was heard of the cell for as long as makes it silent; whoever is heard of when the
 * request is old is a reason to refuse. Then the cell leaves all PodProtectors, some at a time, each when its entry has
 * stood unchanged (leaving-cells.ts), and at last the Lease goes. Nothing is remembered but when requests were first
 * seen: they are on the Leases, what is left to do is in the PodProtectors, so a new leader goes on, later.
 */
import { type ObservedCell } from "../../accounting/silence/cell-silence.ts";
import { type SilenceTimes } from "../../accounting/silence/silence-times.ts";
import { type Clock, later, laterOf, type MonotonicMs } from "../../util/clock.ts";
import { type CellLease, cellLeaseAnnotations } from "../../api/cell-lease.ts";
import { type EventRecorder } from "../../kube/event-recorder.ts";
import { type Informer } from "../../kube/informer.ts";
import { type StoredProtector } from "../../kube/resources.ts";
import { assertNever } from "../../util/assert.ts";
import { type Logger } from "../../util/logger.ts";
import { type CellLeaseWrites } from "./cell-lease-writes.ts";
import { type CellRemovals } from "./cell-removals.ts";
import { type RetirementVerdict } from "./leaving-cells.ts";

interface Request {
  /** When it was first seen. */
  readonly askedAtMs: MonotonicMs;
  /** By the last LIST of the Leases. */
  readonly verdict: RetirementVerdict;
  /** Entries that change nevertheless, as they were told. */
  readonly changed: string;
}

/**
 * PodProtectors in one round, which is 15 s by default: 10 a second, a read and a write each, are a tenth of what a
 * client may ask of the core by default. 10,000 take 17 minutes, and nobody waits for them.
 */
const perRoundDefault = 150;

export interface CellRetirementOptions {
  readonly times: SilenceTimes;
  readonly protectors: Pick<Informer<StoredProtector>, "values">;
  readonly removals: Pick<CellRemovals, "retiring" | "changed">;
  /** PodProtectors in one round; undefined = as in production. */
  readonly perRound?: number | undefined;
  readonly writes: Pick<CellLeaseWrites, "reference" | "annotate" | "remove">;
  readonly events: Pick<EventRecorder, "record">;
  readonly clock: Clock;
  readonly logger: Logger;
}

export class CellRetirement {
  readonly #options: CellRetirementOptions;
  /** By cell. As many as there are Leases with the annotation. */
  #requests: ReadonlyMap<string, Request> = new Map();
  /** By retiring cell, how many PodProtectors have it. */
  #left: ReadonlyMap<string, number> = new Map();
  #protectorsLeft = 0;

  constructor(options: CellRetirementOptions) {
    this.#options = options;
  }

  /** Undefined = nobody has asked. */
  verdictOn(cellID: string): RetirementVerdict | undefined {
    return this.#requests.get(cellID)?.verdict;
  }

  sizes(): { readonly retiring: number; readonly retiringProtectors: number } {
    return { retiring: this.#left.size, retiringProtectors: this.#protectorsLeft };
  }

  /** One round, after each LIST of the Leases. Never rejects. */
  async update(cells: readonly ObservedCell[], signal: AbortSignal): Promise<void> {
    const before = this.#requests;
    this.#requests = this.#judge(cells);
    this.#count();
    for (const { cellID, lease } of cells) {
      const request = this.#requests.get(cellID);
      if (request === undefined || lease === undefined || signal.aborted) continue;
      const { verdict, changed } = request;
      if (before.get(cellID)?.verdict !== verdict) this.#tell(lease, cellID, verdict);
      if (changed !== "" && before.get(cellID)?.changed !== changed) this.#tellOfChanges(lease, cellID, changed);
      if (verdict === "refused") await this.#refuse(lease, signal);
      else if (this.#left.get(cellID) === 0) await this.#end(lease, cellID, signal);
    }
  }

  #judge(cells: readonly ObservedCell[]): ReadonlyMap<string, Request> {
    const { clock, removals } = this.#options;
    const nowMs = clock.monotonicMs();
    const requests = new Map<string, Request>();
    for (const cell of cells) {
      const { cellID, lease } = cell;
      if (lease?.isForgotten !== true) continue;
      const askedAtMs = this.#requests.get(cellID)?.askedAtMs ?? nowMs;
      const verdict = this.#verdict(cell, lease, askedAtMs, nowMs);
      requests.set(cellID, { askedAtMs, verdict, changed: verdict === "retiring" ? removals.changed(cellID) : "" });
    }
    return requests;
  }

  #verdict(
    { beatAt, silentSince, otherCounterAt }: ObservedCell,
    { isHurried }: CellLease,
    askedAtMs: MonotonicMs,
    nowMs: MonotonicMs,
  ): RetirementVerdict {
    const { contactMs, silentAfterMs } = this.#options.times;
    const countedAt = isHurried ? undefined : otherCounterAt;
    // The last beats of an aggregator that is just being stopped are no reason to refuse.
    if (later(askedAtMs, contactMs) < laterOf(beatAt, countedAt)) return "refused";
    // What was found silent when this process started may be a guess, by shorter times.
    const isUnheard = silentSince !== undefined && later(laterOf(silentSince, countedAt), silentAfterMs) <= nowMs;
    if (!isUnheard) return "waiting";
    return isHurried ? "hurried" : "retiring";
  }

  /** Which PodProtectors have retiring cells. Hands the first of them over. */
  #count(): void {
    const left = new Map<string, number>();
    for (const [cellID, { verdict }] of this.#requests)
      if (verdict === "retiring" || verdict === "hurried") left.set(cellID, 0);
    this.#left = left;
    this.#protectorsLeft = 0;
    if (left.size === 0) return;
    const { protectors, removals, perRound = perRoundDefault } = this.#options;
    let handedOver = 0;
    for (const stored of protectors.values()) {
      const leaving = (stored.protector.status?.cells ?? []).filter(({ cellID }) => left.has(cellID));
      if (leaving.length === 0) continue;
      for (const { cellID } of leaving) left.set(cellID, (left.get(cellID) ?? 0) + 1);
      this.#protectorsLeft += 1;
      // Those that change nevertheless keep no others waiting.
      if (removals.retiring(stored, handedOver < perRound)) handedOver += 1;
    }
  }

  /** The cell goes on as if nobody had asked. A Lease that never had a holder was made by a person, to ask. */
  async #refuse(lease: CellLease, signal: AbortSignal): Promise<void> {
    const { writes } = this.#options;
    if (lease.holderIdentity === "") await writes.remove(lease, signal);
    else await writes.annotate(lease, cellLeaseAnnotations.forget, null, signal);
  }

  async #end(lease: CellLease, cellID: string, signal: AbortSignal): Promise<void> {
    const { writes, events, logger } = this.#options;
    if ((await writes.remove(lease, signal)) !== "written") return;
    logger.info("Retired a cell: no PodProtector has it any more", { cell: cellID });
    const message = `Cell "${cellID}" is retired: no PodProtector has it any more, and its Lease is deleted`;
    events.record(writes.reference(lease), "Normal", "CellRetired", message);
  }

  #tellOfChanges(lease: CellLease, cellID: string, changed: string): void {
    const { logger, events, writes } = this.#options;
    logger.warn("A cell that is being retired changes", { cell: cellID, changed });
    events.record(
      writes.reference(lease),
      "Warning",
      "CellChanges",
      `Cell "${cellID}" stays in PodProtectors where its entry changes. Somebody still counts or admits there: look ` +
        "for its aggregators, and for webhooks of an earlier release. To take it out all the same, at a price: " +
        `podseidon cells forget ${cellID} --now. Changed: ${changed}`,
    );
  }

  #tell(lease: CellLease, cellID: string, verdict: RetirementVerdict): void {
    const { logger, events, writes } = this.#options;
    const regarding = writes.reference(lease);
    const left = this.#left.get(cellID);
    switch (verdict) {
      case "waiting":
        logger.info("Asked to retire a cell, waiting until it is certain that nobody counts it", { cell: cellID });
        return;
      case "refused":
        logger.warn("Not retiring a cell that is still counted", { cell: cellID });
        events.record(
          regarding,
          "Warning",
          "CellNotRetired",
          `The aggregator of cell "${cellID}" still counts it. Stop it first, then ask again.`,
        );
        return;
      case "retiring":
      case "hurried":
        logger.info("Retiring a cell", { cell: cellID, podProtectors: left });
        events.record(regarding, "Normal", "CellRetiring", `Removing cell "${cellID}" from ${left} PodProtectors`);
        return;
      default:
        assertNever(verdict);
    }
  }
}
