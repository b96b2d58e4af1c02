/** What guards the pods of one turn: nothing, a webhook that allows everything, or Podseidon. */
import { type Fleet, startFleet, webhookTls, type Worker } from "../../e2e/fleet/fleet.ts";
import { startLaggingProxy } from "../../e2e/fleet/lagging-proxy.ts";
import { createNamespace } from "../../e2e/objects/pods.ts";
import { type CaseContext } from "../../e2e/runner/runner.ts";
import {
  applyWebhookConfiguration,
  removeWebhookConfiguration,
  waitUntilInForce,
} from "../../e2e/objects/webhook-configuration.ts";
import { messageOf, startChild } from "../processes/child.ts";

export type GuardKind = "nothing" | "allow-all" | "podseidon";

export interface Guard {
  readonly workers: readonly Worker[];
  /** Of Podseidon. */
  readonly fleet?: Fleet;
  /** Its processes, by what they are. */
  readonly processes: ReadonlyMap<string, readonly { readonly pid: number }[]>;
  /** Resolves when the workers ask it about deletions; a pod of that name is in each of them. */
  inForce(podName: string): Promise<void>;
}

/** The clusters that run the pods, which the accounts of test/e2e know by these names. */
export const workerNames = ["worker-1", "worker-2"] as const;

const startLimitMs = 20_000;

export function startGuard(context: CaseContext, kind: GuardKind): Promise<Guard> {
  switch (kind) {
    case "nothing":
      return startNothing(context);
    case "allow-all":
      return startAllowAll(context);
    case "podseidon":
      return startPodseidon(context);
  }
}

async function startNothing(context: CaseContext): Promise<Guard> {
  return { workers: await bareWorkers(context), processes: new Map(), inForce: () => Promise.resolve() };
}

/**
 * test/bench/reviews/bare-server.ts in a process of its own, with the certificate and the configuration of a webhook,
 * behind a balancer as Podseidon's.
 */
async function startAllowAll(context: CaseContext): Promise<Guard> {
  const { directory, namespace } = context;
  const workers = await bareWorkers(context);
  const { certFile, keyFile, caPem } = await webhookTls(directory);
  const child = startChild(new URL("../reviews/review-server.ts", import.meta.url), ["bare", certFile, keyFile]);
  context.processes.track(child);
  const { port } = await messageOf<{ port: number }>(child, startLimitMs);
  const balancer = await startLaggingProxy([port]);
  const name = `allow-all-${namespace}`;
  context.cleanup(async () => {
    for (const { cluster } of workers) await removeWebhookConfiguration(cluster.admin, name);
    await balancer.close();
    child.disconnect();
  });
  for (const { cluster } of workers) {
    const url = `https://127.0.0.1:${balancer.port}/`;
    await applyWebhookConfiguration(cluster.admin, { name, url, caPem, namespace });
  }
  return {
    workers,
    processes: new Map([["webhook", [{ pid: child.pid ?? 0 }]]]),
    inForce: async (podName) => {
      for (const { cluster } of workers) await waitUntilInForce(cluster.admin, name, namespace, podName);
    },
  };
}

/** With its flags at their defaults: two webhooks behind a balancer, an aggregator for each worker. */
async function startPodseidon(context: CaseContext): Promise<Guard> {
  const fleet = await startFleet(context, { generator: false });
  return {
    workers: fleet.workers,
    fleet,
    processes: new Map([
      ["webhooks", fleet.webhooks.map((one) => one.process)],
      ["aggregators", fleet.aggregators.map((one) => one.process)],
    ]),
    inForce: () => fleet.waitIntercepted(),
  };
}

async function bareWorkers(context: CaseContext): Promise<readonly Worker[]> {
  const workers: Worker[] = [];
  for (const cell of workerNames) {
    const cluster = await context.cluster(cell);
    await createNamespace(cluster.admin, context.namespace);
    workers.push({ cell, cluster, proxy: undefined });
  }
  return workers;
}
