/** Puts the generator of one core together: caches, leader election in the core, the controller. */
import { isIP } from "node:net";
import {
  CellController,
  ConditionWriter,
  createGeneratorMetrics,
  createHeldChanges,
  createMonitor,
  createSourceFeeds,
  decodeNamespace,
  FollowedFloors,
  Generator,
  type HeldChanges,
  IgnoredOverrides,
  NamespaceModes,
  ScaleAlarms,
  SourceCaches,
  UnusableProtectors,
} from "../generator/index.ts";
import { createEventRecorder, type EventRecorder, type EventRecorderOptions } from "../kube/event-recorder.ts";
import { runElected } from "../kube/leader-election/index.ts";
import { type KubeClient } from "../kube/kube-client.ts";
import { patchOrUpdate } from "../kube/patch-or-update.ts";
import { type Component, createBackground } from "../lifecycle/component.ts";
import { type Logger } from "../util/logger.ts";
import { type ConnectedCore, connectCore, type Runtime } from "./runtime.ts";
import { createElector } from "./leadership.ts";
import {
  createNamespaceInformer,
  createProtectorInformer,
  sourceInformers,
  syncCheck,
  whenSynced,
} from "./informers.ts";

const named = {
  name: "generator-worker",
  upstreamNames: [
    "core-main-native-informers",
    "core-main-podseidon-informers",
    "generator-leader-elector",
    "generator-monitor",
  ],
};

export async function createGenerator(runtime: Runtime): Promise<Component[]> {
  const { clock, rng, metrics } = runtime;
  const config = runtime.config.generator;
  const ofCore = await connectCore(runtime, config.core);
  const logger = runtime.logger.with({ role: "generator", core: ofCore.name });
  const { core, leases, election } = await connectClients(runtime, ofCore, logger);

  const generatorMetrics = createGeneratorMetrics(metrics);
  const unusable = new UnusableProtectors({ core, clock, logger, failures: generatorMetrics.conditionFailures });
  const protectors = createProtectorInformer(runtime, ofCore, logger, (raw) => unusable.noticed(raw));
  const create = sourceInformers(runtime, ofCore, logger);
  const { events, releaseEvents, closeEvents } = createRecorders({ ...runtime, client: core, logger });
  const common = { core, protectors, events, clock, rng, logger };
  const isLost: HeldChanges["isLost"] = (kind, signal) => changes.isLost(kind, signal);
  const { feeds, scaled, expected } = createSourceFeeds(config.sources, { ...common, create, isLost });
  const sources = new SourceCaches({ informers: feeds, clock, logger });
  const { cells: ofCellLeases } = runtime.config;
  const informer = createNamespaceInformer(runtime, ofCore, { decode: decodeNamespace, logger });
  const modes = new NamespaceModes({ core, config, informer, events, logger });
  const changes = createHeldChanges(
    { ...config, cells: ofCellLeases, core: ofCore },
    { ...common, sources, modes, isCell: (clusterUID) => cells.isCell(clusterUID), metrics },
  );
  const { leaseNamespace: stateNamespace } = ofCellLeases;
  const generator = new Generator(
    { ...config, stateNamespace, coreNamespace: ofCore.namespace, releasesMax: runtime.limits?.releasesMax },
    { ...common, sources, modes, changes, releaseEvents, metrics: generatorMetrics },
  );
  const followed = new FollowedFloors({ ...common, config, sources, expected, changes, ...generatorMetrics });
  const ignored = new IgnoredOverrides({ ...common, config, sources, metrics });
  const alarmed = [...scaled, [followed.kind, followed] as const];
  const alarms = new ScaleAlarms({ feeds: new Map(alarmed), events, clock, logger });
  registerChecks(runtime, protectors, sources, modes);
  const issuer = await createIssuer(runtime, core, { events, logger });

  const elector = createElector(runtime, {
    role: "generator",
    config: config.elector,
    clusterClass: "core",
    client: election,
    logger,
  });
  const ofProcess = { productVersion: runtime.productVersion, metrics };
  const cells = new CellController(
    { cells: ofCellLeases, queue: config.queue, retiredPerRound: runtime.limits?.retiredPerRound },
    { ...common, ...ofProcess, leases, identity: elector.identity, onLooked: () => conditions.look() },
  );
  const sayers = { sources: [generator, followed, unusable], cells: [cells] };
  const conditions = new ConditionWriter({ ...common, ...generatorMetrics, sayers, addsReady: true });
  metrics.onScrape(() => setGauges(generatorMetrics, { generator, cells, sources, alarms }));
  const monitor = config.hasMonitor ? createMonitor(protectors, metrics, ofCore.name) : undefined;
  return [
    createBackground(named, async (signal) => {
      const synced = Promise.all([whenSynced(protectors, signal), sources.ready(signal), modes.ready(signal)]);
      const watching = Promise.all([
        ...[protectors, expected, modes, sources].map((part) => part.run(signal)),
        cells.observe(signal),
        generator.observe(signal),
      ]);
      await synced;
      const lead = async (leadership: AbortSignal): Promise<void> => {
        monitor?.lead(leadership);
        const parts = [generator, modes, followed, cells, conditions, ignored, alarms, ...issuer];
        await Promise.all(parts.map((part) => part.lead(leadership)));
      };
      if (!signal.aborted) await runElected(elector, signal, lead);
      await watching;
      closeEvents();
    }),
  ];
}

/** Empty = no certificates are issued: then what makes them is not even loaded. */
async function createIssuer(
  { clock, config, metrics }: Runtime,
  client: KubeClient,
  parts: { readonly events: EventRecorder; readonly logger: Logger },
) {
  const { webhookNames } = config.generator;
  if (webhookNames.length === 0) return [];
  const { CertificateIssuer } = await import("../certificates/issuer.ts");
  const names = {
    dnsNames: webhookNames.filter((name) => isIP(name) === 0),
    ipAddresses: webhookNames.filter((name) => isIP(name) !== 0),
  };
  const { leaseNamespace: namespace } = config.cells;
  return [new CertificateIssuer({ client, namespace, names, clock, metrics, ...parts })];
}

/** Each with connections and a rate limit of its own: no Lease waits behind what the controller does. */
async function connectClients({ clients, clock, metrics }: Runtime, { name, client }: ConnectedCore, logger: Logger) {
  // Upstream's account may update, but not patch.
  const updating = (of: KubeClient): KubeClient => patchOrUpdate(of, { clock, logger, metrics });
  const [leases, election] = await Promise.all([clients.coreHeartbeat(name), clients.coreElection(name)]);
  return { core: updating(client), leases: updating(leases), election };
}

interface Shown {
  readonly generator: Generator;
  readonly cells: CellController;
  readonly sources: SourceCaches;
  readonly alarms: ScaleAlarms;
}

function setGauges(
  gauges: ReturnType<typeof createGeneratorMetrics>,
  { generator, cells, sources, alarms }: Shown,
): void {
  const [ofSources, ofCells] = [generator.sizes(), cells.sizes()];
  gauges.setSizes({ queue: ofSources.queue + ofCells.queue, paced: ofSources.paced + ofCells.paced });
  gauges.setSources(generator.sources());
  gauges.setTroubles(generator.troubles());
  gauges.setKinds(sources.kinds());
  gauges.setUnreadableScales(alarms.unreadable());
}

function registerChecks(
  { health }: Runtime,
  protectors: ReturnType<typeof createProtectorInformer>,
  sources: SourceCaches,
  modes: NamespaceModes,
): void {
  health.register("generator-worker/ppr-informer-synced", syncCheck("PodProtectors", protectors));
  for (const { kind } of sources.kinds()) {
    // Two kinds may have the same name, and have different prefixes then.
    const name = kind.prefix.replace(/-$/, "");
    health.register(`generator-worker/${name}/informer-sync`, () => sources.problemOf(kind));
  }
  health.register("generator-worker/namespaces-listed", () => modes.problem());
}

/** Each has a limit of its own. */
function createRecorders(options: Omit<EventRecorderOptions, "component">) {
  const create = (): EventRecorder => createEventRecorder({ ...options, component: "podseidon-generator" });
  const [events, releaseEvents] = [create(), create()];
  return {
    events,
    releaseEvents,
    closeEvents: (): void => {
      for (const recorder of [events, releaseEvents]) recorder.close();
    },
  };
}
