/**
 * The controllers of a small cluster, acting through an engine: Deployment -> ReplicaSet -> pods, scheduler, kubelet,
 * garbage collector.
 */
import { type Engine } from "../engine/engine.ts";
import { type KubeObject } from "../engine/object.ts";
import { builtInResources as types } from "../engine/resources.ts";
import { isApiError } from "../engine/status.ts";
import { DeploymentController } from "./deployment.ts";
import { GarbageCollector } from "./garbage-collector.ts";
import { Kubelet } from "./kubelet.ts";
import { ObjectCache } from "./object-cache.ts";
import { ReplicaSetController } from "./replica-set.ts";
import { Scheduler } from "./scheduler.ts";

export interface ControllerOptions {
  /** Node objects are created for these names when absent. Default: node-1. */
  readonly nodes?: readonly string[];
  /** From the assignment to a node until the pod is Running and Ready; default 0. */
  readonly readyDelayMs?: number | ((pod: KubeObject) => number);
  /** From the deletion of a running pod until it is gone; default 0. */
  readonly terminationMs?: number | ((pod: KubeObject) => number);
  /** Longest backoff after a refused request; default 1 000 000 as in the real controllers. */
  readonly backoffMaxMs?: number;
  /** False leaves out the collector, as when its process is down: dependents of deleted owners stay. Default true. */
  readonly garbageCollector?: boolean;
}

export interface Controllers {
  /** Stops all of them; requests under way end by themselves. */
  stop(): void;
}

function duration(value: ControllerOptions["readyDelayMs"]): (pod: KubeObject) => number {
  return typeof value === "function" ? value : () => value ?? 0;
}

// Without it kubectl describes shares of nothing.
const capacity = { cpu: "8", memory: "32Gi", pods: "110" };

async function registerNodes(engine: Engine, names: readonly string[]): Promise<void> {
  for (const name of names) {
    const status = { capacity, allocatable: capacity, conditions: [{ type: "Ready", status: "True" }] };
    try {
      await engine.create(types.nodes, undefined, {
        apiVersion: "v1",
        kind: "Node",
        metadata: { name },
        spec: {},
        status,
      });
    } catch (error) {
      if (!isApiError(error, "AlreadyExists")) throw error;
    }
  }
}

/**
 * Starts the controllers on the engine's clock. They act as the users that the real ones are, through admission too.
 */
export async function startControllers(engine: Engine, options: ControllerOptions = {}): Promise<Controllers> {
  const backoffMaxMs = options.backoffMaxMs ?? 1_000_000;
  await registerNodes(engine, options.nodes ?? ["node-1"]);
  const deployments = new ObjectCache(engine, types.deployments);
  const sets = new ObjectCache(engine, types.replicaSets);
  const pods = new ObjectCache(engine, types.pods);
  const nodes = new ObjectCache(engine, types.nodes);
  const kubelet = { readyDelayMs: duration(options.readyDelayMs), terminationMs: duration(options.terminationMs) };
  const collected = [
    { type: types.deployments, cache: deployments },
    { type: types.replicaSets, cache: sets },
    { type: types.pods, cache: pods },
  ];
  const running: Controllers[] = [
    new DeploymentController(engine, { deployments, sets, pods }, backoffMaxMs),
    new ReplicaSetController(engine, sets, pods, backoffMaxMs),
    new Scheduler(engine, pods, nodes, backoffMaxMs),
    new Kubelet(engine, pods, kubelet, backoffMaxMs),
    ...(options.garbageCollector === false ? [] : [new GarbageCollector(engine, collected, backoffMaxMs)]),
  ];
  const caches = [nodes, pods, sets, deployments];
  for (const cache of caches) cache.start();
  return {
    stop() {
      for (const part of [...running, ...caches]) part.stop();
    },
  };
}
