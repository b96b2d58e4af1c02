/** The answer of `podseidon explain pod`, for the page. */
import { cellIDProblem } from "../../config/types/address.ts";
import { Problem } from "../../config/reading/problem.ts";
import { type OpenClusters } from "../clusters/open.ts";
import { type CommandContext } from "../command.ts";
import { explained } from "../explain/explain.ts";
import { readTarget } from "../explain/target.ts";

/** What a person asks about. */
export interface PodQuestion {
  /** "" = wherever the pod is found. */
  readonly cell: string;
  readonly namespace: string;
  readonly pod: string;
  /** Characters that fit into a line of the page. */
  readonly columns: number;
}

/** Lines for people, as the command prints them, or what is wrong with the question. */
export type PodAnswer = { readonly text: string } | { readonly problem: string };

export type ExplainPod = (question: PodQuestion, signal: AbortSignal) => Promise<PodAnswer>;

export function podExplainer(
  clusters: OpenClusters,
  { clock, program }: Pick<CommandContext, "clock" | "program">,
): ExplainPod {
  return async ({ cell, namespace, pod, columns }, signal) => {
    const cellProblem = cell === "" ? undefined : cellIDProblem(cell);
    if (cellProblem !== undefined) return { problem: `The name of the cell ${cellProblem}.` };
    const target = readTarget("pod", `${namespace}/${pod}`, namespace);
    if (target instanceof Problem) return { problem: target.message };
    const told: string[] = [];
    const missed: string[] = [];
    const questions = {
      clock,
      program,
      signal,
      write: (text: string) => void told.push(text),
      complain: (line: string) => void missed.push(`${line}\n`),
      terminal: { columns, isColoured: false, isInteractive: false },
    };
    const how = { cell: cell === "" ? undefined : cell, isJson: false };
    const { problem } = await explained(questions, clusters, target, how);
    const text = [...missed, ...told].join("");
    return problem === undefined ? { text } : { problem: [text, problem].filter(Boolean).join("\n") };
  };
}
