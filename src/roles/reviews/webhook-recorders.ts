/** The recorders of the webhook's Events in one core, each with a limit of its own (docs/webhook.md#events). */
import { type Config } from "../../config/index.ts";
import { createEventRecorder, type EventRecorder } from "../../kube/event-recorder.ts";
import { type Logger } from "../../util/logger.ts";
import { type ConnectedCore, type Runtime } from "../runtime.ts";

interface WebhookRecorders {
  /** For PodProtectors, and what else the webhook tells. */
  readonly events: EventRecorder;
  readonly developerEvents: {
    readonly workloads: EventRecorder;
    /** Undefined = the pods of reviews are not in this core. */
    readonly pods: EventRecorder | undefined;
  };
  /** Of workloads that wait for the generator; all replicas find the same ones. */
  readonly waitingEvents: EventRecorder;
  /** Ends all of them. */
  readonly closeEvents: () => void;
}

/** A mass incident has thousands of pods, and ten tell a developer as much. Later ones get theirs within seconds. */
const podRate = { qps: 0.2, burst: 10 };

export function createWebhookRecorders(
  runtime: Pick<Runtime, "config" | "clock" | "rng" | "metrics">,
  { name, client }: Pick<ConnectedCore, "name" | "client">,
  logger: Logger,
): WebhookRecorders {
  const options = { ...runtime, logger, client, component: "podseidon-webhook" };
  const isWorker = isWorkerOfReviews(runtime.config, name);
  const pods = isWorker ? createEventRecorder({ ...options, rate: podRate }) : undefined;
  const [events, workloads] = [createEventRecorder(options), createEventRecorder(options)];
  const waitingEvents = createEventRecorder({ ...options, isShared: true });
  return {
    events,
    developerEvents: { workloads, pods },
    waitingEvents,
    closeEvents() {
      for (const recorder of [events, workloads, pods, waitingEvents]) recorder?.close();
    },
  };
}

/** As the webhook takes them. */
export function recordersByCore(
  cores: readonly (Pick<WebhookRecorders, "events" | "developerEvents"> & { readonly name: string })[],
) {
  return {
    events: new Map(cores.map(({ name, events }) => [name, events])),
    developerEvents: new Map(cores.map(({ name, developerEvents }) => [name, developerEvents])),
  };
}

/** By the flags, the pods of evictions are read from this very cluster, so pods that are deleted are in it, too. */
function isWorkerOfReviews({ cores, webhook: { workerClientProvider: worker } }: Config, name: string): boolean {
  const core = cores.get(name);
  if (core === undefined || worker.kind !== "single") return false;
  return worker.cluster.kubeConfigPath === core.kubeConfigPath && worker.cluster.master === core.master;
}
