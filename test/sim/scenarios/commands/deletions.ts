/** What removes pods: delete, evict, release and retry, and a PodDisruptionBudget that stands in the way. */
import { annotations } from "../../../../src/api/v1alpha1/names.ts";
import { nodeController } from "../../../../src/webhook/decide/subject/disguised-deletion.ts";
import { builtInResources } from "../../../double/index.ts";
import { namespace } from "../../clusters/namespaces.ts";
import { type Arguments } from "./arguments.ts";
import { type Fate, type Run, type Stage } from "./stage.ts";

const { pods, podDisruptionBudgets } = builtInResources;

function fateOf(args: Arguments): Fate {
  if (args.flag("hold")) return "hold";
  return args.flag("dropped") ? "dropped" : "none";
}

/** What of the pod an eviction names as its preconditions. */
type Named = readonly ("resourceVersion" | "uid")[];

function namedBy(args: Arguments): Named {
  const isVersion = args.flag("named");
  return args.flag("uid") ? ["uid"] : isVersion ? ["resourceVersion"] : [];
}

async function evict(stage: Stage, pod: string, fate: Fate, waits = true, named: Named = []): Promise<string> {
  const act: Parameters<Stage["ask"]>[2] = async ({ engine }, name, caller) => {
    const metadata = { name, namespace };
    const present = engine.get(pods, namespace, name).metadata;
    const preconditions = Object.fromEntries(named.map((one) => [one, present[one]]));
    const eviction = { apiVersion: "policy/v1", kind: "Eviction", metadata, deleteOptions: { preconditions } };
    await engine.evict(namespace, name, eviction, { caller });
  };
  return await stage.ask(pod, fate, act, waits);
}

async function remove(stage: Stage, pod: string, fate: Fate, waits = true, isRepair = false): Promise<string> {
  const act: Parameters<Stage["ask"]>[2] = async ({ engine }, name, asking) => {
    const caller = isRepair ? { ...asking, username: nodeController } : asking;
    await engine.delete(pods, namespace, name, {}, { caller });
  };
  return await stage.ask(pod, fate, act, waits);
}

export const deleting: Run = async (stage, args) => {
  const pod = stage.podOf(args);
  if (args.flag("forced")) await stage.during(pod.pods.annotate(pod.name, annotations.forceDelete, "yes"));
  return await remove(stage, pod.id, fateOf(args), !args.flag("asked"), args.flag("taint-eviction"));
};

export const evicting: Run = async (stage, args) =>
  await evict(stage, stage.podOf(args).id, fateOf(args), !args.flag("asked"), namedBy(args));

export const answering: Run = async (stage, args) => await stage.answer(stage.podOf(args).id);

export const releasing: Run = async (stage, args) => await stage.release(stage.podOf(args).id, fateOf(args));

/** Time passes meanwhile, unless nobody waits for the end. */
export const retrying: Run = async (stage, args) => {
  const pod = stage.podOf(args);
  const { kernel } = stage.world;
  const isEviction = args.flag("evict");
  const fate = fateOf(args);
  const named = namedBy(args);
  if (args.flag("asked")) {
    const periodMs = args.duration(args.setting("every") ?? "");
    const untilMs = kernel.nowMs + args.duration(args.setting("for") ?? "");
    const again = (): void => {
      if (kernel.nowMs >= untilMs) return;
      void (isEviction ? evict(stage, pod.id, fate, false, named) : remove(stage, pod.id, fate, false));
      kernel.schedule(periodMs, again);
    };
    again();
    return;
  }
  const isOnChange = args.flag("on-change");
  const everyMs = isOnChange ? 100 : args.duration(args.setting("every") ?? "");
  const endMs = kernel.nowMs + args.duration(args.setting("for") ?? "");
  let seen: string | undefined;
  while (kernel.nowMs < endMs) {
    const version = pod.pods.find(pod.name)?.metadata.resourceVersion;
    if (!isOnChange || version !== seen) {
      await (isEviction ? evict(stage, pod.id, fate, true, named) : remove(stage, pod.id, fate));
    }
    seen = version;
    await kernel.run(kernel.nowMs + everyMs);
  }
};

export const budgeting: Run = async (stage, args) => {
  const disruptionsAllowed = Number(args.word("the number of disruptions"));
  const status = { observedGeneration: 1, disruptionsAllowed, currentHealthy: 1, desiredHealthy: 1, expectedPods: 1 };
  const patch = { contentType: "application/merge-patch+json", body: { status } };
  for (const { server } of stage.world.cells) {
    const { engine } = server;
    await stage.during(
      engine.create(podDisruptionBudgets, namespace, {
        apiVersion: "policy/v1",
        kind: "PodDisruptionBudget",
        metadata: { name: "budget" },
        spec: { selector: { matchLabels: { ours: "yes" } }, minAvailable: 1 },
      }),
    );
    await stage.during(engine.patch(podDisruptionBudgets, namespace, "budget", patch, { subresource: "status" }));
  }
};
