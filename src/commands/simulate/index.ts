/**
 * `podseidon simulate drain|delete`: what would happen, judged by what the clusters show now. Nothing is written, and
 * nobody is asked: neither the webhook nor, with a dry run, the API servers.
 *
 * - simulated-pods.ts, budgets.ts: the doors for objects from clusters. reads.ts reads them.
 * - guard.ts: the door for PodProtectors, and the webhook in memory, over the accounting's own functions.
 * - drain-plan.ts: kubectl drain in rounds. deletions.ts: deletions in one go. release-steps.ts: the end of a workload.
 * - obstacles.ts: why something stays, in words. drain-report.ts, steps.ts: shown.
 */
import { Problem, unknownName } from "../../config/reading/problem.ts";
import { assert } from "../../util/assert.ts";
import { coreOptions, namespaceOption, outputOption, workerOption } from "../clusters/options.ts";
import { onClusters, type OpenClusters } from "../clusters/open.ts";
import { type Command, type CommandEnd } from "../command.ts";
import { simulateDeleteDeployment } from "./delete/delete-deployment.ts";
import { simulateDeleteNamespace } from "./delete/delete-namespace.ts";
import { simulateDeletePods } from "./delete/delete-pod.ts";
import { simulateDrain } from "./drain/drain.ts";
import { type Simulation } from "./reads.ts";

const actions = ["drain", "delete"] as const;
const kinds = ["pod", "deployment", "namespace"] as const;

export const simulate: Command = {
  usage: "simulate <what> <...args>",
  summary: "What a drain or a deletion would come to",
  options: [
    ...coreOptions,
    workerOption,
    { usage: "--cell <name>", description: "The cell of the nodes or pods" },
    { usage: "--pod-selector <labels>", description: "Drain: only these pods, as in kubectl drain" },
    { usage: namespaceOption.usage, description: "Delete: its namespace; default as kubectl" },
    outputOption,
  ],
  examples: [
    "simulate drain node-7 node-8 --worker=w1=my-worker",
    "simulate drain node-7 --cell=w1",
    "simulate delete pod web-0 web-1 -n shop --cell=w1",
    "simulate delete deployment web -n shop",
    "simulate delete namespace shop --worker=w1=my-worker -o json",
  ],
  words: actions,
  run(context, options, action, args) {
    const found = simulationOf(String(action), Array.isArray(args) ? args : []);
    const [run, problem] = found instanceof Problem ? [undefined, `simulate: ${found.message}`] : [found];
    return onClusters({ context, options, problem }, async (clusters, output) => {
      assert(run !== undefined, "a problem ends before");
      return run(clusters, { context, options, output });
    });
  },
};

type Run = (clusters: OpenClusters, simulation: Simulation) => Promise<CommandEnd>;

function simulationOf(action: string, args: readonly string[]): Run | Problem {
  if (action === "drain") return (clusters, simulation) => simulateDrain(args, clusters, simulation);
  if (action !== "delete") return unknownName("action", action, actions, (name) => name);
  const [kind = "", ...of] = args;
  const [name, ...others] = of;
  if (name === undefined)
    return new Problem(`delete needs a kind and a name: delete pod NAME; kinds: ${kinds.join(", ")}`);
  switch (kind) {
    case "pod":
    case "pods":
      return (clusters, simulation) => simulateDeletePods(of, clusters, simulation);
    case "deployment":
    case "namespace": {
      if (others.length > 0) return new Problem(`delete ${kind} takes one name`);
      const one = kind === "deployment" ? simulateDeleteDeployment : simulateDeleteNamespace;
      return (clusters, simulation) => one(name, clusters, simulation);
    }
    default:
      return unknownName("kind", kind, kinds, (candidate) => candidate);
  }
}
