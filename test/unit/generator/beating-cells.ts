/** Leases of cells in the core of core-cluster.ts, with aggregators that beat, and what tests ask about them. */
import {
  cellLeaseAnnotations,
  cellLeaseLabels,
  cellLeaseName,
  observerLeaseName,
} from "../../../src/api/cell-lease.ts";
import { formatMicroTime } from "../../../src/api/micro-time.ts";
import { builtInResources, type JsonObject, type KubeObject } from "../../double/index.ts";
import { type Core } from "./core-cluster.ts";

/** Of the default --silent-cell-after. */
export const silentAfterMs = 180_000;
const beatMs = 10_000;
const { leases } = builtInResources;

export class BeatingCells {
  readonly #core: Core;
  readonly #beating = new Set<string>();

  constructor(core: Core) {
    this.#core = core;
  }

  /** Beats for the cells as aggregators do, the first time at once, while time passes by `advance`. */
  async start(...cellIDs: readonly string[]): Promise<void> {
    for (const cellID of cellIDs) {
      this.#beating.add(cellID);
      await this.beat(cellID);
    }
  }

  stop(cellID: string): void {
    this.#beating.delete(cellID);
  }

  async advance(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= beatMs) {
      await this.#core.clock.advance(Math.min(left, beatMs));
      if (left >= beatMs) for (const cellID of this.#beating) await this.beat(cellID);
    }
  }

  /** As src/aggregator does: moves the renewTime and clears the mark. */
  async beat(cellID: string): Promise<void> {
    const { clock } = this.#core;
    const spec = { holderIdentity: `aggregator-${cellID}`, renewTime: formatMicroTime(clock.epochMicros()) };
    if (this.find(cellID) === undefined) await this.create(cellID, {}, spec);
    else
      await this.#patch(cellLeaseName(cellID), {
        metadata: { annotations: { [cellLeaseAnnotations.silentSince]: null } },
        spec,
      });
  }

  async create(cellID: string, annotations: JsonObject = {}, spec: JsonObject = {}): Promise<void> {
    const labels = { [cellLeaseLabels.heartbeat]: "cell", [cellLeaseLabels.cell]: cellID };
    await this.#core.engine.create(leases, "default", {
      apiVersion: "coordination.k8s.io/v1",
      kind: "Lease",
      metadata: { name: cellLeaseName(cellID), labels, annotations },
      spec,
    });
  }

  async annotate(cellID: string, annotation: keyof typeof cellLeaseAnnotations, value: string | null): Promise<void> {
    await this.#patch(cellLeaseName(cellID), {
      metadata: { annotations: { [cellLeaseAnnotations[annotation]]: value } },
    });
  }

  find(cellID: string): KubeObject | undefined {
    return this.#core.engine.find(leases, "default", cellLeaseName(cellID));
  }

  /** The value of silent-since. */
  mark(cellID: string): string | undefined {
    return this.find(cellID)?.metadata.annotations?.[cellLeaseAnnotations.silentSince];
  }

  /** The observer's own Lease. */
  observer(): KubeObject | undefined {
    return this.#core.engine.find(leases, "default", observerLeaseName);
  }

  async #patch(name: string, body: JsonObject): Promise<void> {
    const patch = { contentType: "application/merge-patch+json", body };
    await this.#core.engine.patch(leases, "default", name, patch);
  }
}

/** Reasons of the Events about Leases, in no special order. */
export function leaseEvents(core: Core): string[] {
  return core
    .events()
    .filter((event) => (event["involvedObject"] as { kind: string }).kind === "Lease")
    .map((event) => String(event["reason"]));
}
