/**
 * Everything that this replica knows of one PodProtector, in one object: its newest state, when it may be written, and
 * what was admitted from it while its core took no writes. It exists from the first event of the watch until the
 * PodProtector is really gone (tombstones.ts) and nothing uses it any more.
 */
import { type Reservation, type Verdict } from "../../accounting/reserve/reservation.ts";
import { type ObjectKey, type ProtectorID, protectorID } from "../../api/object-key.ts";
import { type ResourceVersion } from "../../api/resource-version.ts";
import { type CellStatus } from "../../api/v1alpha1/pod-protector.ts";
import { type Gathering } from "../../retry-batch/index.ts";
import { assert } from "../../util/assert.ts";
import { type Deletion } from "../deletion.ts";
import { LastKnownQuota } from "../outage/last-known-quota.ts";
import { type Core } from "./core.ts";
import { LegacyHold } from "./doubts/legacy-hold.ts";
import { NewestState } from "./newest-state.ts";
import { type CountsInForce, judge, type ProtectorView, withStatus } from "./protector-view.ts";
import { type Tombstone } from "./departure.ts";
import { idlePace } from "./write-pace.ts";
import { noGathering, WriteTurn } from "./write-turn.ts";

/** An invalid PodProtector, in its newest state. */
export interface Unusable {
  readonly uid: string;
  /** For people. */
  readonly reason: string;
  /** It refuses nothing. */
  readonly isShadow: boolean;
}

const nothing: readonly never[] = [];
const noneHeld: CountsInForce["held"] = new Map();

export class Protector {
  readonly core: Core;
  readonly key: ObjectKey;
  /** For logs, metrics and answers. */
  readonly id: ProtectorID;
  readonly #onUnused: (protector: Protector) => void;
  #state: NewestState | undefined;
  #unusable: Unusable | undefined;
  #tombstone: Tombstone | undefined;
  /** From the first deletion on that is to be recorded. */
  #turn: WriteTurn | undefined;
  readonly #pace = idlePace();
  /** From the first admission in a cell that a Go aggregator counts on. */
  #legacyHold: LegacyHold | undefined;
  /** From the first admission without a write on. */
  #lastKnown: LastKnownQuota | undefined;
  /** While reviews wait for it (decide/held-reviews.ts). */
  #onChange: (() => void) | undefined;
  #users = 0;

  /** `onUnused` is called when the PodProtector is gone and nothing uses this object any more. */
  constructor(core: Core, key: ObjectKey, onUnused: (protector: Protector) => void) {
    this.core = core;
    this.key = key;
    this.id = protectorID(core.name, key);
    this.#onUnused = onUnused;
  }

  // What is known.

  /** The newest known state that is valid. Undefined when there was none, or the PodProtector is gone. */
  get view(): ProtectorView | undefined {
    return this.#state?.view;
  }

  /** Undefined = the newest state is valid, or the PodProtector is gone. `view` may still be what it was before. */
  get unusable(): Unusable | undefined {
    return this.#unusable;
  }

  /** Set while the PodProtector is gone and not let go. `view` and `unusable` are what they were last. */
  get tombstone(): Tombstone | undefined {
    return this.#tombstone;
  }

  /** It refuses nothing, by its newest state or the last one that was seen. */
  get isShadow(): boolean {
    return (this.#unusable ?? this.view)?.isShadow === true;
  }

  get uid(): string | undefined {
    return this.#unusable?.uid ?? this.view?.uid;
  }

  /** The view is to be read live before it is judged by. */
  get isDoubtful(): boolean {
    return this.#state?.isDoubtful === true;
  }

  /** It was read live a moment ago. */
  get isJustRead(): boolean {
    return this.#state?.isJustRead === true;
  }

  /** The view may be old, but nothing says that it is wrong. */
  get isSuspected(): boolean {
    return this.#state?.isSuspected === true;
  }

  /** Judges `deletions`, all counted by the view, in the order given. */
  judge(deletions: readonly Deletion[]): Reservation {
    const state = this.#state;
    assert(state !== undefined, "a PodProtector without a state was judged");
    return judge(state.view, this.#countsInForce(state), deletions, this.core.rule);
  }

  #countsInForce(state: NewestState): CountsInForce {
    const { uid, protector } = state.view;
    const cells = protector.status?.cells ?? [];
    return {
      doubtOf: state.doubtOf,
      silentForMs: (cellID) => this.core.silentForMs(cellID, uid),
      isRetiring: (cellID) => this.core.cells.isForgotten(cellID),
      held: this.#legacyHold?.held(cells, this.core.clock.monotonicMs()) ?? noneHeld,
      isOld: !state.isJustRead,
    };
  }

  /** From now on called after each change of what is known, as soon as it can be judged by; undefined = no more. */
  tellChanges(onChange: (() => void) | undefined): void {
    this.#onChange = onChange;
  }

  // What the watch says.

  /** The watch has delivered a valid state. */
  watched(view: ProtectorView): void {
    this.#unusable = undefined;
    this.#tombstone = undefined;
    if (this.#state?.view.uid !== view.uid) {
      // What was let go has left no state.
      const former = this.#state?.view.isReleased === false ? this.#state.view : undefined;
      this.#state = new NewestState(view, this.core.marks, this.core.clock, former);
      this.#legacyHold = undefined;
      this.#onChange?.();
      return;
    }
    const before = this.#state.view;
    this.#state.watched(view);
    if (this.#state.view === before) return;
    this.core.hasSeenWrites = true;
    this.#onChange?.();
  }

  /** The watch has delivered an invalid state. */
  rejected(unusable: Unusable): void {
    this.#unusable = unusable;
    this.#tombstone = undefined;
    this.#onChange?.();
  }

  /** The PodProtector is gone, but nobody has let it go. */
  vanished(tombstone: Tombstone): void {
    this.#tombstone = tombstone;
    this.#onChange?.();
  }

  /** The PodProtector is really gone. */
  removed(): void {
    this.#state = undefined;
    this.#unusable = undefined;
    this.#tombstone = undefined;
    this.#onChange?.();
    this.#leave();
  }

  /** A version that the watch has delivered, valid or not. Returns true when `writeDelayMs` may have changed. */
  delivered(version: ResourceVersion, cells: readonly CellStatus[]): boolean {
    return this.#turn?.watched(version, cells) === true;
  }

  // Reading and writing it.

  /** Before a refusal by a state that may be old: whether it is to be read live first. */
  suspect(): boolean {
    return this.#state?.suspect(this.core.clock.monotonicMs(), this.core.readLimit) === true;
  }

  /** The live GET of a suspected state has failed. Returns true when it can be judged by anyway. */
  notRead(): boolean {
    return this.#state?.notRead() === true;
  }

  /** The answer of a live GET; `known` was the view when it was sent. Returns true when the core was restored. */
  readLive(view: ProtectorView, known: ProtectorView): boolean {
    const shown = this.view;
    const isRestored = this.#state?.readLive(view, known) === true;
    if (this.view !== shown) this.#onChange?.();
    return isRestored;
  }

  /** Milliseconds until the pace allows another write, and it is this replica's turn. */
  writeDelayMs(): number {
    return Math.max(this.core.pace.delayMs(this.#pace), this.#turn?.delayMs() ?? 0);
  }

  /** Deletions are to be recorded in it: from now on the writes of others are counted. */
  joinTurns(): void {
    const { view } = this;
    if (view === undefined) return;
    this.#turn ??= new WriteTurn(this.core.clock, view.resourceVersion, view.protector.status?.cells ?? []);
  }

  /** How long a batch waits for more deletions. */
  gathering(): Gathering {
    return this.#turn?.gathering() ?? noGathering;
  }

  /** As WriteTurn.expectedMs. */
  expectedWriteMs(): number {
    return this.#turn?.expectedMs() ?? 0;
  }

  /** A write of this size was, or may have been, stored. */
  charge(bytes: number): void {
    this.core.pace.wrote(this.#pace, bytes);
  }

  /** A write for a batch of `size` deletions was accepted as `view`. */
  wrote(view: ProtectorView, durationMs: number, size: number): void {
    if (this.#state !== undefined) {
      this.core.hasSeenWrites = true;
      this.#state.wrote(view);
    }
    this.joinTurns();
    this.#turn?.wrote(view.resourceVersion, durationMs, size);
  }

  /** A write has recorded the deletion of these pods. */
  admitted(deletions: readonly Deletion[]): void {
    const { rule, clock } = this.core;
    if (rule.legacyCellHoldMs === 0 || this.view === undefined) return;
    const nowMs = clock.monotonicMs();
    const cells = new Map((this.view.protector.status?.cells ?? []).map((cell) => [cell.cellID, cell]));
    for (const { cellID, pod } of deletions) {
      const cell = cells.get(cellID);
      if (cell === undefined || cell.aggregation?.resourceVersion !== undefined) continue;
      this.#legacyHold ??= new LegacyHold(rule.legacyCellHoldMs);
      this.#legacyHold.admitted(cellID, pod.uid, nowMs);
    }
  }

  /** A write on top of `base` met a conflict. Returns the number of conflicts in a row. */
  conflicted(base: ProtectorView): number {
    this.#turn?.conflicted(base.resourceVersion);
    return this.#state?.conflicted(base) ?? 1;
  }

  /** A request failed, so that the state in the core is not known. */
  lostAnswer(): void {
    this.#state?.lostAnswer();
  }

  // While the core takes no writes.

  /** Whether deletions may be admitted without a write, as far as it depends on what is known of the PodProtector. */
  get canAdmitOnLastKnown(): boolean {
    if (this.view === undefined || this.view.isReleased || this.#tombstone !== undefined) return false;
    // Of a state that somebody else has changed since, another replica may have used the quota. And before a restart
    // in the midst of an outage, this replica may have admitted its share already.
    return this.#state?.isOvertaken === false && this.core.hasSeenWrites;
  }

  /** Judges `deletions`, all counted by the view, in the order given; what is admitted is to be recorded later. */
  admitOnLastKnown(deletions: readonly Deletion[]): readonly Verdict[] {
    const state = this.#state;
    assert(state !== undefined, "a PodProtector without a state was judged");
    const { view } = state;
    const countsInForce = this.#countsInForce(state);
    this.#lastKnown ??= new LastKnownQuota(this.core.replicas);
    return this.#lastKnown.admit(
      view.protector.status,
      (status, asked) => judge(withStatus(view, status), countsInForce, asked, this.core.rule),
      deletions,
    );
  }

  /** What was admitted without a write and is not recorded yet. */
  get unrecorded(): readonly Deletion[] {
    return this.#lastKnown?.unrecorded ?? nothing;
  }

  /** All that was admitted without a write is recorded, or the PodProtector no longer applies. */
  recorded(): void {
    this.#lastKnown = undefined;
  }

  /** `unrecorded` is being recorded (reservations.ts). */
  isBeingRecorded = false;

  // Its lifetime.

  /** Holds the object until `release`, even when the PodProtector is deleted and created again meanwhile. */
  hold(): void {
    this.#users += 1;
  }

  release(): void {
    this.#users -= 1;
    this.#leave();
  }

  #leave(): void {
    if (this.#users === 0 && this.#state === undefined && this.#unusable === undefined) this.#onUnused(this);
  }
}
