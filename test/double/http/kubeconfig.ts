/** Kubeconfig files that lead to a double. */
import { writeFileSync } from "node:fs";

/** The text of a kubeconfig (JSON, which is YAML) for `url`; `token` and `caPem` where the server wants them. */
function kubeconfigText(url: string, token: string | undefined, caPem: string | undefined): string {
  const cluster = {
    server: url,
    ...(caPem === undefined ? {} : { "certificate-authority-data": Buffer.from(caPem).toString("base64") }),
  };
  const document = {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "double", cluster }],
    users: [{ name: "double", user: token === undefined ? {} : { token } }],
    contexts: [{ name: "double", context: { cluster: "double", user: "double" } }],
    "current-context": "double",
  };
  return `${JSON.stringify(document, null, 2)}\n`;
}

/** Writes `kubeconfigText` to `path`, readable by the owner only. */
export function writeKubeconfigFile(
  path: string,
  url: string,
  token: string | undefined,
  caPem: string | undefined,
): void {
  writeFileSync(path, kubeconfigText(url, token, caPem), { mode: 0o600 });
}
