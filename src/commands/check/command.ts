/** `podseidon check`: looks at a whole fleet, and says what is wrong and how to mend it. Changes nothing. */
import { Problem } from "../../config/reading/problem.ts";
import { type Command, type CommandContext, valueOf } from "../command.ts";
import { onClusters, type OpenClusters } from "../clusters/open.ts";
import { coreOptions, invalid, outputOption, workerOption } from "../clusters/options.ts";
import { type Facts, type WorkerFacts } from "./facts.ts";
import { judge } from "./judge.ts";
import { type AggregatorSetting } from "./readers/account-rights.ts";
import { readCore } from "./readers/core.ts";
import { type Reader } from "./readers/deadline.ts";
import { readWorker } from "./readers/worker.ts";
import { countsOf, reportJson, reportText } from "./report.ts";

export const check: Command = {
  usage: "check",
  summary: "Find what is wrong with an installation",
  options: [
    ...coreOptions,
    workerOption,
    { usage: "--dummy-pod <namespace/name>", description: "Of the update-trigger, if no flag names it" },
    outputOption,
  ],
  examples: ["check", "check --core=my-core --worker=w1=worker-1 --worker=w2=worker-2"],
  run(context, options) {
    const given = readDummyPod(valueOf(options, "dummy-pod"));
    const [dummyPod, problem] = given instanceof Problem ? [undefined, given.message] : [given];
    return onClusters({ context, options, problem, prefix: "check: " }, async (clusters, output) => {
      const groups = judge(await gather(context, clusters, dummyPod));
      context.write(output === "json" ? reportJson(groups) : reportText(groups, context.terminal));
      return { exitCode: countsOf(groups).fail > 0 ? 1 : 0 };
    });
  },
};

async function gather(
  { clock, signal, version }: CommandContext,
  { cores, workers, choice }: OpenClusters,
  dummyPod: AggregatorSetting["dummyPod"] | undefined,
): Promise<Facts> {
  const reader: Reader = { clock, signal };
  const systemNamespace = choice.leaseNamespace;
  const question = { systemNamespace, dummyPod };
  const named = Array.from(workers, ([name, client]) =>
    readWorker({ ...question, name, client, isNamed: true }, reader),
  );
  // A cluster may be core and worker at once.
  const own =
    workers.size > 0
      ? []
      : Array.from(cores, ([name, client]) => readWorker({ ...question, name, client, isNamed: false }, reader));
  const [readCores, readWorkers, readOwn] = await Promise.all([
    Promise.all(Array.from(cores, ([name, client]) => readCore(name, client, systemNamespace, reader))),
    Promise.all(named),
    Promise.all(own),
  ]);
  return {
    now: clock.epochMicros(),
    productVersion: productVersionIn(version),
    systemNamespace,
    cores: readCores,
    workers: [...readWorkers, ...readOwn.filter(isWorker)],
  };
}

/** Something of a worker was found there, or could not be looked for. */
function isWorker({ entries, deployments }: WorkerFacts): boolean {
  return !entries.ok || entries.value.length > 0 || !deployments.ok || deployments.value.length > 0;
}

/** "0.1.0 (abc)", as roles name their release, of "podseidon 0.1.0 (commit abc, Node v26.0.0)". */
function productVersionIn(version: string): string {
  const [, release, commit] = /^\S+ (\S+) \(commit ([^,)]+)/.exec(version) ?? [];
  return release === undefined ? version.trim() : `${release} (${commit ?? ""})`;
}

function readDummyPod(text: string | undefined): AggregatorSetting["dummyPod"] | Problem | undefined {
  if (text === undefined) return undefined;
  const [namespace = "", name = "", ...more] = text.split("/");
  if (namespace !== "" && name !== "" && more.length === 0) return { namespace, name };
  return invalid("dummy-pod", text, "names no pod", "NAMESPACE/NAME");
}
