/**
 * What the leader of a cell watches for beside its counts: whether deletions are still reviewed, pods that vanish, and
 * the authorities that API servers trust. All are told by metric, log, and Event on the Lease of the cell.
 */
import { CaBundle, entriesOf, GateProbe, GuardWatch, VanishedPods } from "../../aggregator/index.ts";
import { cellLeaseName } from "../../api/cell-lease.ts";
import { type PodRecord } from "../../api/pod.ts";
import { ownConfiguration } from "../../carried/admission.ts";
import { createEventRecorder, type EventRecorder } from "../../kube/event-recorder.ts";
import { type Informer } from "../../kube/informer.ts";
import { type KubeClient } from "../../kube/kube-client.ts";
import { compileSelector, formatSelector } from "../../label-index/index.ts";
import { assert } from "../../util/assert.ts";
import { type Logger } from "../../util/logger.ts";
import { type Runtime } from "../runtime.ts";

/** A core whose people are told: each has a Lease of the cell. */
export interface AlarmedCore {
  readonly name: string;
  /** The client for heartbeats. */
  readonly client: KubeClient;
  /** Of the cell's Lease, where it is known. */
  readonly leaseUID: () => string | undefined;
}

export interface CellAlarmParts {
  readonly worker: KubeClient;
  readonly cores: readonly AlarmedCore[];
  readonly pods: Informer<PodRecord>;
  /** Namespaces of PodProtectors that keep pods. */
  readonly floors: () => Iterable<string>;
  readonly logger: Logger;
}

export interface CellAlarms {
  /** For Events about the cell in one of the cores. */
  readonly eventsOf: (core: string) => Pick<EventRecorder, "record">;
  /** What beats say of the gate. */
  readonly gate: () => string | null | undefined;
  /** Watches until the signal aborts, which ends a term. */
  readonly run: (term: AbortSignal) => Promise<void>;
}

/** As the manifests have it. */
const usualConfiguration = "podseidon";

/** Call before the informer of pods runs. */
export function createCellAlarms(runtime: Runtime, parts: CellAlarmParts): CellAlarms {
  const { clock, config, metrics, rng } = runtime;
  const { worker, cores, pods, logger } = parts;
  const { cellID, podLabelSelector } = config.aggregator;
  const component = "podseidon-aggregator";
  const recorders = new Map(
    cores.map(({ name, client }) => [
      name,
      createEventRecorder({ client, component, clock, rng, logger: logger.with({ core: name }), metrics }),
    ]),
  );
  const eventsOf = (core: string): EventRecorder => {
    const recorder = recorders.get(core);
    assert(recorder !== undefined, `the core ${core} has a recorder of Events`);
    return recorder;
  };
  const name = cellLeaseName(cellID);
  const namespace = config.cells.leaseNamespace;
  const event = (type: "Normal" | "Warning", reason: string, message: string): void => {
    for (const { name: core, leaseUID } of cores) {
      const lease = { apiVersion: "coordination.k8s.io/v1", kind: "Lease", namespace, name, uid: leaseUID() };
      eventsOf(core).record(lease, type, reason, message);
    }
  };
  const compiled = compileSelector(podLabelSelector);
  const hasSelector = compiled.ok && formatSelector(compiled.selector) !== "";
  const shared = { cellID, event, clock, logger, metrics };
  const { dummyPod } = config.updateTrigger;
  const { caBundleOf } = config.aggregator;
  // Where a cell is a namespace, the dummy pod is in it, and there is no other one.
  const guard =
    config.worker.namespace === undefined
      ? new GuardWatch({
          ...shared,
          worker,
          configuration: caBundleOf ?? usualConfiguration,
          own: () => entriesOf(ownConfiguration()),
          floors: parts.floors,
          dummyNamespace: dummyPod.namespace,
        })
      : undefined;
  const probe = new GateProbe({ ...shared, worker, dummyPod, guard, rng });
  const vanished = new VanishedPods({ ...shared, pods, hasSelector });
  const caBundle =
    caBundleOf === undefined
      ? undefined
      : new CaBundle({ ...shared, worker, cores, namespace, configuration: caBundleOf });
  return {
    eventsOf,
    gate: () => probe.named(),
    async run(term) {
      vanished.lead(term);
      await Promise.all([probe.run(term), caBundle?.run(term)]);
    },
  };
}
