/**
 * Puts the webhook together: the PodProtectors of each core, the handler with its batches, the listeners. They stop in
 * reverse order (docs/webhook.md#shutdown):
 * 1. The listeners keep serving while the endpoints are updated, and then close.
 * 2. The batches finish.
 * 3. The watches end.
 */
import { type Config, type WorkerClientProvider } from "../config/index.ts";
import { labels } from "../api/v1alpha1/names.ts";
import { ServedCertificate } from "../certificates/served-certificate.ts";
import { CellLeases } from "../kube/cell-leases/index.ts";
import { type Informer } from "../kube/informer.ts";
import { createInformer } from "../kube/watch/index.ts";
import { podProtectors } from "../kube/resources.ts";
import { type Component, createBackground } from "../lifecycle/component.ts";
import { type ClientRejection, type DropReason } from "../server/index.ts";
import { longAgo, sleep } from "../util/clock.ts";
import { type Logger } from "../util/logger.ts";
import * as webhook from "../webhook/index.ts";
import { warnOfUnknownCallers } from "./reviews/caller-warnings.ts";
import { warnOfCellNames, warnOfEveryCell } from "./cells/cell-warnings.ts";
import { createCertificateEvents } from "./reviews/certificate-events.ts";
import { type ConnectedCore, connectCores, type Runtime } from "./runtime.ts";
import { createNamespaceInformer } from "./informers.ts";
import { createWebhookRecorders, recordersByCore } from "./reviews/webhook-recorders.ts";

/** An API server has at most 200 mutating requests in flight by default, each on its own connection: enough for 25. */
const connectionsMax = 5_000;
/** Those of 6 API servers behind one address. A stranger at another address cannot take more than this. */
const perAddressMax = 1_250;
/** For how long a replica is not ready after it had no room for a connection: two probes. */
const fullMs = 10_000;
/** A review usually takes about 100 ms, or 1 s with conflicts. One that is cut off may be retried by its caller. */
const graceMs = 5_000;

/** Rejected clients that are logged: more than a fleet has API servers. */
const namedClientsMax = 1_000;

export async function createWebhook(runtime: Runtime): Promise<Component[]> {
  const { clock, health } = runtime;
  const config = runtime.config.webhook;
  const logger = runtime.logger.with({ role: "webhook" });
  warnOfSettings(runtime, logger);
  const connected = await connectCores(runtime);
  const cores = connected.map((core) => ofCore(runtime, core, logger));
  const options = optionsOf(runtime, cores, await connectWorkers(runtime, config.workerClientProvider), logger);
  const { fetch, unreadyReasons, overloadReason, ...handler } = webhook.createWebhook(options);

  tellWhenSynced(cores, logger);
  const issued = issuedCertificate(runtime, cores, logger);
  const informers = cores.map(({ name, informer, namespaces: labelled, closeEvents, cells, absence }) => {
    // Upstream's name ends with the name of the source, which is empty for the only one.
    const component = `podprotector-indexed-informer-${cores.length === 1 ? "" : name}`;
    health.register(`${component}/informers-synced`, () => unreadyReasons.get(name)?.());
    health.register(`${component}/silent-cells-decided`, () => cells.undecidedReason());
    return createBackground(component, async (signal) => {
      await Promise.all([informer.run(signal), labelled?.run(signal), cells.run(signal), absence.run(signal)]);
      closeEvents();
    });
  });
  health.register("webhook-reviews", overloadReason);
  const server = runtime.createServer({
    name: "webhook",
    config: config.server,
    fetch,
    supplied: issued?.supplied,
    clientAuth: config.clientAuth && { ...config.clientAuth, onRejected: createRejectionReport(runtime, logger) },
    connectionsMax,
    perAddressMax,
    onDropped: createDropReport(runtime),
    graceMs,
    clock,
    logger,
    certificates: runtime.certificates,
  });
  tellOfCertificates(runtime, cores);
  return [
    ...(issued === undefined ? [] : [issued.component]),
    ...informers,
    {
      name: "webhook-handler",
      // While the lists of the informers arrive.
      start: async () => {
        if (runtime.isWarmedUp === true) logger.verbose(2, "Warmed up", { ...(await webhook.warmUp(options)) });
      },
      stop: () => handler.drain(),
    },
    {
      name: "webhook",
      start: () => server.start(),
      async stop() {
        // Endpoints take a moment to drop this replica, and open connections do not follow them.
        server.disableKeepAlive();
        await sleep(clock, config.drainDelayMs);
        await server.stop();
      },
    },
  ];
}

function optionsOf(
  runtime: Runtime,
  cores: readonly ReturnType<typeof ofCore>[],
  workers: webhook.WorkerClients,
  logger: Logger,
): webhook.WebhookOptions {
  const config = runtime.config.webhook;
  const { policies, replicas } = config.coreUnavailable;
  const { when, byCellFilter } = config.requiresPodName;
  return {
    ...runtime,
    ...config,
    stateNamespace: runtime.config.cells.leaseNamespace,
    logger,
    cores,
    workers,
    coreUnavailable: {
      replicas,
      isUnreadyWhenSilent: (core) => policies.get(core) !== "last-known",
      isLastKnownAllowed: webhook.lastKnownAllowedBy(
        policies,
        new Map(cores.map(({ name, namespaces: labelled }) => [name, labelled])),
      ),
    },
    ...recordersByCore(cores),
    requiresPodName: (cellID) => when === "always" || (when === "by-cell" && byCellFilter.has(cellID)),
    history: runtime.config.history,
    historyLimits: runtime.limits?.history,
  };
}

function warnOfSettings({ config, metrics }: Runtime, logger: Logger): void {
  warnOfUnknownCallers(config.webhook, logger, metrics);
  warnOfEveryCell(config, logger);
  warnOfCellNames(namedCells(config.webhook), logger);
}

/** What the webhook keeps of one core; nothing of it runs yet. */
function ofCore(runtime: Runtime, core: ConnectedCore, logger: Logger) {
  const { name, client } = core;
  const informer = createWatchedInformer(runtime, core, logger);
  const logged = logger.with({ core: name });
  const { config } = runtime;
  const cells = new CellLeases({ ...runtime, ...config.cells, core: name, client, role: "webhook", logger: logged });
  const { waitingEvents, ...recorders } = createWebhookRecorders(runtime, core, logged);
  return {
    name,
    client,
    informer,
    namespaces: createNamespaceInformer(runtime, core, {
      decode: webhook.decodeNamespacePolicy,
      label: labels.coreUnavailablePolicy,
      logger: logger.with({ core: name }),
    }),
    ...recorders,
    cells,
    absence: new webhook.GeneratorAbsence({
      ...runtime,
      core,
      systemNamespace: runtime.config.cells.leaseNamespace,
      informer,
      cells,
      events: waitingEvents,
      logger,
    }),
  };
}

/** Once, when the PodProtectors of all cores are there: until then reviews are refused. To be called before that. */
function tellWhenSynced(cores: readonly ReturnType<typeof ofCore>[], logger: Logger): void {
  const unlisted = new Set(cores);
  for (const core of cores)
    core.informer.subscribe({
      onEvent() {},
      onListed() {
        if (!unlisted.delete(core) || unlisted.size > 0) return;
        const podProtectors = cores.reduce((sum, { informer }) => sum + informer.size, 0);
        logger.info("Synced the PodProtectors, answering reviews", { podProtectors });
      },
    });
}

/** The core that the pod itself runs in: the first one without a kubeconfig, or else the first. */
function ownCore({ config }: Runtime, cores: readonly ReturnType<typeof ofCore>[]) {
  return cores.find(({ name }) => config.cores.get(name)?.kubeConfigPath === "") ?? cores[0];
}

/** What is served in place of files, and what reads it; undefined = the certificate is in files. */
function issuedCertificate(runtime: Runtime, cores: readonly ReturnType<typeof ofCore>[], logger: Logger) {
  const { clock, config, health } = runtime;
  const own = ownCore(runtime, cores);
  if (!config.webhook.hasIssuedCertificate || own === undefined) return undefined;
  const issued = new ServedCertificate({ client: own.client, namespace: config.cells.leaseNamespace, clock, logger });
  health.register("webhook-certificate", () =>
    issued.latest() === undefined ? "no certificate is issued yet" : undefined,
  );
  const reading = createBackground("webhook-certificate", (signal) => issued.run(signal));
  return {
    supplied: () => issued.latest(),
    component: {
      ...reading,
      async start() {
        // So that the first handshake finds what is there already.
        await issued.read();
        await reading.start();
      },
    },
  };
}

/** Events go into the core that the pod itself runs in. */
function tellOfCertificates(runtime: Runtime, cores: readonly ReturnType<typeof ofCore>[]): void {
  const { config, certificates } = runtime;
  const { deployment } = config.webhook;
  const own = ownCore(runtime, cores);
  if (deployment === undefined || own === undefined) return;
  certificates?.onEnding(createCertificateEvents(deployment, own.client, own.events));
}

/** The cells that the flags name. */
function namedCells({ allowedCells, requiresPodName, workerClientProvider: provider }: Config["webhook"]): string[] {
  const clusters = provider.kind === "map" ? provider.clusters.keys() : [];
  return [...allowedCells, ...requiresPodName.byCellFilter, ...clusters];
}

/** Counts, and tells by the readiness when there was no room. */
function createDropReport({ metrics, health, clock }: Runtime): (reason: DropReason) => void {
  const drops = metrics.counter(
    "webhook_connection_drop_total",
    "Connections ended without an answer: displaced by a newcomer, or no room for the newcomer (full, address), or " +
      "too many requests at once (pipelined)",
    ["reason"],
  );
  let fullAtMs = longAgo;
  health.register("webhook-connections", () =>
    clock.monotonicMs() - fullAtMs < fullMs ? `all ${connectionsMax} connections are in use` : undefined,
  );
  return (reason) => {
    drops.inc({ reason });
    if (reason === "full") fullAtMs = clock.monotonicMs();
  };
}

function createRejectionReport({ metrics }: Runtime, logger: Logger): (rejection: ClientRejection) => void {
  const rejections = metrics.counter(
    "webhook_client_rejection_total",
    "Connections rejected because the client certificate is missing or invalid (401) or has no allowed name (403)",
    ["code"],
  );
  // One line per address, so that no client can flood the log.
  const named = new Set<string>();
  return ({ status, message, peerAddress }) => {
    rejections.inc({ code: String(status) });
    if (named.has(peerAddress) || named.size >= namedClientsMax) return;
    named.add(peerAddress);
    logger.warn("Client rejected", { reason: message, peerAddress });
  };
}

/** Unlike the informer of the other roles, it keeps invalid objects, so that they do not look deleted. */
function createWatchedInformer(
  runtime: Runtime,
  { name: core, client, namespace }: ConnectedCore,
  logger: Logger,
): Informer<webhook.WatchedProtector> {
  const { clock, rng, metrics } = runtime;
  return createInformer<webhook.WatchedProtector>({
    client,
    resource: podProtectors,
    namespace,
    decode: webhook.decodeWatched,
    clock,
    rng,
    logger: logger.with({ core }),
    metrics,
    name: "podprotectors",
  });
}

async function connectWorkers(runtime: Runtime, config: WorkerClientProvider): Promise<webhook.WorkerClients> {
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
