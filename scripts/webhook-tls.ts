/**
 * Makes the webhook's certificates: a certificate authority that signs one server certificate. The authority's key is
 * never written, so a stolen server key can impersonate this webhook and nothing else.
 *
 *     node scripts/n.mjs scripts/webhook-tls.ts --namespace podseidon-system --service podseidon-webhook
 *
 * prints a Secret, ready for `kubectl apply -f -`, and, in comments, the command that sets the caBundle. With --out DIR
 * it writes ca.crt, tls.crt, tls.key, secret.yaml and ca-bundle.yaml (a patch) instead.
 */
import { parseArgs } from "node:util";
import { ArgumentError, readArguments, runProgram } from "./command-line.ts";
import {
  checkDnsName,
  daysMax,
  issueServerCertificate,
  type IssuedCertificate,
  isDnsLabel,
} from "../src/certificates/index.ts";
import { parseDays, writeFiles } from "./tls-certificates.ts";

/** The DNS names of a Service inside its cluster; the API server uses the one that ends in .svc. */
export function serviceDnsNames(namespace: string, service: string): string[] {
  return [
    `${service}.${namespace}.svc`,
    `${service}.${namespace}.svc.cluster.local`,
    `${service}.${namespace}`,
    service,
  ];
}

const base64 = (text: string): string => Buffer.from(text).toString("base64");

/** The Secret that the webhook's Deployment in manifests/ mounts. */
export function secretYaml(namespace: string, name: string, issued: IssuedCertificate): string {
  return `apiVersion: v1
kind: Secret
metadata:
  name: ${name}
  namespace: ${namespace}
  labels:
    app.kubernetes.io/name: podseidon
    app.kubernetes.io/component: webhook
type: kubernetes.io/tls
data:
  ca.crt: ${base64(issued.caCertificate)}
  tls.crt: ${base64(issued.certificate)}
  tls.key: ${base64(issued.privateKey)}
`;
}

/** Where the authority belongs: all entries of manifests/base/admission call the same webhook. */
const caBundlePaths = [0, 1, 2].map((entry) => `/webhooks/${entry}/clientConfig/caBundle`);

/** A JSON patch that makes the API server trust the certificate, for `kubectl patch --type=json` and kustomize. */
export function caBundlePatchYaml(issued: IssuedCertificate): string {
  const operations = caBundlePaths.map(
    (at) => `- op: add
  path: ${at}
  value: ${base64(issued.caCertificate)}
`,
  );
  return operations.join("");
}

const usage = `usage: node scripts/n.mjs scripts/webhook-tls.ts --namespace NAMESPACE --service SERVICE [options]
  --dns NAME     another DNS name, for callers outside the cluster (repeatable)
  --ip ADDRESS   another IP address (repeatable)
  --days N       validity in days, 1 to ${daysMax} (default 365)
  --secret NAME  name of the Secret (default podseidon-webhook-tls)
  --out DIR      write ca.crt, tls.crt, tls.key, secret.yaml and ca-bundle.yaml into DIR instead of printing`;

/** Reads and checks the command line. Throws an ArgumentError. */
export function parseCommandLine(args: readonly string[]) {
  const text = { type: "string" } as const;
  const list = { type: "string", multiple: true } as const;
  const options = { namespace: text, service: text, dns: list, ip: list, days: text, secret: text, out: text };
  const { values } = readArguments(() => parseArgs({ args: [...args], options }));
  const { namespace, service, secret = "podseidon-webhook-tls", days = "365", out } = values;
  if (namespace === undefined) throw new ArgumentError("--namespace is required");
  if (service === undefined) throw new ArgumentError("--service is required");
  for (const [flag, name] of Object.entries({ namespace, service }))
    if (!isDnsLabel(name)) throw new ArgumentError(`--${flag}: "${name}" is not a Kubernetes name`);
  checkDnsName(secret);
  if (out === "") throw new ArgumentError("--out: must not be empty");
  return {
    namespace,
    secret,
    out,
    dnsNames: [...serviceDnsNames(namespace, service), ...(values.dns ?? [])],
    ipAddresses: values.ip ?? [],
    days: parseDays(days),
  };
}

async function main(args: readonly string[]): Promise<void> {
  const options = parseCommandLine(args);
  const issued = await issueServerCertificate({ ...options, now: new Date() });
  const secret = secretYaml(options.namespace, options.secret, issued);
  const patch = caBundlePatchYaml(issued);
  if (options.out === undefined) {
    const command = `kubectl patch validatingwebhookconfiguration podseidon --type=json -p '${JSON.stringify(
      caBundlePaths.map((at) => ({ op: "add", path: at, value: base64(issued.caCertificate) })),
    )}'`;
    process.stdout.write(
      `${secret}# The API server must trust the authority. Run in each worker cluster:\n# ${command}\n`,
    );
    return;
  }
  const files = {
    "ca.crt": issued.caCertificate,
    "tls.crt": issued.certificate,
    "tls.key": issued.privateKey,
    "secret.yaml": secret,
    "ca-bundle.yaml": patch,
  };
  writeFiles(options.out, files, ["tls.key", "secret.yaml"]);
  process.stdout.write(`Wrote ca.crt, tls.crt, tls.key, secret.yaml and ca-bundle.yaml into ${options.out}.\n`);
}

if (import.meta.main) await runProgram("webhook-tls", usage, main);
