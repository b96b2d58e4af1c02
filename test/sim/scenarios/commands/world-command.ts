/**
 * How a scenario begins:
 *
 *   world pods=x,y,z [others=v,w] [cells=a,b] min=2 [limit=N] [minready=30] [selector=K=V] [counting=K=V] [compact=N]
 *   [foreign=K,L] [webhooks=N] [aggregators=N] [without-watchlist] [update-trigger] [generator]
 *   [no-protector|deployment] [crd=upstream] [silent-after=3m] [hour=4m] [lends]
 *   [released-when-deleted] [east=2 [east-lends]]
 *
 * The pods of each cell have app=web, the others app=other; all have ours=yes. One PodProtector "web" selects app=web.
 * With "deployment" and without min, the generator makes one for a Deployment "web" of as many replicas as there are
 * pods, with Kubernetes' own default of maxUnavailable.
 * "update-trigger" leaves that flag at its default; without the word it is off, and nobody may ask for the deletion of
 * its pod either (the gate probe would make one), so that cells are quiet.
 * "lends": webhooks admit on the last known quota while the core takes no writes.
 * "east": there is a second core of that name, with a PodProtector "web" of its own; "east-lends": see "lends".
 * With "released-when-deleted" a Deployment that is deleted with its replicas lets its PodProtector go.
 * "hour": what is given to people by the hour is given that much sooner (src/util/clock.ts).
 * Without "silent-after" there is no heartbeat for days: its barriers would do what other rules are there for.
 */
import { annotations } from "../../../../src/api/v1alpha1/names.ts";
import { forbiddenToProbe } from "../../clusters/rights.ts";
import { builtInResources, type JsonObject, upstreamPodProtectorCrd } from "../../../double/index.ts";
import { type Core } from "../../core.ts";
import { namespace } from "../../clusters/namespaces.ts";
import { Arguments } from "./arguments.ts";
import { Stage } from "./stage.ts";
import { nameOfWorkload } from "./workloads.ts";

/** For lists, leases and first counts by the bookmark that comes once a minute. */
const startUpMs = 100_000;

/** Builds the world and lets it come up: the first command. `prepare`: called before anything happens in it. */
export async function worldOf(args: Arguments, algorithm: string, prepare?: (stage: Stage) => void): Promise<Stage> {
  const minReadySeconds = args.number("minready", 0);
  const cells = args.list("cells");
  const isGenerated = args.flag("deployment");
  const otherMin = args.setting("east");
  const stage = new Stage({
    algorithm,
    plan: {
      cells: cells.length === 0 ? ["a"] : cells,
      minReadySeconds,
      webhooks: args.number("webhooks", 1),
      aggregatorsPerCell: args.number("aggregators", 1),
      offersWatchList: !args.flag("without-watchlist"),
      updateTrigger: args.flag("update-trigger"),
      hasGenerator: args.flag("generator") || isGenerated,
      protectsNonZero: !args.flag("released-when-deleted"),
      compactThreshold: args.number("compact", 100),
      faults: new Set(args.flag("lends") ? ["last-known-quota" as const] : []),
      silentAfterMs: args.duration(args.setting("silent-after") ?? "240h"),
      hourMs: args.duration(args.setting("hour") ?? "1h"),
      otherCore: otherMin === undefined ? "none" : args.flag("east-lends") ? "last-known" : "refuse",
    },
    protector: isGenerated ? "deployment-web" : "web",
  });
  const { world } = stage;
  if (!world.plan.updateTrigger) for (const { server } of world.cells) server.conditions.lasting.push(forbiddenToProbe);
  prepare?.(stage);
  await stage.during(world.start());
  if (args.setting("crd") === "upstream")
    await stage.during(world.core.server.engine.installCrd(upstreamPodProtectorCrd()));
  const webPods = args.list("pods");
  stage.replicas = webPods.length * stage.pods.size;
  for (const [app, names] of [
    ["web", webPods],
    ["other", args.list("others")],
  ] as const) {
    for (const pods of stage.pods.values()) for (const name of names) await stage.during(pods.create(name, app, true));
  }
  if (!args.flag("no-protector")) {
    if (isGenerated) await createDeployment(stage);
    else await setProtector(stage, args, "web");
    for (const core of world.cores.slice(1)) {
      stage.core = core;
      await setProtector(stage, new Arguments("", [`min=${otherMin}`]), "web");
    }
    stage.core = world.core;
    await world.kernel.run(world.kernel.nowMs + minReadySeconds * 1_000 + startUpMs, () => isCounted(stage));
    if (!isCounted(stage)) throw args.error("the counts are not there when everything is well");
  }
  // Watches deliver what was counted.
  await world.kernel.run(world.kernel.nowMs + 5_000);
  args.end();
  return stage;
}

/** Of as many replicas as the scenario begins with. */
export async function createDeployment(stage: Stage): Promise<void> {
  const labels = { app: "web" };
  await stage.during(
    stage.core.server.engine.create(builtInResources.deployments, namespace, {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: "web" },
      spec: {
        replicas: stage.replicas,
        minReadySeconds: stage.world.plan.minReadySeconds,
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { containers: [{ name: "main", image: "web:1" }] } },
      },
    }),
  );
}

/** Each core has counts of what there is. */
function isCounted(stage: Stage): boolean {
  const { world } = stage;
  return world.processes().every((one) => one.isReady()) && world.cores.every((core) => isCountedIn(core, stage));
}

function isCountedIn({ checkers }: Core, { pods, protector }: Stage): boolean {
  const checker = checkers.get(protector);
  const status = checker?.object?.status;
  if (checker === undefined || status?.cells.length !== pods.size) return false;
  const available = checker.trueAvailable();
  return available > 0 && status.summary.aggregatedAvailableReplicas === available;
}

/** What a person writes into a hand-made one to try it, or to put it in force. */
function modeOf(args: Arguments): JsonObject {
  if (args.flag("shadow")) return { metadata: { annotations: { [annotations.mode]: "shadow" } } };
  return args.flag("enforced") ? { metadata: { annotations: { [annotations.mode]: null } } } : {};
}

/** The first workloads, by name. */
function targetsOf(count: number): JsonObject[] {
  return Array.from({ length: count }, (_, index) => ({
    apiVersion: "apps/v1",
    kind: "Deployment",
    name: nameOfWorkload(index),
  }));
}

/** Creates a PodProtector, or edits the settings that are named. */
export async function setProtector(stage: Stage, args: Arguments, name: string): Promise<void> {
  const { world, core } = stage;
  const { engine } = core.server;
  const selector = args.label("selector");
  const counting = args.label("counting");
  const min = args.setting("min");
  const limit = args.setting("limit");
  const rate = args.setting("rate");
  const follows = args.setting("follows");
  const foreign = args.setting("foreign");
  const isBroken = args.flag("broken");
  const isMended = args.flag("mended");
  const metadata = modeOf(args);
  const isNew = engine.find(core.protectors, namespace, name) === undefined;
  const minReady = args.setting("minready") ?? (isNew ? String(world.plan.minReadySeconds) : undefined);
  const spec: JsonObject = {
    ...(min !== undefined && { minAvailable: Number(min) }),
    ...(limit !== undefined && { maxPodsPerCell: Number(limit) }),
    ...(minReady !== undefined && { minReadySeconds: Number(minReady) }),
    ...(selector !== undefined && { selector: { matchLabels: { app: null, ...selector } } }),
    ...(rate !== undefined && { admissionHistoryConfig: { aggregationRateMillis: args.duration(rate) } }),
    ...(follows !== undefined && { maxUnavailable: "25%", targets: targetsOf(Number(follows)) }),
    ...(foreign !== undefined && { foreignOwners: foreign === "none" ? [] : foreign.split(",") }),
    ...(counting !== undefined && { aggregationSelector: { matchLabels: counting } }),
    ...(isBroken && { aggregationSelector: { matchExpressions: [{ key: "app", operator: "In", values: [] }] } }),
    ...(isMended && { aggregationSelector: null }),
  };
  // Under the name of a generated one: the checker of sources is told who does it.
  core.sources.meddled(namespace, name, "selector");
  if (min !== undefined) core.sources.meddled(namespace, name, `minAvailable ${Number(min)}`);
  if (!isNew) {
    const patch = { contentType: "application/merge-patch+json", body: { ...metadata, spec } };
    await stage.during(engine.patch(core.protectors, namespace, name, patch));
    return;
  }
  await stage.during(
    engine.create(core.protectors, namespace, {
      apiVersion: "podseidon.kubewharf.io/v1alpha1",
      kind: "PodProtector",
      metadata: { name },
      spec: { ...spec, selector: { matchLabels: selector ?? { app: "web" } } },
    }),
  );
}
