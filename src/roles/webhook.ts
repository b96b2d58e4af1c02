/**
 * Puts the webhook together: the PodProtectors of each core, the handler with its batches, the listeners. They stop in reverse: the listeners
 * go on serving while endpoints learn of it, then close; the batches finish; the watches end last.
 */
import { type WorkerClientConfig } from "../config/index.ts";
import { createInformer, type Informer, type KubeClient } from "../kube/index.ts";
import { podProtectors } from "../kube/resources.ts";
import { type Component } from "../lifecycle/component.ts";
import { sleep } from "../util/clock.ts";
import { type Logger } from "../util/logger.ts";
import * as webhook from "../webhook/index.ts";
import { createBackground } from "./background.ts";
import { type Runtime } from "./runtime.ts";

/** An API server has at most 200 mutating requests under way by default, each with a connection of its own: room for 25 of them. */
const connectionsMax = 5_000;
/**
 * How long reviews are still taken after the signal, while readiness already fails: kube-proxy learns of a removed endpoint within a second or two.
 * With `graceMs` it stays within the 10 s that a process has to stop.
 */
const serveOnMs = 3_000;
/** A review normally takes some 100 ms, a conflicting one a second; the API server repeats what is cut off according to its caller. */
const graceMs = 5_000;

export async function createWebhook(runtime: Runtime): Promise<Component[]> {
  const { clock, health } = runtime;
  const config = runtime.config.webhook;
  const logger = runtime.logger.with({ role: "webhook" });
  // --podprotector-source-provider=core-only: one core. Everything below works for several.
  const clients = [{ name: "core", client: await runtime.clients.core() }];
  const cores = clients.map(({ name, client }) => ({
    name,
    client,
    informer: createWatchedInformer(runtime, client, logger),
  }));
  const { app, unreadyReasons, ...handler } = webhook.createWebhook({
    ...runtime,
    ...config,
    logger,
    cores,
    workers: await connectWorkers(runtime, config.workerClient),
    isDryRun: config.dryRun,
    criteria: config.healthCriteria,
    recordsPodName: (cellID) =>
      config.podNames.mode === "always" || (config.podNames.mode === "by-cell" && config.podNames.cells.has(cellID)),
    history: runtime.config.history,
  });

  // Upstream's name ends with the name of the source, which is empty for its only one.
  const informers = cores.map(({ name, informer }, index) => {
    const component = `podprotector-indexed-informer-${index === 0 ? "" : name}`;
    health.register(`${component}/informers-synced`, () => unreadyReasons.get(name)?.());
    return createBackground(component, (signal) => informer.run(signal));
  });
  const server = runtime.createServer({
    name: "webhook",
    config: config.server,
    fetch: (request, bindings) => app.fetch(request, bindings),
    connectionsMax,
    graceMs,
    clock,
    logger,
  });
  return [
    ...informers,
    { name: "webhook-handler", start: async () => {}, stop: () => handler.drain() },
    {
      name: "webhook",
      start: () => server.start(),
      async stop() {
        await sleep(clock, serveOnMs);
        await server.stop();
      },
    },
  ];
}

/** Unlike the informer of the other roles it keeps objects that cannot be understood, so that they do not look deleted. */
function createWatchedInformer(
  runtime: Runtime,
  client: KubeClient,
  logger: Logger,
): Informer<webhook.WatchedProtector> {
  const { clock, rng, metrics } = runtime;
  const { targetNamespace } = runtime.config.core;
  return createInformer<webhook.WatchedProtector>({
    client,
    resource: podProtectors,
    namespace: targetNamespace === "" ? undefined : targetNamespace,
    decode: webhook.decodeWatched,
    clock,
    rng,
    logger,
    metrics,
    name: "podprotectors",
  });
}

async function connectWorkers(runtime: Runtime, config: WorkerClientConfig): Promise<webhook.WorkerClients> {
  const { clients } = runtime;
  switch (config.kind) {
    case "none":
      return config;
    case "single":
      return { kind: "single", client: await clients.connect("webhook-worker", config.cluster) };
    case "map": {
      const connected = [...config.clusters].map(
        async ([cell, cluster]) => [cell, await clients.connect(`webhook-worker-${cell}`, cluster)] as const,
      );
      return { kind: "map", clients: new Map(await Promise.all(connected)) };
    }
    default:
      return config satisfies never;
  }
}
