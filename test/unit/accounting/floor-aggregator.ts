/**
 * One aggregator of one cell in the floor world: its own lagging snapshot, its own view of the PodProtector, its own
 * memory.
 */
import { type PodRecord } from "../../../src/api/pod.ts";
import { type ResourceVersion } from "../../../src/api/resource-version.ts";
import { type CellStatus, type PodProtector } from "../../../src/api/v1alpha1/pod-protector.ts";
import { type OwnAggregation } from "../../../src/accounting/count/protector-memory.ts";
import { planCell } from "../../../src/accounting/count/cell-plan.ts";
import { FenceRegistry } from "../../../src/accounting/settle/fence-registry.ts";
import { countPods } from "../../../src/accounting/count/pod-counts.ts";
import { settle } from "../../../src/accounting/settle/settlement.ts";
import { summarize } from "../../../src/accounting/count/summary.ts";
import { digestOfUID } from "../../../src/accounting/history/uid-digest.ts";
import { type EpochMicros } from "../../../src/util/clock.ts";
import { type Rng } from "../../../src/util/rng.ts";
import { at as ms } from "../../support/moment.ts";
import { FloorWorld, type WorldOptions } from "./floor-world.ts";
import { byOwnTime, SampleMemory, settlementConfig, version } from "./samples.ts";

interface Patch {
  readonly uid: string;
  readonly sentAtMs: number;
  /** Set once the patch has reached etcd. */
  answer?: ResourceVersion;
}

export class FloorAggregator {
  readonly #world: FloorWorld;
  readonly cellID: string;
  #memory: SampleMemory;
  #fences = new FenceRegistry(settlementConfig.settlementFenceDelayMs, settlementConfig.settleWindowMs);
  #pods = new Map<string, PodRecord>();
  #appliedEvents = 0;
  #snapshotVersion = 10;
  #lastEventTime: EpochMicros | undefined;
  #objectIndex = 0;
  #barriers: { readonly sentAtMs: number; readonly version: number }[] = [];
  #barrierSentAtMs = -Infinity;
  #patches: Patch[] = [];
  #wantsFence: readonly string[] = [];
  wantsBarrier = false;

  constructor(world: FloorWorld, cellID: string) {
    this.#world = world;
    this.cellID = cellID;
    this.#memory = new SampleMemory(undefined, world.options.minReadySeconds);
    this.#observe(false);
  }

  /** The process starts anew, with a list from a server that may be behind. */
  restart(): void {
    const events = this.#events().length;
    this.#memory = new SampleMemory(undefined, this.#world.options.minReadySeconds);
    this.#fences = new FenceRegistry(settlementConfig.settlementFenceDelayMs, settlementConfig.settleWindowMs);
    this.#pods = new Map();
    this.#appliedEvents = 0;
    this.#snapshotVersion = 10;
    this.#barriers = [];
    this.#barrierSentAtMs = -Infinity;
    this.#patches = [];
    this.#wantsFence = [];
    this.receive(Math.max(0, events - Math.floor(this.#world.rng.next() * 10)));
    this.relist();
  }

  /** Applies the next events of the pod watch. */
  receive(count: number): void {
    for (const event of this.#events().slice(this.#appliedEvents, this.#appliedEvents + count)) {
      if (event.isDeleted) this.#pods.delete(event.record.uid);
      else this.#pods.set(event.record.uid, event.record);
      this.#appliedEvents += 1;
      this.#snapshotVersion = event.version;
      this.#lastEventTime = this.#world.eventTime();
    }
    this.#passBarriers();
  }

  sendBarrier(): void {
    this.#barriers.push({ sentAtMs: this.#world.nowMs, version: this.#world.versionOf(this.cellID) });
    this.#passBarriers();
  }

  /** Applies the next versions of the PodProtector, none left out. */
  watchObjects(count: number): void {
    const last = Math.min(this.#objectIndex + count, this.#world.objects.length - 1);
    while (this.#objectIndex < last) {
      this.#objectIndex += 1;
      this.#observe(true);
    }
  }

  /** Jumps to the newest version of the PodProtector. */
  relist(): void {
    this.#objectIndex = this.#world.objects.length - 1;
    this.#observe(this.#world.options.faults.gapsAreContinuous === true);
  }

  sendFence(): void {
    const uid = this.#world.pick(this.#wantsFence);
    const { nowMs } = this.#world;
    if (uid === undefined || this.#fences.nextSendMs(uid, "usual") === undefined) return;
    this.#fences.sending(uid, ms(nowMs));
    if (this.#world.options.faults.fencesWithoutPatch === true) this.#fences.answered(uid, ms(nowMs), version(1));
    // A pod that may not be fenced settles by the window, which is sound only for requests that do not outlive it.
    else if (this.#world.options.takesVersions !== "nothing" && this.#world.chance(0.02)) this.#fences.refused(uid);
    else this.#patches.push({ uid, sentAtMs: nowMs });
    this.#wantsFence = this.#wantsFence.filter((other) => other !== uid);
  }

  /** One step of a patch: to etcd, or back to us; an answer may be lost. */
  movePatch(isHealed = false): void {
    const patch = this.#world.pick(this.#patches);
    if (patch === undefined) return;
    const pod = this.#world.pods.find(({ record }) => record.uid === patch.uid);
    const isDone = patch.answer !== undefined || pod === undefined || pod.isGone;
    if (!isDone) {
      patch.answer = version(this.#world.change(pod, {}));
      return;
    }
    this.#patches = this.#patches.filter((other) => other !== patch);
    if (patch.answer === undefined || (!isHealed && this.#world.chance(0.3)))
      this.#fences.failed(patch.uid, ms(patch.sentAtMs), "unanswered");
    else this.#fences.answered(patch.uid, ms(patch.sentAtMs), patch.answer);
  }

  /** One aggregation. */
  aggregate(): void {
    const world = this.#world;
    const { faults, minReadySeconds } = world.options;
    const base = this.#base();
    const cell = this.#cell(base);
    const byDigest = new Map([...this.#pods.values()].map((record) => [digestOfUID(record.uid), record]));
    const snapshot = {
      version: version(this.#snapshotVersion),
      barrierSentAtMs: ms(faults.barriersPassAtOnce === true ? world.nowMs + 1 : this.#barrierSentAtMs),
      find: (uid: string) => this.#pods.get(uid),
      findByDigest: (digest: string) => byDigest.get(digest),
    };
    const config = { ...settlementConfig, settleWindowMs: faults.settleWindowMs ?? settlementConfig.settleWindowMs };
    const settlement = settle({
      buckets: cell?.admissionHistory?.buckets ?? [],
      firstSeen: this.#memory.firstSeen,
      snapshot,
      fences: this.#fences,
      config,
      nowMs: ms(world.nowMs),
    });
    this.#wantsFence = settlement.fence;
    this.#memory.shown =
      faults.oldSnapshotsWrite === true && cell?.aggregation?.resourceVersion !== undefined
        ? { ...cell, aggregation: { ...cell.aggregation, resourceVersion: version(1) } }
        : cell;
    const plan = planCell({
      cellID: this.cellID,
      memory: this.#memory,
      census: countPods(this.#pods.values(), minReadySeconds, world.now, byOwnTime),
      snapshot,
      lastEventTime: this.#lastEventTime,
      settlement,
      settleWindowMs: config.settleWindowMs,
      nowMs: ms(world.nowMs),
      now: world.now,
    });
    this.wantsBarrier = settlement.barrierFromMs !== undefined || plan.kind === "barrier";
    if (plan.kind === "write") this.#write(base, plan.cell);
  }

  #write(base: PodProtector, cell: CellStatus & { readonly aggregation: OwnAggregation }): void {
    const world = this.#world;
    if (base !== world.object) {
      // A conflict is answered by a live read, or the watch brings the newer versions.
      if (world.chance(0.5)) this.relist();
      return;
    }
    const cells = base.status?.cells ?? [];
    const all = [...cells.filter(({ cellID }) => cellID !== this.cellID), cell];
    world.write({ ...base, status: { cells: all, summary: summarize(all, base.spec) } });
    world.countingOf.set(this.cellID, { version: this.#snapshotVersion, now: world.now });
    // A lost answer: the watch will bring our own write.
    if (world.chance(0.1)) return;
    this.#memory.counted(cell.aggregation);
    this.#objectIndex = world.objects.length - 1;
    this.#observe(true);
  }

  #events(): readonly { version: number; record: PodRecord; isDeleted: boolean }[] {
    return this.#world.events.get(this.cellID) ?? [];
  }

  #passBarriers(): void {
    for (const barrier of this.#barriers) {
      if (this.#snapshotVersion >= barrier.version) {
        this.#barrierSentAtMs = Math.max(this.#barrierSentAtMs, barrier.sentAtMs);
      }
    }
    this.#barriers = this.#barriers.filter((barrier) => this.#snapshotVersion < barrier.version);
  }

  #base(): PodProtector {
    return this.#world.objects[this.#objectIndex] ?? this.#world.object;
  }

  #cell(object: PodProtector): CellStatus | undefined {
    return object.status?.cells.find(({ cellID }) => cellID === this.cellID);
  }

  #observe(continuous: boolean): void {
    this.#memory.firstSeen.observe(
      this.#cell(this.#base())?.admissionHistory?.buckets ?? [],
      ms(this.#world.nowMs),
      continuous,
    );
  }
}

/** A world with its aggregators. */
export class AggregatedWorld extends FloorWorld {
  readonly aggregators: readonly FloorAggregator[];

  constructor(options: WorldOptions, rng: Rng) {
    super(options, rng);
    this.aggregators = options.cells.flatMap((cellID) =>
      Array.from({ length: options.aggregatorsPerCell }, () => new FloorAggregator(this, cellID)),
    );
  }
}
