/** Puts the generator of one core together: caches, leader election in the core, the controller. */
import { type DeploymentRecord, readDeployment } from "../api/deployment.ts";
import {
  CellController,
  createGeneratorMetrics,
  createHeldChanges,
  Generator,
  SourceConditions,
} from "../generator/index.ts";
import { createEventRecorder } from "../kube/event-recorder.ts";
import { runElected } from "../kube/leader-election/index.ts";
import { patchOrUpdate } from "../kube/patch-or-update.ts";
import { createInformer } from "../kube/watch/index.ts";
import { deployments } from "../kube/resources.ts";
import { type Component } from "../lifecycle/component.ts";
import { createBackground } from "./background.ts";
import { createElector } from "./elector.ts";
import { createProtectorInformer, syncCheck, whenSynced } from "./informers.ts";
import { type Runtime } from "./runtime.ts";

export async function createGenerator(runtime: Runtime): Promise<Component[]> {
  const { clock, rng, metrics, health } = runtime;
  const config = runtime.config.generator;
  const logger = runtime.logger.with({ role: "generator" });
  // Upstream's account may update, but not patch.
  const core = patchOrUpdate(await runtime.clients.core(), { clock, logger, metrics });

  const protectors = createProtectorInformer(runtime, core, logger);
  const sources = createInformer<DeploymentRecord>({
    client: core,
    resource: deployments,
    namespace: runtime.config.core.namespace,
    decode: readDeployment,
    clock,
    rng,
    logger,
    metrics,
    name: "deployments",
  });
  const events = createEventRecorder({ client: core, component: "podseidon-generator", clock, rng, logger, metrics });
  const generatorMetrics = createGeneratorMetrics(metrics);
  const common = { core, protectors, events, clock, rng, logger };
  const { core: ofCore, cells: ofCellLeases } = runtime.config;
  const changes = createHeldChanges(
    { ...config, cells: ofCellLeases },
    { ...common, deployments: sources, isCell: (clusterUID) => cells.isCell(clusterUID), metrics },
  );
  const generator = new Generator(
    { ...config, stateNamespace: ofCellLeases.leaseNamespace, coreNamespace: ofCore.namespace },
    { ...common, deployments: sources, changes, metrics: generatorMetrics },
  );
  const conditions = new SourceConditions({
    ...common,
    found: (stored) => generator.found(stored),
    failures: generatorMetrics.conditionFailures,
  });
  health.register("generator-worker/ppr-informer-synced", syncCheck("PodProtectors", protectors));
  health.register("generator-worker/deployment/informer-sync", syncCheck("Deployments", sources));

  const elector = createElector(runtime, {
    role: "generator",
    config: config.elector,
    clusterClass: "core",
    client: core,
    logger,
  });
  const { identity } = elector;
  const cells = new CellController({ cells: ofCellLeases, queue: config.queue }, { ...common, identity, metrics });
  metrics.onScrape(() => {
    const [ofSources, ofCells] = [generator.sizes(), cells.sizes()];
    generatorMetrics.setSizes({ queue: ofSources.queue + ofCells.queue, paced: ofSources.paced + ofCells.paced });
    generatorMetrics.setSources(generator.sources());
    generatorMetrics.setTroubles(generator.troubles());
  });
  return [
    createBackground("generator-worker", async (signal) => {
      const synced = Promise.all([whenSynced(protectors, signal), whenSynced(sources, signal)]);
      const watching = Promise.all([
        protectors.run(signal),
        sources.run(signal),
        cells.observe(signal),
        generator.observe(signal),
      ]);
      await synced;
      const lead = async (leadership: AbortSignal): Promise<void> => {
        await Promise.all([generator.lead(leadership), cells.lead(leadership), conditions.lead(leadership)]);
      };
      if (!signal.aborted) await runElected(elector, signal, lead);
      await watching;
      events.close();
    }),
  ];
}
