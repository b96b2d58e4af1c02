/** One core cluster, as far as all its PodProtectors share it: its watch, the pace of its writes, its trouble. */
import { RecountMarks } from "../../accounting/count/recount-mark.ts";
import { type CellLeases } from "../../kube/cell-leases/index.ts";
import { type Informer } from "../../kube/informer.ts";
import { type KubeClient } from "../../kube/kube-client.ts";
import { type Clock, longAgo } from "../../util/clock.ts";
import { type Logger } from "../../util/logger.ts";
import { CoreTrouble } from "../outage/core-trouble.ts";
import { type DefinitionLoss, DefinitionState } from "./definition-state.ts";
import { ReadLimit } from "./newest-state.ts";
import { type Rule, type WatchedProtector } from "./protector-view.ts";
import { CorePace } from "./write-pace.ts";

export interface CoreOptions {
  /** Without slashes. */
  readonly name: string;
  readonly client: KubeClient;
  /** Of all its PodProtectors; not running yet. */
  readonly informer: Informer<WatchedProtector>;
  /** Tells which cells are late or silent. */
  readonly cells: Pick<CellLeases, "stateOf" | "lateForMs" | "unwrittenForMs" | "isForgotten" | "countedByOther">;
  readonly rule: Rule;
  /** Webhooks that may admit on the last known quota at the same time. */
  readonly replicas: number;
  /** Whether a replica turns unready when the watch has been silent for minutes; else it goes on by what it knew. */
  readonly isUnreadyWhenSilent: boolean;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The CRD of PodProtectors is lost, or, with undefined, there again. */
  readonly onDefinitionLoss: (loss: DefinitionLoss | undefined) => void;
}

/**
 * Longest silence of a watch before the replica steps aside. Bookmarks come once a minute, and a lost connection is
 * noticed after two and a half; twice that means that reconnecting fails as well.
 */
const unreadyAfterMs = 300_000;

/**
 * A watch that has been silent for this long may have lost its connection, or nothing happens in its core: then reading
 * a PodProtector before a refusal is cheap. A core with a hundred workloads is rarely silent for longer.
 */
const suspectAfterMs = 5_000;

export class Core {
  readonly name: string;
  readonly client: KubeClient;
  readonly informer: Informer<WatchedProtector>;
  readonly rule: Rule;
  readonly cells: CoreOptions["cells"];
  readonly replicas: number;
  readonly clock: Clock;
  readonly pace: CorePace;
  readonly trouble: CoreTrouble;
  /** The CRD of its PodProtectors. */
  readonly definition: DefinitionState;
  /** Reads the marks of recounts of its PodProtectors. */
  readonly marks: RecountMarks;
  /** Of the live reads that only make sure of refusals. */
  readonly readLimit = new ReadLimit();
  /** The core has taken a write of a PodProtector, from anyone, since this process listed them. */
  hasSeenWrites = false;
  readonly #isUnreadyWhenSilent: boolean;

  constructor(options: CoreOptions) {
    const { name, clock, logger } = options;
    this.name = name;
    this.client = options.client;
    this.informer = options.informer;
    this.rule = options.rule;
    this.cells = options.cells;
    this.replicas = options.replicas;
    this.clock = clock;
    this.pace = new CorePace(clock);
    this.marks = new RecountMarks({
      now: () => clock.epochMicros(),
      onRefused: (recountedAt) =>
        logger.error("Recount mark is more than a day ahead of this clock, ignoring it", { core: name, recountedAt }),
    });
    this.trouble = new CoreTrouble(name, clock, logger);
    this.definition = new DefinitionState({ client: options.client, onLoss: options.onDefinitionLoss });
    this.#isUnreadyWhenSilent = options.isUnreadyWhenSilent;
  }

  /** True once the initial list has been indexed. */
  isSynced(): boolean {
    return this.informer.hasSynced();
  }

  /** For how long the cell has been silent for the PodProtector with this UID; undefined = it is not. */
  silentForMs(cellID: string, protectorUID: string): number | undefined {
    const state = this.cells.stateOf(cellID, protectorUID);
    return state.kind === "silent" ? this.clock.monotonicMs() - state.since : undefined;
  }

  /**
   * What is known may not be the newest, so that only a write, or a live read, proves it: the watch has delivered
   * nothing for seconds, or has broken and has delivered nothing since.
   */
  mayBeOld(): boolean {
    const { informer } = this;
    const isBroken = informer.lastError() !== undefined || informer.isCatchingUp();
    return isBroken || informer.stalenessMs() > suspectAfterMs;
  }

  /** Nothing is known of it, or nothing has been heard for minutes. */
  isSilent(): boolean {
    return !this.informer.hasSynced() || this.#unheardMs() > unreadyAfterMs;
  }

  /**
   * Why what is known of the core cannot be relied on, for readiness; undefined = it can. While one of `others` is
   * heard, silence is no reason: the replica reaches clusters, so that the core is away for all replicas, and when all
   * stepped aside, deletions that are no matter of this core would be refused too.
   */
  unreadyReason(others: readonly Pick<Core, "isSilent">[] = []): string | undefined {
    const { informer, name } = this;
    const error = informer.lastError();
    if (!informer.hasSynced()) {
      return `PodProtector informer of ${name} is not synced yet${error === undefined ? "" : `: ${error}`}`;
    }
    if (!this.#isUnreadyWhenSilent || !this.isSilent() || others.some((other) => !other.isSilent())) return undefined;
    const seconds = Math.round(this.#unheardMs() / 1000);
    return `nothing heard from ${name} for ${seconds} s: ${error ?? "the watch is silent"}`;
  }

  #unheardMs(): number {
    // A 404 is an answer, not silence: every replica has the same one, and judges by what it knew. But it gets older.
    const { notServedAtMs = longAgo } = this.definition;
    return Math.min(this.informer.stalenessMs(), this.clock.monotonicMs() - notServedAtMs);
  }
}
