/** Which contexts a kubeconfig has, for people who choose one by name. What they say is read by kube/transport. */
import { load } from "js-yaml";
import { asList, fieldsOf } from "../api/json.ts";

export interface KubeconfigContexts {
  /** Undefined or "" = none. */
  readonly current: string | undefined;
  /** In the order of the file. */
  readonly names: readonly string[];
  /** The namespace of each context that names one. */
  readonly namespaces: ReadonlyMap<string, string>;
}

/** Throws an Error whose first line says what is wrong with the text. */
export function contextsOf(text: string): KubeconfigContexts {
  const document = load(text);
  if (typeof document !== "object" || document === null) throw new Error("it is not a YAML mapping");
  const { "current-context": current, contexts } = fieldsOf(document);
  const entries = asList(contexts).flatMap((entry) => {
    const { name, context } = fieldsOf(entry);
    return typeof name === "string" ? [{ name, namespace: fieldsOf(context)["namespace"] }] : [];
  });
  return {
    current: typeof current === "string" ? current : undefined,
    names: entries.map(({ name }) => name),
    namespaces: new Map(
      entries.flatMap(({ name, namespace }) => (typeof namespace === "string" ? [[name, namespace] as const] : [])),
    ),
  };
}

/** How the cluster of a context is reached. */
export interface ContextServer {
  readonly server: string;
  /** Base64 of PEM; takes precedence over the file. */
  readonly authorityData: string | undefined;
  readonly authorityFile: string | undefined;
}

/** Undefined = there is no such context, or it names no cluster with a server. Throws as `contextsOf`. */
export function serverOf(text: string, context: string): ContextServer | undefined {
  const { contexts, clusters } = fieldsOf(load(text));
  const named = (list: unknown, name: unknown) =>
    asList(list)
      .map(fieldsOf)
      .find((entry) => entry["name"] === name);
  const cluster = fieldsOf(named(contexts, context)?.["context"])["cluster"];
  const fields = fieldsOf(named(clusters, cluster)?.["cluster"]);
  const { server, "certificate-authority-data": data, "certificate-authority": file } = fields;
  if (typeof server !== "string") return undefined;
  return {
    server,
    authorityData: typeof data === "string" ? data : undefined,
    authorityFile: typeof file === "string" ? file : undefined,
  };
}
