/** `podseidon explain`: why a deletion would be refused now, and what to do. */
import { formatMicroTime } from "../../api/micro-time.ts";
import { objectKey } from "../../api/object-key.ts";
import { Problem } from "../../config/reading/problem.ts";
import { cellIDProblem } from "../../config/types/address.ts";
import { protectorNameOf } from "../../generator/sources/source-plan.ts";
import { sourceKinds } from "../../sources/index.ts";
import { type EpochMicros } from "../../util/clock.ts";
import { onClusters, type OpenClusters } from "../clusters/open.ts";
import { coreOptions, invalid, namespaceOption, outputOption, workerOption } from "../clusters/options.ts";
import { type Command, type CommandContext, type CommandEnd, valueOf, wrongUsage } from "../command.ts";
import { type CoreLook, toldLooksAt } from "../fleet/look.ts";
import { releasesOf } from "../fleet/refusals.ts";
import { releasedText } from "../fleet/wording.ts";
import { standingJson } from "../status/json.ts";
import { lostDefinitionText } from "../status/text.ts";
import { jsonText } from "../text/format.ts";
import { type Explained, type Explanation, gather } from "./gather.ts";
import { type AskedPod, type Judged } from "./judged.ts";
import { findPod } from "./pod.ts";
import { readTarget, type Target, targetWords } from "./target.ts";
import { adviceFor, explanationText, isRefused } from "./text.ts";

export const explain: Command = {
  usage: "explain <kind> [name]",
  summary: "Say why a pod may not go, and what to do",
  options: [
    ...coreOptions,
    workerOption,
    { usage: "--cell <cell>", description: "The cell of the pod" },
    namespaceOption,
    outputOption,
  ],
  examples: [
    "explain pod web-7d9f-x2x -n shop --worker w1=my-worker",
    "explain deployment/web -n shop",
    "explain protector shop/deployment-web",
  ],
  words: targetWords,

  run(context, options, kind, name) {
    const cell = valueOf(options, "cell");
    const rule = cell === undefined ? undefined : cellIDProblem(cell);
    const problem = rule === undefined ? undefined : invalid("cell", cell ?? "", rule, "the name of a cell").message;
    return onClusters({ context, options, problem }, async (clusters, output) => {
      const target = readTarget(String(kind), typeof name === "string" ? name : undefined, clusters.objectNamespace);
      if (target instanceof Problem) return wrongUsage(target.message);
      return explained(context, clusters, target, { cell, isJson: output === "json" });
    });
  },
};

/** Writes the explanation of `target`, of a pod in `cell`. The clusters stay open. Also for the dashboard. */
export async function explained(
  context: Pick<CommandContext, "clock" | "signal" | "complain" | "write" | "terminal" | "program">,
  clusters: OpenClusters,
  target: Target,
  { cell, isJson }: { readonly cell: string | undefined; readonly isJson: boolean },
): Promise<CommandEnd> {
  const { clock, signal, write, terminal, program } = context;
  const looks = await toldLooksAt(clusters, target.namespace, context);
  if (looks.every(({ protectors }) => protectors === undefined)) return { exitCode: 1 };
  let asked: AskedPod | undefined;
  if (target.kind === "pod") {
    const found = await findPod(target, cell, clusters, looks, signal);
    if (!found.ok) return { exitCode: found.exitCode, problem: found.problem };
    ({ asked } = found);
  }
  const explanation = await gather(target, asked, looks, clusters, context);
  const exitCode = isRefused(explanation) ? 1 : 0;
  if (target.kind !== "pod" && explanation.explained.length === 0) {
    return { exitCode: 1, problem: nothingFound(target, looks, clock.epochMicros()) };
  }
  if (isJson) write(jsonText(explanationJson(explanation, asked, program)));
  else {
    // Before anything else: its advice is for a core whose generator runs.
    const lost = looks.map((look) => lostDefinitionText(look, { terminal, program })).filter((text) => text !== "");
    const text = explanationText(explanation, { asked, at: clock.epochMicros(), program, terminal });
    write([...lost, text].join("\n"));
  }
  return { exitCode };
}

function nothingFound(target: Target, looks: readonly CoreLook[], now: EpochMicros): string {
  const { namespace, name } = target;
  const what = target.kind === "workload" ? `for ${target.sourceKind} ${namespace}/${name}` : `${namespace}/${name}`;
  const invalid = looks.flatMap(({ protectors }) => protectors?.unusable ?? []).find((one) => one.name === name);
  if (invalid !== undefined) return `PodProtector ${what} is invalid: ${invalid.reason}`;
  const releases = looks.flatMap(({ events = [] }) => releasesOf(events, 0 as EpochMicros));
  const source = target.kind === "workload" ? sourceKinds.find(({ kind }) => kind === target.sourceKind) : undefined;
  const key = objectKey(namespace, source === undefined ? name : protectorNameOf(source, name));
  const released = releases.find(({ protector }) => protector === key);
  const since = released === undefined ? "" : `; released: ${releasedText(released, now)}`;
  return `there is no PodProtector ${what}${since}`;
}

function explanationJson(explanation: Explanation, asked: AskedPod | undefined, program: string): object {
  const { explained, unusable, gateFaults } = explanation;
  return {
    pod: asked === undefined ? undefined : { name: asked.pod.key, uid: asked.pod.uid, cell: asked.cellID },
    isAdmitted: asked === undefined ? undefined : !isRefused(explanation),
    gateFaults,
    protectors: explained.map((one) => explainedJson(one, asked, program)),
    unusable,
  };
}

function explainedJson(one: Explained, asked: AskedPod | undefined, program: string): object {
  const { core, standing, promises, pods, refusals, forced, answers, inCells } = one;
  return {
    core,
    ...standingJson(standing, refusals, forced),
    relation: answers?.relation,
    deletion: answers === undefined ? undefined : answerJson(answers.deletion),
    eviction: answers === undefined ? undefined : answerJson(answers.eviction),
    promises: promises.map((promise) => ({ ...promise, pod: pods?.get(promise.podUID ?? "") })),
    refusals: refusals?.events.map(({ reason, message, count, lastAt }) => ({
      reason,
      message,
      count,
      lastAt: lastAt === undefined ? undefined : formatMicroTime(lastAt),
    })),
    inCells: inCells.map(({ cellID, deletion }) => ({ cell: cellID, ...answerJson(deletion) })),
    advice: adviceFor(one, { asked, program }),
  };
}

function answerJson({ verdict, refusal }: Judged): object {
  return { isAdmitted: verdict.kind === "admitted", kind: verdict.kind, message: refusal };
}
