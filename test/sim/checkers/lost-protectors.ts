/**
 * Generated PodProtectors that the core has lost without anybody's having released them. Until one is made again, no
 * webhook that knew it may admit a deletion that takes quota (docs/webhook.md#tombstones).
 */
import { digestOfUID } from "../../../src/accounting/history/uid-digest.ts";
import { annotations } from "../../../src/api/v1alpha1/names.ts";
import { type PodProtectorSpec } from "../../../src/api/v1alpha1/pod-protector.ts";
import { decodeGeneratorState, generatorStateName } from "../../../src/kube/generator-state.ts";
import { type KubeObject } from "../../double/engine/object.ts";
import { type Change } from "../../double/engine/store.ts";
import { type Edit } from "../clusters/deliveries.ts";
import { type Kernel } from "../kernel/kernel.ts";
import { type SimProcess } from "../processes/process.ts";

/** Clocks run at other rates. */
const slack = 0.99;

export interface LostProtectorsOptions {
  readonly kernel: Kernel;
  readonly webhooks: readonly SimProcess[];
  /** After which what may have been released unseen is let go. */
  readonly graceMs: number;
  /** Whether a replica had been told of an edit in the core by then. */
  knew(replica: string, edit: Edit, atMs: number): boolean;
}

interface Known {
  readonly uid: string;
  readonly spec: PodProtectorSpec;
  /** Since when its selectors are what they are, and it has the mark of ownership and none of release. */
  readonly ownedFrom: Edit;
  readonly lostAtMs: number | undefined;
}

export class LostProtectors {
  readonly #options: LostProtectorsOptions;
  /** By name: those that this generator owns, as they are now or were last. */
  readonly #known = new Map<string, Known>();
  /** Digests of the UIDs that were ever in the list of releases. */
  readonly #listed = new Set<string>();
  /** Some had to leave the list: whoever was away may have missed them. */
  hasDropped = false;

  constructor(options: LostProtectorsOptions) {
    this.#options = options;
  }

  /** A version has been committed in the core, or is gone. */
  protector({ type, object }: Change): void {
    const { name, uid, resourceVersion } = object.metadata;
    const known = this.#known.get(name);
    const { nowMs } = this.#options.kernel;
    if (type === "DELETED") {
      if (known?.uid === uid && isOwned(object)) this.#known.set(name, { ...known, lostAtMs: nowMs });
      else this.#known.delete(name);
      return;
    }
    if (!isOwned(object)) return void this.#known.delete(name);
    const spec = object["spec"] as unknown as PodProtectorSpec;
    const isSame = known?.uid === uid && JSON.stringify(known.spec) === JSON.stringify(spec);
    const ownedFrom = isSame ? known.ownedFrom : { revision: Number(resourceVersion), sinceMs: nowMs };
    this.#known.set(name, { uid, spec, ownedFrom, lostAtMs: undefined });
  }

  /** A ConfigMap has been committed in the core. */
  configMap({ object }: Change): void {
    if (object.metadata.name !== generatorStateName) return;
    const { releases, numbers } = decodeGeneratorState(object);
    for (const { digest } of releases) this.#listed.add(digest);
    this.hasDropped ||= numbers.dropped > 0;
  }

  /** Its spec, if the replica had it in memory when it was lost, and was asked after that. */
  inMemoryOf(replica: string, name: string, arrivedMs: number): PodProtectorSpec | undefined {
    const known = this.#known.get(name);
    if (known?.lostAtMs === undefined || known.lostAtMs >= arrivedMs) return undefined;
    if (this.#listed.has(digestOfUID(known.uid))) return undefined;
    if (this.hasDropped && arrivedMs - known.lostAtMs >= slack * this.#options.graceMs) return undefined;
    const bornMs = this.#options.webhooks.find((webhook) => webhook.name === replica)?.node()?.bornMs;
    if (bornMs === undefined) return undefined;
    const { revision, sinceMs } = known.ownedFrom;
    const edit = { revision, sinceMs: Math.max(sinceMs, bornMs) };
    return this.#options.knew(replica, edit, known.lostAtMs) ? known.spec : undefined;
  }
}

/** In force until it is released: a DELETE request may be a person's release. */
function isOwned({ metadata }: KubeObject): boolean {
  const { annotations: noted = {}, deletionTimestamp } = metadata;
  return deletionTimestamp === undefined && annotations.generated in noted && !(annotations.released in noted);
}
