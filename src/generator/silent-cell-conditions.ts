/**
 * The condition CellSilent (docs/conditions.md): on PodProtectors whose floor is out of reach without cells that are
 * silent. It is for people. Written slowly, because an outage of a large cell concerns thousands of objects while
 * everybody else needs the core.
 */
import { type ObjectKey } from "../api/object-key.ts";
import { type Holding, withConditions } from "../api/v1alpha1/conditions.ts";
import { type PodProtector } from "../api/v1alpha1/pod-protector.ts";
import { type CellState } from "../accounting/silence/cell-silence.ts";
import { type Informer } from "../kube/informer.ts";
import { errorLabel, isKubeError, type KubeClient } from "../kube/kube-client.ts";
import { presentOrThrow, readProtectorLive, swapStatus } from "../kube/pod-protectors.ts";
import { type StoredProtector } from "../kube/resources.ts";
import { type Clock, sleep } from "../util/clock.ts";
import { type Logger } from "../util/logger.ts";
import { type Counter } from "../util/metrics.ts";

/** Between two objects: five a second, a fortieth of what a client may ask of the core by default. */
const pauseMs = 200;
/** Cells named in one message. */
const namedMax = 5;

export interface SilentCellConditionsOptions {
  readonly core: KubeClient;
  readonly protectors: Informer<StoredProtector>;
  /** As CellLeases.stateOf. */
  readonly stateOf: (cellID: string, protectorUID: string) => CellState;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Failed writes, by `error`. */
  readonly failures: Counter;
}

export class SilentCellConditions {
  readonly #options: SilentCellConditionsOptions;
  #affected = 0;
  #writing: Promise<void> | undefined;

  constructor(options: SilentCellConditionsOptions) {
    this.#options = options;
  }

  /** PodProtectors whose floor is out of reach without a silent cell, as of the last update. */
  get affected(): number {
    return this.#affected;
  }

  /** Looks at all PodProtectors, and writes what differs in the background, unless it still writes. */
  update(signal: AbortSignal): void {
    this.#affected = 0;
    const differing: ObjectKey[] = [];
    for (const stored of this.#options.protectors.values()) {
      const found = silentCellsOf(stored.protector, this.#options.stateOf);
      if (found !== false) this.#affected += 1;
      if (this.#merged(stored) !== stored.protector.status?.conditions) differing.push(stored.key);
    }
    if (differing.length > 0) {
      this.#writing ??= this.#writeAll(differing, signal).finally(() => (this.#writing = undefined));
    }
  }

  /** Resolves when what was begun has ended. */
  async ended(): Promise<void> {
    await this.#writing;
  }

  #merged({ protector }: StoredProtector): readonly unknown[] | undefined {
    const { clock, stateOf } = this.#options;
    const found = { CellSilent: silentCellsOf(protector, stateOf) };
    return withConditions(protector.status?.conditions, found, clock.epochMicros());
  }

  async #writeAll(keys: readonly ObjectKey[], signal: AbortSignal): Promise<void> {
    const { protectors, clock, logger, failures } = this.#options;
    for (const key of keys) {
      const stored = protectors.get(key);
      if (stored === undefined) continue;
      try {
        await this.#write(stored, signal);
      } catch (err) {
        if (!isKubeError(err)) throw err;
        if (signal.aborted) return;
        failures.inc({ error: errorLabel(err) });
        logger.verbose(2, "Cannot write the condition CellSilent, trying again", { podProtector: key, err });
        // The next LIST of the Leases begins again. But what is wrong with one object must not stop those behind it.
        if (!isKubeError(err, "forbidden", "invalid", "notFound", "malformed")) return;
      }
      await sleep(clock, pauseMs, signal);
      if (signal.aborted) return;
    }
  }

  /** Throws KubeError. A conflict is left to the next update. */
  async #write({ protector }: StoredProtector, signal: AbortSignal): Promise<void> {
    const { core, clock, stateOf } = this.#options;
    const live = presentOrThrow(await readProtectorLive(core, protector.metadata, { signal }));
    const status = live?.protector.status;
    if (live === undefined || status === undefined) return;
    const found = { CellSilent: silentCellsOf(live.protector, stateOf) };
    const conditions = withConditions(status.conditions, found, clock.epochMicros());
    if (conditions === undefined || conditions === status.conditions) return;
    const swap = await swapStatus(core, live, { ...status, conditions }, { signal });
    if (swap.kind === "refused" || swap.kind === "lost") throw swap.error;
  }
}

/** False = the floor can be reached without the silent cells, if there are any. */
export function silentCellsOf(
  { metadata, spec, status }: PodProtector,
  stateOf: SilentCellConditionsOptions["stateOf"],
): Holding<"CellSilent"> | false {
  const silent: string[] = [];
  let available = 0;
  for (const { cellID, aggregation } of status?.cells ?? []) {
    const count = aggregation?.availableReplicas ?? 0;
    if (count === 0 || stateOf(cellID, metadata.uid).kind !== "silent") available += count;
    else silent.push(cellID);
  }
  if (silent.length === 0 || available >= spec.minAvailable) return false;
  const more = silent.length > namedMax ? ` and ${silent.length - namedMax} more` : "";
  const names = silent.slice(0, namedMax).map((cellID) => `"${cellID}"`);
  return {
    reason: "NoHeartbeat",
    // No count of what is left: it may change every second, and each text is a write.
    message:
      `Must stay ${spec.minAvailable}, and fewer are available without ${silent.length === 1 ? "cell" : "cells"} ` +
      `${names.join(", ")}${more}, from which nothing is heard`,
  };
}
