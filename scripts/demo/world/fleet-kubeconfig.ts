/** The kubeconfig by which people reach the clusters of a fleet: one file with a context for each. */
import { writeFileSync } from "node:fs";
import { namespace } from "../scenario.ts";

/**
 * Writes the file, for its owner only. The contexts are `core` and the names of the cells; the current one is `core`,
 * where the PodProtectors are. All of them name the namespace of the services. The API servers want no credentials, so
 * there is no user. JSON is YAML.
 */
export function writeFleetKubeconfig(
  file: string,
  coreUrl: string,
  cells: readonly { readonly name: string; readonly server: { readonly url: string } }[],
): void {
  const clusters = [{ name: "core", url: coreUrl }, ...cells.map(({ name, server }) => ({ name, url: server.url }))];
  const document = {
    apiVersion: "v1",
    kind: "Config",
    clusters: clusters.map(({ name, url }) => ({ name, cluster: { server: url } })),
    users: [],
    contexts: clusters.map(({ name }) => ({ name, context: { cluster: name, namespace } })),
    "current-context": "core",
  };
  writeFileSync(file, `${JSON.stringify(document, null, 2)}\n`, { mode: 0o600 });
}
