/** What tells of the sources of each kind: informers, and what else has to be read for custom resources and budgets. */
import { type CustomSourceID, isCustomSourceID, partsOfSourceID, type SourceID } from "../../config/generator-rules.ts";
import { type Informer, type Stored } from "../../kube/informer.ts";
import { type KubeClient, type Resource } from "../../kube/kube-client.ts";
import { type StoredProtector } from "../../kube/resources.ts";
import { Discovery } from "../../scale/discovery.ts";
import { ScaleMemory } from "../../scale/scale-memory.ts";
import { budgetKinds, sourceKindOf } from "../../sources/index.ts";
import { readSource } from "../../sources/read-source.ts";
import { type HeldFloor, ScaledKind } from "../../sources/scaled-kind.ts";
import { type SourceKind, type SourceRef } from "../../sources/source.ts";
import { type Clock } from "../../util/clock.ts";
import { type Rng } from "../../util/rng.ts";
import { BudgetSources } from "./budget-sources.ts";
import { ExpectedPods, type ExpectedPodsOptions, podOwnersOf } from "./expected-pods.ts";
import { type TroubledFeed } from "./scale-alarms.ts";
import { ScaledSources } from "./scaled-sources.ts";
import { type SourceFeed } from "../sources/source-caches.ts";
import { isGeneratedFor, protectorKeyOf } from "../sources/source-plan.ts";

export interface SourceFeedsOptions extends Pick<ExpectedPodsOptions, "isLost"> {
  readonly core: KubeClient;
  readonly protectors: Pick<Informer<StoredProtector>, "get">;
  /** An informer in the namespace of the core, not running yet. */
  readonly create: <T extends Stored>(resource: Resource, decode: (raw: unknown) => T | undefined) => Informer<T>;
  readonly clock: Clock;
  readonly rng: Rng;
}

/** One feed for each kind. `scaled`: those that depend on scales, of custom resources and of budgets. */
export function createSourceFeeds(
  ids: readonly (SourceID | CustomSourceID)[],
  options: SourceFeedsOptions,
): {
  readonly feeds: ReadonlyMap<SourceKind, SourceFeed>;
  readonly scaled: ReadonlyMap<SourceKind, TroubledFeed>;
  /** To be run with the feeds. */
  readonly expected: ExpectedPods;
} {
  const { core, protectors, create, isLost, clock, rng } = options;
  const discovery = new Discovery({ client: core, clock });
  const memory = new ScaleMemory(core);
  const heldFloorOf = (source: SourceRef): HeldFloor | undefined => {
    const stored = protectors.get(protectorKeyOf(source));
    return stored !== undefined && isGeneratedFor(stored.protector, source) ? stored.protector.spec : undefined;
  };
  const expected = new ExpectedPods({ kinds: podOwnersOf(ids), create, discovery, memory, isLost, clock });
  const feeds = new Map<SourceKind, SourceFeed>();
  const scaled = new Map<SourceKind, TroubledFeed>();
  for (const id of ids) {
    const budgets = budgetKinds.find((kind) => kind.id === id);
    if (isCustomSourceID(id)) {
      const kind = new ScaledKind(id, { memory, heldFloorOf });
      const feed = new ScaledSources({ kind, ...partsOfSourceID(id), discovery, createInformer: create, clock, rng });
      feeds.set(kind, feed);
      scaled.set(kind, feed);
      feed.subscribe(expected.customHandler(kind));
    } else if (budgets !== undefined) {
      const feed = new BudgetSources({ kind: budgets, expected, protectors, heldFloorOf, create, clock, rng });
      feeds.set(feed.kind, feed);
      scaled.set(feed.kind, feed);
    } else {
      const kind = sourceKindOf(id);
      feeds.set(
        kind,
        create(kind.resource, (raw) => readSource(kind, raw)),
      );
    }
  }
  return { feeds, scaled, expected };
}
