/** The options by which a command is told which clusters to look at, and how to answer. */
import { cellIDProblem } from "../../config/types/address.ts";
import { coreNameProblem, namespaceProblem } from "../../config/types/kubernetes-names.ts";
import { onlyCore } from "../../config/clusters.ts";
import { Problem } from "../../config/reading/problem.ts";
import { quote } from "../../config/types/value-type.ts";
import { type CommandOption, type CommandOptions, valueOf } from "../command.ts";

/** For commands that look at cores. */
export const coreOptions: readonly CommandOption[] = [
  { usage: "--kubeconfig <file>", description: "Default: $KUBECONFIG, or ~/.kube/config" },
  { usage: "--core <context>", description: "CONTEXT or NAME=CONTEXT; default: current", isRepeatable: true },
  { usage: "--cell-lease-namespace <name>", description: "Namespace of Podseidon; podseidon-system" },
];

/** For commands that look at pods, too. */
export const workerOption: CommandOption = {
  usage: "--worker <cell=context>",
  description: "A cluster with pods, and its cell",
  isRepeatable: true,
};

export const namespaceOption: CommandOption = {
  usage: "-n, --namespace <name>",
  description: "Only this namespace",
};

export const outputOption: CommandOption = { usage: "-o, --output <format>", description: "table (default) or json" };

/** How many clusters one call looks at, each with its own connections. More than any fleet has. */
const clustersMax = 1_000;

export interface ClusterChoice {
  /** Undefined = not given. */
  readonly kubeconfig: string | undefined;
  /** The contexts of cores by their names; undefined context = the current one. At least one. */
  readonly cores: ReadonlyMap<string, string | undefined>;
  /** By cell. */
  readonly workers: ReadonlyMap<string, string>;
  /** Undefined = all. */
  readonly namespace: string | undefined;
  /** Of the Leases of cells and of the generator's ConfigMap. */
  readonly leaseNamespace: string;
}

/** As in the manifests. */
const leaseNamespaceDefault = "podseidon-system";

/** Checks every value. */
export function readClusterChoice(options: CommandOptions): ClusterChoice | Problem {
  const cores = coresOf(options.get("core") ?? []);
  if (cores instanceof Problem) return cores;
  const workers = workersOf(options.get("worker") ?? []);
  if (workers instanceof Problem) return workers;
  if (cores.size + workers.size > clustersMax) return new Problem(`at most ${clustersMax} clusters are allowed`);
  for (const name of ["namespace", "cell-lease-namespace"]) {
    const value = valueOf(options, name);
    const problem = value === undefined ? undefined : namespaceProblem(value);
    if (problem !== undefined) return invalid(name, value ?? "", problem, "the name of a namespace");
  }
  return {
    kubeconfig: valueOf(options, "kubeconfig"),
    cores,
    workers,
    namespace: valueOf(options, "namespace"),
    leaseNamespace: valueOf(options, "cell-lease-namespace") ?? leaseNamespaceDefault,
  };
}

export type OutputFormat = "table" | "json";

export function readOutput(options: CommandOptions): OutputFormat | Problem {
  const value = valueOf(options, "output") ?? "table";
  return value === "table" || value === "json" ? value : invalid("output", value, "is unknown", "table or json");
}

/** `option --output: "xml" is unknown; allowed: table or json`. */
export function invalid(option: string, value: string, problem: string, allowed: string): Problem {
  return new Problem(`option --${option}: ${quote(value)} ${problem}; allowed: ${allowed}`);
}

function coresOf(given: readonly string[]): ReadonlyMap<string, string | undefined> | Problem {
  if (given.length === 0) return new Map([[onlyCore, undefined]]);
  const cores = new Map<string, string>();
  for (const text of given) {
    const [name, context] = splitOnce(text);
    // Names of contexts may be anything, so only what can be the name of a core is one.
    const isNamed = context !== undefined && coreNameProblem(name) === undefined;
    const core = isNamed ? name : given.length === 1 ? onlyCore : text;
    if ((isNamed ? context : text) === "") return invalid("core", text, "names no context", "CONTEXT or NAME=CONTEXT");
    if (cores.has(core)) return invalid("core", text, `is the second with the name ${core}`, "each name once");
    cores.set(core, isNamed ? context : text);
  }
  return cores;
}

function workersOf(given: readonly string[]): ReadonlyMap<string, string> | Problem {
  const workers = new Map<string, string>();
  for (const text of given) {
    const [cell, context] = splitOnce(text);
    if (context === undefined || context === "") {
      return invalid("worker", text, "names no cell with its context", "CELL=CONTEXT, such as worker-1=my-context");
    }
    const problem = cellIDProblem(cell);
    if (problem !== undefined) {
      return invalid("worker", text, `begins with what ${problem}`, "CELL=CONTEXT, such as worker-1=my-context");
    }
    if (workers.has(cell)) return invalid("worker", text, "has a cell that was given before", "each cell once");
    workers.set(cell, context);
  }
  return workers;
}

function splitOnce(text: string): readonly [string, string | undefined] {
  const at = text.indexOf("=");
  return at === -1 ? [text, undefined] : [text.slice(0, at), text.slice(at + 1)];
}
