/**
 * Finds the file that has a context, among those of --kubeconfig or $KUBECONFIG. As kubectl does, the first file that
 * has a context, or names the current one, counts; unlike there a context takes its cluster and user from its own file.
 */
import path from "node:path";
import { contextsOf, type KubeconfigContexts } from "../../config/kubeconfig-contexts.ts";
import { nearest } from "../../config/types/nearest.ts";
import { Problem } from "../../config/reading/problem.ts";
import { quote } from "../../config/types/value-type.ts";
import { type CommandSurroundings } from "../command.ts";

export interface FoundContext {
  readonly file: string;
  readonly context: string;
  /** That it names. */
  readonly namespace: string | undefined;
}

export interface KubeconfigFile {
  readonly file: string;
  readonly contexts: KubeconfigContexts;
}

/** As kube/transport/kube-config.ts has it. */
const bytesMax = 4 * 1024 * 1024;
/** Files of $KUBECONFIG. */
const filesMax = 100;
/** Contexts that a message names. */
const namedMax = 8;

type Reads = Pick<CommandSurroundings, "environment" | "readFile">;

/** Reads the files. One of several that does not exist is left out, as kubectl does. */
export function readKubeconfigs(given: string | undefined, reads: Reads): readonly KubeconfigFile[] | Problem {
  const files = filesOf(given, reads.environment);
  if (files.length > filesMax) return new Problem(`KUBECONFIG names more than ${filesMax} files`);
  const found: KubeconfigFile[] = [];
  for (const file of files) {
    try {
      found.push({ file, contexts: contextsOf(reads.readFile(file, bytesMax)) });
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      if (code === "ENOENT" && files.length > 1) continue;
      const why = code === "ENOENT" ? "there is no such file" : (message.trim().split("\n", 1)[0] ?? "");
      const hint = given === undefined && code === "ENOENT" ? "; set --kubeconfig or KUBECONFIG" : "";
      return new Problem(`kubeconfig ${quote(file)}: ${why}${hint}`);
    }
  }
  return found.length > 0 ? found : new Problem(`none of the files in KUBECONFIG exists`);
}

/** The file with this context; undefined = the current one. */
export function findContext(files: readonly KubeconfigFile[], context: string | undefined): FoundContext | Problem {
  const all = files.flatMap(({ contexts }) => contexts.names);
  const wanted = context ?? files.find(({ contexts }) => (contexts.current ?? "") !== "")?.contexts.current;
  if (wanted === undefined) return new Problem(`the kubeconfig has no current context; choose one: ${named(all)}`);
  const found = files.find(({ contexts }) => contexts.names.includes(wanted));
  if (found !== undefined) {
    return { file: found.file, context: wanted, namespace: found.contexts.namespaces.get(wanted) };
  }
  const best = nearest(wanted, all);
  const hint = best === undefined ? "" : `; did you mean ${quote(best)}?`;
  return new Problem(`the kubeconfig has no context ${quote(wanted)}; it has: ${named(all)}${hint}`);
}

function filesOf(given: string | undefined, environment: Reads["environment"]): readonly string[] {
  if (given !== undefined) return [given];
  const listed = (environment["KUBECONFIG"] ?? "").split(path.delimiter).filter((file) => file !== "");
  if (listed.length > 0) return listed;
  const home = environment["HOME"] ?? environment["USERPROFILE"] ?? "";
  return [path.join(home, ".kube", "config")];
}

function named(contexts: readonly string[]): string {
  if (contexts.length === 0) return "none";
  const more = contexts.length > namedMax ? ` and ${contexts.length - namedMax} more` : "";
  return `${contexts
    .slice(0, namedMax)
    .map((name) => quote(name))
    .join(", ")}${more}`;
}
