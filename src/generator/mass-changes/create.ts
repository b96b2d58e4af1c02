/** Puts together what holds mass changes (held-changes.ts has the idea). */
import { type Config } from "../../config/config.ts";
import { type EventRecorder } from "../../kube/event-recorder.ts";
import { type Informer } from "../../kube/informer.ts";
import { type KubeClient } from "../../kube/kube-client.ts";
import { type StoredProtector } from "../../kube/resources.ts";
import { type Clock } from "../../util/clock.ts";
import { type Logger } from "../../util/logger.ts";
import { type Metrics } from "../../util/metrics.ts";
import { type NamespaceModes } from "../sources/namespace-modes.ts";
import { type SourceCaches } from "../sources/source-caches.ts";
import { Announcements } from "./announcements.ts";
import { HeldChanges, type HeldChangesOptions } from "./held-changes.ts";
import { LatchBook, LatchStore } from "./latches.ts";
import { LoweredFloors } from "./former-term.ts";
import { NamespacesAndKinds } from "./namespaces-and-kinds.ts";

export interface HeldChangesDependencies {
  readonly core: KubeClient;
  readonly sources: SourceCaches;
  readonly protectors: Informer<StoredProtector>;
  readonly modes: Pick<NamespaceModes, "switched">;
  readonly events: EventRecorder;
  /** Whether the cluster with this UID of kube-system is a cell. */
  readonly isCell: (clusterUID: string) => boolean;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

export function createHeldChanges(
  config: HeldChangesOptions["config"] &
    Pick<Config, "cells"> & { readonly core: { readonly namespace: string | undefined } },
  deps: HeldChangesDependencies,
): HeldChanges {
  const { core, sources, protectors, modes, events, isCell, clock, logger, metrics } = deps;
  const namespace = config.cells.leaseNamespace;
  const failures = metrics.counter(
    "generator_mass_change_failures_total",
    "Requests that judge and keep mass changes (namespaces, API groups, the ConfigMap) and failed, by error",
    ["error"],
  );
  const announcements = new Announcements({ events, namespace, logger, metrics });
  const store = new LatchStore({ core, namespace, logger, failures });
  const held = metrics.gauge("generator_held_changes", "Changes that are held now, by cause, as the leader sees them", [
    "cause",
  ]);
  const changes = new HeldChanges({
    config,
    sources,
    protectors,
    modes,
    questions: new NamespacesAndKinds({ core, clock, logger, failures }),
    latches: new LatchBook({ store, announcements, clock }),
    lowered: new LoweredFloors({ core, namespace: config.core.namespace, protectors, clock }),
    announcements,
    isCell,
    clock,
  });
  metrics.onScrape(() => {
    for (const [cause, count] of changes.counts()) held.set({ cause }, count);
  });
  return changes;
}
