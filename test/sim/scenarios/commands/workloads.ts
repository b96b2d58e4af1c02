/** Deployments beside the one of the scenario, without pods: what becomes of their PodProtectors' floors. */
import { annotations, labels } from "../../../../src/api/v1alpha1/names.ts";
import { generatorStateName } from "../../../../src/kube/generator-state.ts";
import { builtInResources, type JsonObject, type KubeObject } from "../../../double/index.ts";
import { approve } from "../../clusters/latches.ts";
import { namespace } from "../../clusters/namespaces.ts";
import { type Arguments } from "./arguments.ts";
import { type Run, type Stage } from "./stage.ts";

const { configMaps, deployments, namespaces } = builtInResources;
const mergePatch = "application/merge-patch+json";
export const nameOfWorkload = (index: number): string => `workload-${index}`;
/** Of the namespaces of workloads that are created apart. */
const teamOf = (index: number): string => `team-${index}`;

/** What is done to one of them. */
type Act = (stage: Stage, args: Arguments) => (index: number) => Promise<unknown>;

const create: Act = (stage, args) => {
  const { engine } = stage.core.server;
  const place = args.setting("in") ?? namespace;
  const isApart = args.flag("apart");
  const marks = args.flag("exempt") ? { [labels.massChanges]: "allow" } : {};
  const spec = { replicas: args.number("replicas", 8), owner: args.setting("owner") };
  return async (index) => {
    const own = isApart ? teamOf(index) : place;
    if (engine.find(namespaces, undefined, own) === undefined)
      await engine.create(namespaces, undefined, { metadata: { name: own, labels: marks } });
    await engine.create(deployments, own, body(nameOfWorkload(index), spec));
  };
};

/** To so many replicas, or the default. */
const scale =
  (preset: number): Act =>
  (stage, args) => {
    const { engine } = stage.core.server;
    const options = { fieldManager: args.setting("by") ?? "tool" };
    const isSubresource = args.flag("scale");
    const patch = { contentType: mergePatch, body: { spec: { replicas: args.number("replicas", preset) } } };
    return async (index) => {
      const { metadata } = found(stage, index);
      if (isSubresource) await engine.patchScale(deployments, metadata.namespace, metadata.name, patch, options);
      else await engine.patch(deployments, metadata.namespace, metadata.name, patch, options);
    };
  };

const edit =
  (change: JsonObject): Act =>
  (stage, args) => {
    const options = { fieldManager: args.setting("by") ?? "tool" };
    const patch = { contentType: mergePatch, body: change };
    return async (index) => {
      const { metadata } = found(stage, index);
      await stage.core.server.engine.patch(deployments, metadata.namespace, metadata.name, patch, options);
    };
  };

/** The word of their owner, and in the same write other replicas. */
const keep: Act = (stage, args) => {
  const word = args.setting("at") ?? null;
  const replicas = args.number("replicas", -1);
  const spec = replicas < 0 ? {} : { spec: { replicas } };
  return edit({ metadata: { annotations: { [annotations.keep]: word } }, ...spec })(stage, args);
};

const remove: Act = (stage) => async (index) => {
  const { metadata } = found(stage, index);
  await stage.core.server.engine.delete(deployments, metadata.namespace, metadata.name);
};

/** The namespace controller deletes what is in a namespace that is being deleted. */
const end: Act = (stage, args) => {
  const { engine } = stage.core.server;
  return async (index) => {
    const own = found(stage, index).metadata.namespace ?? "";
    const present = engine.find(namespaces, undefined, own)?.metadata;
    if (present?.deletionTimestamp === undefined) await engine.delete(namespaces, undefined, own);
    await remove(stage, args)(index);
  };
};

const acts: Readonly<Record<string, Act>> = {
  create,
  overwrite: scale(0),
  restore: scale(8),
  loosen: edit({ spec: { strategy: { rollingUpdate: { maxUnavailable: "100%" } } } }),
  keep,
  deselect: edit({ metadata: { labels: { unprotected: "yes" } } }),
  delete: remove,
  end,
};

/** workloads ACT N [from=M]: what is done to the first N, or to those from number M on. */
export const changeWorkloads: Run = async (stage, args) => {
  const name = args.word("what is done to them");
  const count = Number(args.word("how many"));
  const from = args.number("from", 0);
  const act = acts[name]?.(stage, args);
  if (act === undefined) throw args.error(`nobody can ${name} workloads`);
  for (let index = from; index < count; index += 1) await stage.during(act(index));
};

function found({ core }: Stage, index: number): KubeObject {
  const { items } = core.server.engine.list(deployments);
  const workload = items.find(({ metadata }) => metadata.name === nameOfWorkload(index));
  if (workload === undefined) throw new Error(`there is no ${nameOfWorkload(index)}`);
  return workload;
}

function body(name: string, { replicas, owner }: { readonly replicas: number; readonly owner: string | undefined }) {
  const podLabels = { app: name };
  const [apiVersion = "", kind = ""] = owner?.split("#") ?? [];
  const ownerReferences = [{ apiVersion, kind, name: "owner", uid: "owner", controller: true }];
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name, ...(owner === undefined ? {} : { ownerReferences }) },
    spec: {
      replicas,
      selector: { matchLabels: podLabels },
      template: { metadata: { labels: podLabels }, spec: { containers: [{ name: "main", image: "main:1" }] } },
    },
  };
}

/** approve CAUSE: a person lets the changes pass that are held for it. */
export const approveHeld: Run = async (stage, args) => {
  const wasHeld = await stage.during(approve(stage.core.server.engine, args.word("the cause"), "planned"));
  if (!wasHeld) throw args.error("nothing was ever held");
};

/** state approve|latches TEXT [times=N]: somebody writes this into the generator's ConfigMap, so many times over. */
export const writeState: Run = async (stage, args) => {
  const isApproval = args.word("what is written") === "approve";
  const times = args.number("times", 1);
  const text = args.word("the text").repeat(times);
  const change = isApproval
    ? { metadata: { annotations: { [annotations.approve]: text } } }
    : { data: { latches: text } };
  const patch = { contentType: mergePatch, body: change };
  await stage.during(stage.core.server.engine.patch(configMaps, namespace, generatorStateName, patch));
};

/** Changes that are held for a cause, as the generators' gauges say. */
export function heldFor({ world }: Stage, cause: string): number {
  const counts = world.generators.map((one) => one.gauges().get(`generator_held_changes ${cause}`) ?? 0);
  return counts.reduce((sum, count) => sum + count, 0);
}

/** How often Events of a reason were recorded in the core: those of one object are one with a count. */
export function told({ core }: Stage, reason: string): number {
  const { items } = core.server.engine.list(builtInResources.events);
  const events = items.filter((event) => event["reason"] === reason);
  return events.reduce((sum, { count }) => sum + Number(count ?? 1), 0);
}

/** How many workloads have a floor above 0. */
export function floorsOfWorkloads({ core }: Stage): number {
  const protectors = core.server.engine.list(core.protectors).items;
  return protectors.filter(({ metadata, spec }) => {
    return (
      metadata.name.startsWith(`deployment-${nameOfWorkload(0).slice(0, -1)}`) && Number(spec?.["minAvailable"]) > 0
    );
  }).length;
}

/** Of the PodProtector of that name. */
export function floorOf({ core }: Stage, name: string): number {
  return Number(core.server.engine.find(core.protectors, namespace, name)?.spec?.["minAvailable"]);
}
