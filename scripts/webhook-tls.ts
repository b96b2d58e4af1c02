/**
 * Makes the webhook's certificates: a certificate authority that signs one server certificate. The authority's key is
 * never written, so a stolen server key can impersonate this webhook and nothing else.
 *
 *     node scripts/n.mjs scripts/webhook-tls.ts --namespace podseidon-system --service podseidon-webhook
 *
 * prints a Secret, ready for `kubectl apply -f -`, and, in comments, the command that sets the caBundle. With --out DIR
 * it writes ca.crt, tls.crt, tls.key, secret.yaml and ca-bundle.yaml (a patch) instead.
 */
import "reflect-metadata"; // @peculiar/x509 needs it before its own import
import * as x509 from "@peculiar/x509";
import { webcrypto } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { isIP } from "node:net";
import path from "node:path";
import { parseArgs } from "node:util";

/** All three in PEM form. */
export interface ServerCertificate {
  readonly caCertificate: string;
  readonly certificate: string;
  /** PKCS #8, not encrypted. */
  readonly privateKey: string;
}

export interface ServerCertificateRequest {
  /** DNS names of the server; they may start with `*.`. */
  readonly dnsNames: readonly string[];
  /** IPv4 and IPv6 addresses of the server. */
  readonly ipAddresses: readonly string[];
  /** Days until it expires, at least 1. */
  readonly days: number;
  /** Start of validity. The certificate says an hour earlier, for callers whose clock is behind. */
  readonly now: Date;
}

/** An invalid argument; the message is one line. */
export class ArgumentError extends Error {
  override readonly name = "ArgumentError";
}

const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" } as const;
const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const dnsLabel = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;
/** Ten years. Go's TLS, which the API server uses, sets no limit of its own for private authorities. */
const daysMax = 3650;

function checkDnsName(name: string): void {
  const labels = (name.startsWith("*.") ? name.slice(2) : name).split(".");
  if (name.length > 253 || !labels.every((label) => dnsLabel.test(label)))
    throw new ArgumentError(`"${name}" is not a DNS name (lower-case letters, digits, "-" and ".")`);
}

function checkRequest(request: ServerCertificateRequest): void {
  if (request.dnsNames.length + request.ipAddresses.length === 0)
    throw new ArgumentError("a certificate needs at least one DNS name or IP address");
  for (const name of request.dnsNames) checkDnsName(name);
  for (const address of request.ipAddresses)
    if (isIP(address) === 0) throw new ArgumentError(`"${address}" is not an IP address`);
  if (!Number.isInteger(request.days) || request.days < 1 || request.days > daysMax)
    throw new ArgumentError(`days must be a whole number from 1 to ${daysMax}`);
}

function pem(label: string, der: ArrayBuffer): string {
  const lines =
    Buffer.from(der)
      .toString("base64")
      .match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${label}-----\n${lines.join("\n")}\n-----END ${label}-----\n`;
}

/** Makes a new authority (P-256) and a server certificate signed by it. Throws an ArgumentError for a bad request. */
export async function issueServerCertificate(request: ServerCertificateRequest): Promise<ServerCertificate> {
  checkRequest(request);
  x509.cryptoProvider.set(webcrypto);
  const validity = {
    notBefore: new Date(request.now.getTime() - hourMs),
    notAfter: new Date(request.now.getTime() + request.days * dayMs),
  };
  const caKeys = await webcrypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
  const ca = await x509.X509CertificateGenerator.createSelfSigned({
    name: "CN=podseidon-webhook-ca",
    keys: caKeys,
    signingAlgorithm: algorithm,
    ...validity,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
      await x509.SubjectKeyIdentifierExtension.create(caKeys.publicKey),
    ],
  });
  const serverKeys = await webcrypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
  const names = [
    ...request.dnsNames.map((value) => ({ type: "dns" as const, value })),
    ...request.ipAddresses.map((value) => ({ type: "ip" as const, value })),
  ];
  const server = await x509.X509CertificateGenerator.create({
    subject: "CN=podseidon-webhook",
    issuer: ca.subject,
    publicKey: serverKeys.publicKey,
    signingKey: caKeys.privateKey,
    signingAlgorithm: algorithm,
    ...validity,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
      new x509.SubjectAlternativeNameExtension(names),
      await x509.AuthorityKeyIdentifierExtension.create(caKeys.publicKey),
      await x509.SubjectKeyIdentifierExtension.create(serverKeys.publicKey),
    ],
  });
  return {
    caCertificate: pem("CERTIFICATE", ca.rawData),
    certificate: pem("CERTIFICATE", server.rawData),
    privateKey: pem("PRIVATE KEY", await webcrypto.subtle.exportKey("pkcs8", serverKeys.privateKey)),
  };
}

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
export function secretYaml(namespace: string, name: string, issued: ServerCertificate): string {
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

/** Where the authority belongs: both entries of manifests/base/admission call the same webhook. */
const caBundlePaths = [0, 1].map((entry) => `/webhooks/${entry}/clientConfig/caBundle`);

/** A JSON patch that makes the API server trust the certificate, for `kubectl patch --type=json` and kustomize. */
export function caBundlePatchYaml(issued: ServerCertificate): string {
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
  let values;
  try {
    values = parseArgs({
      args: [...args],
      options: { namespace: text, service: text, dns: list, ip: list, days: text, secret: text, out: text },
    }).values;
  } catch (error) {
    throw new ArgumentError(error instanceof Error ? (error.message.split("\n")[0] ?? "") : String(error));
  }
  const { namespace, service, secret = "podseidon-webhook-tls", days = "365", out } = values;
  if (namespace === undefined) throw new ArgumentError("--namespace is required");
  if (service === undefined) throw new ArgumentError("--service is required");
  for (const [flag, name] of Object.entries({ namespace, service }))
    if (!dnsLabel.test(name)) throw new ArgumentError(`--${flag}: "${name}" is not a Kubernetes name`);
  checkDnsName(secret);
  if (out === "") throw new ArgumentError("--out: must not be empty");
  if (!/^\d{1,5}$/.test(days)) throw new ArgumentError(`--days: "${days}" is not a whole number from 1 to ${daysMax}`);
  return {
    namespace,
    secret,
    out,
    dnsNames: [...serviceDnsNames(namespace, service), ...(values.dns ?? [])],
    ipAddresses: values.ip ?? [],
    days: Number(days),
  };
}

function writeFiles(folder: string, files: Readonly<Record<string, string>>): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  for (const [name, content] of Object.entries(files)) {
    const isSecret = name === "tls.key" || name === "secret.yaml";
    writeFileSync(path.join(folder, name), content, { mode: isSecret ? 0o600 : 0o644 });
  }
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
  writeFiles(options.out, {
    "ca.crt": issued.caCertificate,
    "tls.crt": issued.certificate,
    "tls.key": issued.privateKey,
    "secret.yaml": secret,
    "ca-bundle.yaml": patch,
  });
  process.stdout.write(`Wrote ca.crt, tls.crt, tls.key, secret.yaml and ca-bundle.yaml into ${options.out}.\n`);
}

if (import.meta.main) {
  try {
    await main(process.argv.slice(2));
  } catch (error) {
    if (error instanceof ArgumentError) {
      process.stderr.write(`webhook-tls: ${error.message}\n${usage}\n`);
      process.exitCode = 2;
    } else if (error instanceof Error && "code" in error) {
      process.stderr.write(`webhook-tls: ${error.message}\n`);
      process.exitCode = 1;
    } else throw error;
  }
}
