/**
 * The floors that were lowered lately, by a live LIST: a watch that has fallen silent without breaking would hide all
 * that a former leader did meanwhile, and its half of a mass change would not count.
 */
import { type Informer } from "../../../kube/informer.ts";
import { type KubeClient } from "../../../kube/kube-client.ts";
import { podProtectors, readProtector, type StoredProtector } from "../../../kube/resources.ts";
import { listAll } from "../../../kube/watch/index.ts";
import { compareResourceVersions } from "../../../api/resource-version.ts";
import { type Clock } from "../../../util/clock.ts";
import { floorBeforeOf } from "./floor-before.ts";

export interface LoweredFloorsOptions {
  readonly core: KubeClient;
  /** In which PodProtectors are watched; undefined = all. */
  readonly namespace: string | undefined;
  readonly protectors: Pick<Informer<StoredProtector>, "get">;
  readonly clock: Clock;
}

export class LoweredFloors {
  readonly #options: LoweredFloorsOptions;

  constructor(options: LoweredFloorsOptions) {
    this.#options = options;
  }

  /**
   * PodProtectors whose annotation floor-before is of the last ten minutes, each as it was listed now, or as the cache
   * has it where that is newer. Objects that cannot be read are left out, as in the cache. Throws KubeError.
   */
  async list(signal: AbortSignal): Promise<readonly StoredProtector[]> {
    const { core, namespace, protectors, clock } = this.#options;
    const now = clock.epochMicros();
    // Only these are kept: a large core has many pages of others.
    const found: StoredProtector[] = [];
    const onItem = (raw: unknown): void => {
      const read = readProtector(raw);
      if (!read.ok) return;
      const newest = newer(read.stored, protectors.get(read.stored.key));
      if (floorBeforeOf(newest.protector, now) !== undefined) found.push(newest);
    };
    await listAll(core, { resource: podProtectors, namespace }, onItem, { signal });
    return found;
  }
}

function newer(listed: StoredProtector, cached: StoredProtector | undefined): StoredProtector {
  if (cached?.uid !== listed.uid) return listed;
  return compareResourceVersions(cached.resourceVersion, listed.resourceVersion) > 0 ? cached : listed;
}
