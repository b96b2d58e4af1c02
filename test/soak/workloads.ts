/** The workloads of a soak, the same in the core, which the generator reads, and in the workers, where they run. */
import { type JsonObject } from "../double/index.ts";
import { workerNames } from "./schedule.ts";

export const namespaces = {
  /** Workloads that stay. */
  shop: "shop",
  /** Workloads that come and go; what goes is what a mass deletion looks like, so that is allowed here. */
  visitors: "visitors",
  system: "podseidon-system",
  dummyPod: "podseidon-update-trigger",
} as const;

/** Workloads that only deletions make unavailable, so that their floors can be watched from outside. */
export const guarded: readonly string[] = Array.from({ length: 10 }, (_, index) => `web-${index}`);
/** A workload whose containers fail and recover by themselves, and that is scaled. Nobody deletes its pods. */
export const unsteady = "unsteady";

/** In each worker. */
const replicas = { guarded: 12, unsteady: 10, visitor: 4 } as const;
const maxUnavailablePercent = 25;
/** By how many replicas `unsteady` is larger in every second turn, in each worker. */
const scaleStep = 2;
/** Old sets are kept for this many rolling updates: without a limit the clusters themselves would grow. */
const revisionHistoryLimit = 2;

const fleetOf = (perWorker: number): number => perWorker * workerNames.length;

/** What must stay of each guarded workload, by its `namespace/name`. */
export const floors: ReadonlyMap<string, number> = new Map(
  guarded.map((name) => {
    const all = fleetOf(replicas.guarded);
    return [`${namespaces.shop}/${name}`, all - Math.floor((all * maxUnavailablePercent) / 100)];
  }),
);

export function visitorName(turn: number): string {
  return `visitor-${turn}`;
}

/** Replicas of `unsteady` after that turn, in a worker. */
export function unsteadyReplicas(turn: number): number {
  return replicas.unsteady + (turn % 2 === 0 ? scaleStep : 0);
}

/** `perWorker` replicas in a worker, the sum of them in the core. */
export function replicasIn(isCore: boolean, perWorker: number): number {
  return isCore ? fleetOf(perWorker) : perWorker;
}

export function deploymentOf(namespace: string, name: string, isCore: boolean): JsonObject {
  const perWorker =
    namespace === namespaces.visitors ? replicas.visitor : name === unsteady ? replicas.unsteady : replicas.guarded;
  const labels = { app: name };
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name, namespace, labels },
    spec: {
      replicas: replicasIn(isCore, perWorker),
      revisionHistoryLimit,
      selector: { matchLabels: labels },
      strategy: {
        type: "RollingUpdate",
        rollingUpdate: { maxUnavailable: `${maxUnavailablePercent}%`, maxSurge: "25%" },
      },
      template: templateOf(name, 0),
    },
  };
}

/** The pod template with the image of that turn. */
export function templateOf(name: string, turn: number): JsonObject {
  return { metadata: { labels: { app: name } }, spec: { containers: [{ name: "main", image: `${name}:${turn}` }] } };
}

/** Pods that there are in a worker when everything has come up. */
export const podsPerWorker = guarded.length * replicas.guarded + replicas.unsteady;
