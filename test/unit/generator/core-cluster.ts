/** A core cluster in the API double with generators on it, and what tests do and ask there. */
import assert from "node:assert/strict";
import { afterEach } from "node:test";
import { annotations, finalizer, sourceLabels } from "../../../src/api/v1alpha1/names.ts";
import {
  CellController,
  ConditionWriter,
  createGeneratorMetrics,
  createHeldChanges,
  createSourceFeeds,
  decodeNamespace,
  FollowedFloors,
  Generator,
  type GeneratorSettings,
  IgnoredOverrides,
  type LabelledNamespace,
  NamespaceModes,
  ScaleAlarms,
  SourceCaches,
  UnusableProtectors,
} from "../../../src/generator/index.ts";
import { type SourceFeedsOptions } from "../../../src/generator/feeds/source-feeds.ts";
import { createEventRecorder } from "../../../src/kube/event-recorder.ts";
import { decodeGeneratorState, generatorStateName } from "../../../src/kube/generator-state.ts";
import { createInformer } from "../../../src/kube/watch/index.ts";
import { namespaces, podProtectors, readProtector, type StoredProtector } from "../../../src/kube/resources.ts";
import { type CustomSourceID, type NamespaceMode, type SourceID } from "../../../src/config/generator-rules.ts";
import { builtInResources, Engine, type JsonObject, type KubeObject, type ResourceType } from "../../double/index.ts";
import { permissivePodProtectorCrd } from "../../double/index.ts";
import { createCountingMetrics } from "../kube/counting-metrics.ts";
import { createRecordingLogger } from "../observability/recording-logger.ts";
import { createSeededRng } from "../../support/seeded-rng.ts";
import { createVirtualClock } from "../../support/virtual-clock.ts";
import { EngineClient } from "../../support/engine-client.ts";

export type Core = Awaited<ReturnType<typeof createCore>>;
export type GeneratorProcess = ReturnType<Core["startGenerator"]>;

const config: GeneratorSettings = {
  percentRounding: "at-least-one",
  singleReplica: "drainable",
  sourceSelector: {},
  deploymentPlugin: { protectionSelector: {}, protectNonZero: false },
  stateNamespace: "default",
  coreNamespace: undefined,
  queue: { concurrency: 8, backoffBaseMs: 100, backoffMaxMs: 60_000, backoffConflictMs: 10 },
};

/** Most tests are about one workload, whose deletion need not wait for others. */
const neverHold = { policy: "allow", allow: [] } as const;

/** Processes of the test that runs: whatever it leaves running is stopped behind it. */
const leftRunning = new Set<() => Promise<void>>();
afterEach(async () => {
  for (const stop of leftRunning) await stop();
});

interface ProcessOptions {
  readonly massChanges?: { readonly policy: "hold" | "trickle" | "allow"; readonly allow: readonly string[] };
  readonly standby?: boolean;
  readonly silentPolicy?: "zero" | "keep";
  readonly sources?: readonly (SourceID | CustomSourceID)[];
  /** From its first request. */
  readonly onRequest?: EngineClient["onRequest"];
  readonly defaultMode?: NamespaceMode;
  /** False: as with --core-kube-target-namespace. */
  readonly hasNamespaces?: boolean;
  readonly rule?: Partial<Pick<GeneratorSettings, "percentRounding" | "singleReplica" | "sourceSelector">>;
}

export async function createCore(crd = permissivePodProtectorCrd()) {
  const clock = createVirtualClock();
  const rng = createSeededRng(1);
  const callWebhook = (): never => assert.fail("no webhook is configured");
  const engine = new Engine({ clock, rng, callWebhook });
  await engine.bootstrap();
  const protectorType: ResourceType = await engine.installCrd(crd);
  const sourceType = builtInResources.deployments;
  let started = 0;

  return {
    clock,
    engine,
    protectorType,

    /** Starts a process that leads at once, or stands by with warm caches until `lead` is called. */
    startGenerator(plugin: Partial<GeneratorSettings["deploymentPlugin"]> = {}, options: ProcessOptions = {}) {
      const { standby = false, silentPolicy = "zero", massChanges = neverHold, rule = {} } = options;
      const { sources: ids = ["deployments.apps"] } = options;
      started += 1;
      const client = new EngineClient("core", engine);
      if (options.onRequest !== undefined) client.onRequest = options.onRequest;
      const logger = createRecordingLogger();
      const metrics = createCountingMetrics();
      const common = { client, clock, rng, logger, metrics };
      const generatorMetrics = createGeneratorMetrics(metrics);
      const { actions, conditionFailures: failures } = generatorMetrics;
      const unusable = new UnusableProtectors({ core: client, clock, logger, failures });
      const protectors = createInformer<StoredProtector>({
        ...common,
        resource: podProtectors,
        decode(raw) {
          const read = readProtector(raw);
          if (!read.ok) unusable.noticed(raw);
          return read.ok ? read.stored : undefined;
        },
        name: "podprotectors",
      });
      const create: SourceFeedsOptions["create"] = (resource, decode) =>
        createInformer({ ...common, resource, decode, name: resource.resource });
      const isLost: SourceFeedsOptions["isLost"] = (kind, signal) => changes.isLost(kind, signal);
      const forFeeds = { core: client, protectors, create, isLost, clock, rng };
      const { feeds, scaled, expected } = createSourceFeeds(ids, forFeeds);
      const sources = new SourceCaches({ informers: feeds, clock, logger });
      const events = createEventRecorder({ ...common, component: "podseidon-generator" });
      const deps = { core: client, sources, protectors, events, clock, logger, metrics };
      const settings = { ...config, ...rule, deploymentPlugin: { ...config.deploymentPlugin, ...plugin } };
      const cellSettings = { leaseNamespace: "default", silentAfterMs: 180_000, silentPolicy };
      const { defaultMode = "enforced", hasNamespaces = true } = options;
      const informer = createInformer<LabelledNamespace>({
        ...common,
        resource: namespaces,
        decode: decodeNamespace,
        name: "namespaces",
      });
      const watched = hasNamespaces ? informer : undefined;
      const modes = new NamespaceModes({ core: client, config: { defaultMode }, informer: watched, events, logger });
      const changes = createHeldChanges(
        { ...settings, massChanges, cells: cellSettings, core: { namespace: undefined } },
        { ...deps, modes, isCell: (clusterUID) => cells.isCell(clusterUID) },
      );
      let conditions: ConditionWriter | undefined;
      const followed = new FollowedFloors({ ...deps, config: settings, expected, changes, rng, actions });
      const feedsInTrouble = new Map([...scaled, [followed.kind, followed] as const]);
      const alarms = new ScaleAlarms({ feeds: feedsInTrouble, events, clock, logger });
      const generator = new Generator(settings, {
        core: client,
        sources,
        protectors,
        modes,
        events,
        releaseEvents: events,
        changes,
        clock,
        rng,
        logger,
        metrics: generatorMetrics,
      });
      const cells = new CellController(
        { cells: cellSettings, queue: config.queue },
        {
          core: client,
          leases: client,
          protectors,
          events,
          identity: `generator-${started}`,
          productVersion: "1.0.0",
          onLooked: () => conditions?.look(),
          clock,
          rng,
          logger,
          metrics,
        },
      );
      const ignored = new IgnoredOverrides({ config: settings, sources, protectors, events, clock, metrics });
      const life = new AbortController();
      const running = [
        protectors.run(life.signal),
        expected.run(life.signal),
        sources.run(life.signal),
        modes.run(life.signal),
        cells.observe(life.signal),
      ];
      running.push(generator.observe(life.signal));
      let leadership = new AbortController();
      const lead = async (): Promise<void> => {
        await clock.advance(0);
        assert.ok(protectors.hasSynced(), "the caches are synced");
        await sources.ready(life.signal);
        await modes.ready(life.signal);
        leadership = new AbortController();
        running.push(
          ...[generator, modes, followed, cells, ignored, alarms].map((part) => part.lead(leadership.signal)),
        );
      };
      const stop = async (): Promise<void> => {
        leftRunning.delete(stop);
        leadership.abort();
        life.abort();
        await clock.advance(0);
        await Promise.all(running);
        events.close();
      };
      leftRunning.add(stop);
      return {
        client,
        logger,
        lead,
        /** Waits for the caches, and leads unless it stands by. */
        async ready() {
          await clock.advance(0);
          if (!standby) await lead();
          await clock.advance(1_000);
        },
        sources: () => generator.sources(),
        troubles: () => generator.troubles(),
        kinds: () => sources.kinds(),
        unreadable: () => [...alarms.unreadable()].filter(([kind]) => kind !== followed.kind).map(([, count]) => count),
        unresolved: () => alarms.unreadable().get(followed.kind),
        /** Conditions are written from now on. Only on request, since other tests count writes. */
        writeConditions(addsReady = true) {
          conditions = new ConditionWriter({
            core: client,
            protectors,
            clock,
            logger,
            ...generatorMetrics,
            sayers: { sources: [generator, followed, unusable], cells: [cells] },
            addsReady,
          });
          running.push(conditions.lead(leadership.signal));
        },
        loseLeadership: () => leadership.abort(),
        actions: (action: string, namespace = "default", resource = "deployments") =>
          metrics.value("generator_action", { group: "apps", version: "v1", resource, namespace, action }),
        metrics,
        gauge(name: string): number {
          metrics.scrape();
          return metrics.value(name);
        },
        errors: () => logger.entries.filter(({ level }) => level === "error"),
        infos: () => logger.entries.filter(({ level }) => level === "info"),
        /** The process ends at once, in the middle of whatever it does. */
        kill() {
          client.isDead = true;
          leftRunning.delete(stop);
          leadership.abort();
          life.abort();
        },
        stop,
      };
    },

    createDeployment: (name: string, more: DeploymentOptions = {}) =>
      engine.create(sourceType, "default", deploymentBody(name, more)),
    patchDeployment: (name: string, body: JsonObject) => engine.patch(sourceType, "default", name, mergePatch(body)),
    deleteDeployment: (name: string) => engine.delete(sourceType, "default", name),
    /** The object is gone without a deletion: no deletionTimestamp was ever seen, finalizers did not matter. */
    eraseDeployments: () => engine.wipe(sourceType),
    /** The same happens to PodProtectors. */
    eraseProtectors: () => engine.wipe(protectorType),
    deployment: (name: string) => engine.find(sourceType, "default", name),

    /** null takes a label off. */
    labelNamespace: (labels: JsonObject, name = "default") =>
      engine.patch(builtInResources.namespaces, undefined, name, mergePatch({ metadata: { labels } })),
    createProtector: (name: string, more: { metadata?: JsonObject; spec?: JsonObject } = {}) =>
      engine.create(protectorType, "default", protectorBody(name, more)),
    /** As a person does. */
    patchProtector: (name: string, body: JsonObject) =>
      engine.patch(protectorType, "default", name, mergePatch(body), { fieldManager: "kubectl-edit" }),
    async writeCells(name: string, cells: readonly JsonObject[]) {
      const summary = { totalReplicas: 0, aggregatedAvailableReplicas: 0, estimatedAvailableReplicas: 0 };
      const patch = mergePatch({ status: { cells, summary } });
      return await engine.patch(protectorType, "default", name, patch, { subresource: "status" });
    },
    /** As the generator's writer of conditions does. */
    async writeDangling(name: string) {
      const summary = { totalReplicas: 0, aggregatedAvailableReplicas: 0, estimatedAvailableReplicas: 0 };
      const lastTransitionTime = new Date(clock.epochMicros() / 1_000).toISOString();
      const dangling = {
        type: "Dangling",
        status: "True",
        reason: "SourceVanished",
        message: "It is gone",
        lastTransitionTime,
      };
      const patch = mergePatch({ status: { cells: [], summary, conditions: [dangling] } });
      return await engine.patch(protectorType, "default", name, patch, { subresource: "status" });
    },
    deleteProtector: (name: string) => engine.delete(protectorType, "default", name),
    protector: (name: string) => engine.find(protectorType, "default", name),
    /** What the generator remembers for those who come after it. */
    state: () => decodeGeneratorState(engine.find(builtInResources.configMaps, "default", generatorStateName)),
    /** A person lets PodProtectors go. */
    async letGo(uid: string) {
      const data = { [`uid.${uid}`]: "" };
      if (engine.find(builtInResources.configMaps, "default", generatorStateName) !== undefined)
        return await engine.patch(builtInResources.configMaps, "default", generatorStateName, mergePatch({ data }));
      const metadata = { name: generatorStateName };
      return await engine.create(builtInResources.configMaps, "default", {
        apiVersion: "v1",
        kind: "ConfigMap",
        metadata,
        data,
      });
    },
    events: () => engine.list(builtInResources.events, "default").items,
  };
}

function mergePatch(body: JsonObject) {
  return { contentType: "application/merge-patch+json", body };
}

/** A core with a generator that leads. */
export async function startLeading(
  ...args: Parameters<Core["startGenerator"]>
): Promise<{ core: Core; generator: GeneratorProcess }> {
  const core = await createCore();
  const generator = core.startGenerator(...args);
  await generator.ready();
  return { core, generator };
}

/** As `startLeading`, and it writes conditions too. */
export async function startWithConditions(): ReturnType<typeof startLeading> {
  const started = await startLeading();
  started.generator.writeConditions();
  return started;
}

/** Of a Deployment that can never be drained. */
export const undrainable: JsonObject = {
  strategy: { type: "RollingUpdate", rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } },
};

interface DeploymentOptions {
  readonly replicas?: number;
  readonly metadata?: JsonObject;
  readonly spec?: JsonObject;
}

function deploymentBody(name: string, { replicas = 10, metadata = {}, spec = {} }: DeploymentOptions): JsonObject {
  const labels = { app: "web" };
  const container = { name: "main", image: "web:1" };
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name, namespace: "default", ...metadata },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [container] } },
      ...spec,
    },
  };
}

function protectorBody(name: string, { metadata = {}, spec = {} }: { metadata?: JsonObject; spec?: JsonObject }) {
  return {
    apiVersion: "podseidon.kubewharf.io/v1alpha1",
    kind: "PodProtector",
    metadata: { name, namespace: "default", ...metadata },
    spec: { minAvailable: 3, minReadySeconds: 0, selector: { matchLabels: { app: "mine" } }, ...spec },
  };
}

/** The labels of the protector of a Deployment. */
export function labelsFor(deploymentName: string): JsonObject {
  return {
    [sourceLabels.name]: deploymentName,
    [sourceLabels.group]: "apps",
    [sourceLabels.kind]: "Deployment",
    [sourceLabels.resource]: "deployments",
  };
}

/** True while the webhook has to enforce the object: it is there and not marked as released. */
export function isInForce(protector: KubeObject | undefined): boolean {
  return protector !== undefined && protector.metadata.annotations?.[annotations.released] === undefined;
}

export function hasFinalizer(object: KubeObject | undefined): boolean {
  return object?.metadata.finalizers?.includes(finalizer) === true;
}
