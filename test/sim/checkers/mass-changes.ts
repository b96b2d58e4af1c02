/**
 * What docs/mass-changes.md promises of a tool that overwrites the replicas of many Deployments with 0, or switches
 * their namespace off or to shadow: until a person
 * approves it or undoes it, at most half of the floors of the core are lost by it, also while generators come and go.
 * That all floors are in the end what the Deployments ask for is checked with those of all other sources
 * (sources/source-checker.ts).
 */
import { annotations } from "../../../src/api/v1alpha1/names.ts";
import { asNumber, type KubeObject } from "../../double/engine/object.ts";
import { type Change } from "../../double/engine/store.ts";
import { type Kernel } from "../kernel/kernel.ts";
import { shadowModeOf } from "./reviews/shadows.ts";

/**
 * Who has lost a floor within ten minutes is among those of which half is too many; besides, what a generator knows of
 * them may be 150 s old (sources/source-checker.ts).
 */
const countedForMs = 600_000 + 150_000;

/** Of one Deployment that is overwritten. */
type Floor =
  | { readonly kind: "held" }
  | { readonly kind: "lost" }
  /** The core has lost the PodProtector itself: it is made again from what the Deployment asks for then. */
  | { readonly kind: "erased" };

export class MassChangeChecker {
  readonly #kernel: Kernel;
  /** UIDs of the PodProtectors with a floor above 0, and since when those have none that had one. */
  readonly #floors = new Map<string, { lostAtMs: number }>();
  /** By namespace and name of the PodProtector; undefined = nobody overwrites anything, or a person has acted. */
  #overwritten: Map<string, { readonly before: number; floor: Floor }> | undefined;
  /** From the first of the Deployments until all floors are as they ask for: sources need not be met meanwhile. */
  isUnderWay = false;

  constructor(kernel: Kernel) {
    this.#kernel = kernel;
  }

  /** Nobody but its own person may approve it yet. */
  get isWaiting(): boolean {
    return this.#overwritten !== undefined;
  }

  /** A version of a PodProtector has been committed in the core, or is gone. */
  protector({ type, object }: Change): void {
    const key = keyOf(object);
    const { nowMs } = this.#kernel;
    const floor = type === "DELETED" ? 0 : floorOf(object);
    if (floor > 0) this.#floors.set(object.metadata.uid, { lostAtMs: Infinity });
    const known = this.#floors.get(object.metadata.uid);
    if (floor === 0 && known !== undefined) known.lostAtMs = Math.min(known.lostAtMs, nowMs);
    const one = this.#overwritten?.get(key);
    if (one === undefined || one.floor.kind === "erased") return;
    // What the product lets go of is marked before it is gone.
    const isErased = type === "DELETED" && object.metadata.annotations?.[annotations.released] === undefined;
    if (isErased) one.floor = { kind: "erased" };
    else one.floor = { kind: leftOf(object) < one.before / 2 ? "lost" : "held" };
    this.#check();
  }

  /** A tool is about to take the floors of these PodProtectors. */
  overwriting(protectors: readonly KubeObject[]): void {
    this.#overwritten = new Map(
      protectors.map((object) => [keyOf(object), { before: leftOf(object), floor: { kind: "held" } }]),
    );
  }

  /** A person is about to approve or to undo it. */
  acted(): void {
    this.#overwritten = undefined;
  }

  #check(): void {
    const lost = [...(this.#overwritten?.values() ?? [])].filter(({ floor }) => floor.kind === "lost").length;
    const fromMs = this.#kernel.nowMs - countedForMs;
    const highest = [...this.#floors.values()].filter(({ lostAtMs }) => lostAtMs >= fromMs).length;
    if (lost * 2 <= highest) return;
    this.#kernel.fail(`${lost} of ${highest} floors of the core are lost by one mass change, and nobody approved it`);
  }
}

function keyOf({ metadata }: KubeObject): string {
  return `${metadata.namespace ?? ""}/${metadata.name}`;
}

/** What it does not let go. */
function leftOf(object: KubeObject): number {
  return shadowModeOf(object) === "shadow" ? 0 : floorOf(object);
}

/** Of one that is marked as released nothing is left. */
function floorOf({ metadata, spec = {} }: KubeObject): number {
  if (metadata.annotations?.[annotations.released] !== undefined) return 0;
  return Math.max(0, asNumber(spec["minAvailable"]) ?? 0);
}
