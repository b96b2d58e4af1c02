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
