/** The clusters of a command: connecting to them, with nothing sent yet, and what every command on clusters repeats. */
import { type ClusterConfig } from "../../config/clusters.ts";
import { Problem } from "../../config/reading/problem.ts";
import { type KubeClient } from "../../kube/kube-client.ts";
import { StartError } from "../../lifecycle/component.ts";
import {
  type CommandContext,
  type CommandEnd,
  type CommandOptions,
  type CommandSurroundings,
  wrongUsage,
} from "../command.ts";
import { findContext, readKubeconfigs } from "./kubeconfig.ts";
import { type ClusterChoice, type OutputFormat, readClusterChoice, readOutput } from "./options.ts";

export interface OpenClusters {
  /** By name, in the order given; at least one. */
  readonly cores: ReadonlyMap<string, KubeClient>;
  /** By cell. */
  readonly workers: ReadonlyMap<string, KubeClient>;
  readonly choice: ClusterChoice;
  /** -n, or else as kubectl has it: that of the context of the first core, or "default". For a single object. */
  readonly objectNamespace: string;
  /** Closes all connections. */
  close(): Promise<void>;
}

/** A call of a command on clusters. */
export interface ClusterCall {
  readonly context: CommandContext;
  readonly options: CommandOptions;
  /** What is wrong with the options and arguments of the command itself, in one line. */
  readonly problem?: string | undefined;
  /** What wrong usage is told with: "check: ". */
  readonly prefix?: string;
}

/**
 * Reads how to answer, opens the clusters, and closes them when `work` has ended. The first mistake is told: of the
 * output, of the command itself, of the clusters.
 */
export async function onClusters(
  { context, options, problem, prefix = "" }: ClusterCall,
  work: (clusters: OpenClusters, output: OutputFormat) => Promise<CommandEnd>,
): Promise<CommandEnd> {
  const output = readOutput(options);
  if (output instanceof Problem) return wrongUsage(prefix + output.message);
  if (problem !== undefined) return wrongUsage(prefix + problem);
  const clusters = await openClusters(options, context);
  if (clusters instanceof Problem) return wrongUsage(prefix + clusters.message);
  try {
    return await work(clusters, output);
  } finally {
    await clusters.close();
  }
}

/** As kubectl's, which is no burden for a core. */
const rate = { qps: 50, burst: 300 };

/** A Problem is wrong usage: an option, a kubeconfig that cannot be used. */
export async function openClusters(
  options: CommandOptions,
  questions: Pick<CommandSurroundings, "environment" | "readFile" | "connect">,
): Promise<OpenClusters | Problem> {
  const choice = readClusterChoice(options);
  if (choice instanceof Problem) return choice;
  const files = readKubeconfigs(choice.kubeconfig, questions);
  if (files instanceof Problem) return files;
  const open: KubeClient[] = [];
  const namespaces: string[] = [];
  const close = async (): Promise<void> => void (await Promise.all(open.map((client) => client.close())));
  const connectAll = async (
    contexts: ReadonlyMap<string, string | undefined>,
    nameOf: (key: string) => string,
  ): Promise<ReadonlyMap<string, KubeClient> | Problem> => {
    const clients = new Map<string, KubeClient>();
    for (const [key, context] of contexts) {
      const found = findContext(files, context);
      if (found instanceof Problem) return found;
      namespaces.push(found.namespace ?? "default");
      const client = await connect(configOf(found.file, found.context), nameOf(key), questions);
      if (client instanceof Problem) return client;
      open.push(client);
      clients.set(key, client);
    }
    return clients;
  };
  const cores = await connectAll(choice.cores, (name) => name);
  const workers = cores instanceof Problem ? cores : await connectAll(choice.workers, (cell) => `worker ${cell}`);
  if (cores instanceof Problem || workers instanceof Problem) {
    await close();
    return cores instanceof Problem ? cores : (workers as Problem);
  }
  const objectNamespace = choice.namespace ?? namespaces[0] ?? "default";
  return { cores, workers, choice, objectNamespace, close };
}

async function connect(
  config: ClusterConfig,
  name: string,
  { connect: open }: Pick<CommandSurroundings, "connect">,
): Promise<KubeClient | Problem> {
  try {
    return await open(config, name);
  } catch (error) {
    if (!(error instanceof StartError)) throw error;
    return new Problem(error.message);
  }
}

function configOf(kubeConfigPath: string, context: string): ClusterConfig {
  return {
    kubeConfigPath,
    context,
    master: "",
    impersonateUsername: "",
    impersonateUid: "",
    impersonateGroups: [],
    userAgent: "podseidon-command",
    ...rate,
  };
}
