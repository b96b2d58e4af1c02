/**
 * Certificates for the scripts that make them: an authority of its own for each, whose key is never written. So a
 * stolen key can impersonate its owner and nobody else. All keys are ECDSA P-256: API servers open connections all the
 * time (docs/kubernetes.md#reviews), and with RSA each costs the webhook several times as much.
 */
import "reflect-metadata"; // @peculiar/x509 needs it before its own import
import * as x509 from "@peculiar/x509";
import { webcrypto } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { isIP } from "node:net";
import path from "node:path";
import { ArgumentError } from "./command-line.ts";

/** A certificate and the authority that signed it, all in PEM form. */
export interface IssuedCertificate {
  readonly caCertificate: string;
  readonly certificate: string;
  /** PKCS #8, not encrypted. */
  readonly privateKey: string;
}

interface Validity {
  /** Days until it expires, at least 1. */
  readonly days: number;
  /** Start of validity. The certificate says an hour earlier, for callers whose clock is behind. */
  readonly now: Date;
}

export interface ServerCertificateRequest extends Validity {
  /** DNS names of the server; they may start with `*.`. */
  readonly dnsNames: readonly string[];
  /** IPv4 and IPv6 addresses of the server. */
  readonly ipAddresses: readonly string[];
}

export interface ClientCertificateRequest extends Validity {
  /** The common name: 1 to 63 letters, digits and `-` `_` `.`, as of a cell. */
  readonly client: string;
}

const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" } as const;
const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
export const dnsLabel = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;
const clientName = /^[A-Za-z0-9]([-._A-Za-z0-9]{0,61}[A-Za-z0-9])?$/;
/** Ten years. Go's TLS, which the API server uses, sets no limit of its own for private authorities. */
export const daysMax = 3650;

/** Throws an ArgumentError. */
export function checkDnsName(name: string): void {
  const labels = (name.startsWith("*.") ? name.slice(2) : name).split(".");
  if (name.length > 253 || !labels.every((label) => dnsLabel.test(label)))
    throw new ArgumentError(`"${name}" is not a DNS name (lower-case letters, digits, "-" and ".")`);
}

/** The value of --days. Throws an ArgumentError. */
export function parseDays(text: string): number {
  if (!/^\d{1,5}$/.test(text)) throw new ArgumentError(`--days: "${text}" is not a whole number from 1 to ${daysMax}`);
  return Number(text);
}

function checkDays(days: number): void {
  if (!Number.isInteger(days) || days < 1 || days > daysMax)
    throw new ArgumentError(`days must be a whole number from 1 to ${daysMax}`);
}

/** Makes a new authority and a server certificate signed by it. Throws an ArgumentError for a bad request. */
export function issueServerCertificate(request: ServerCertificateRequest): Promise<IssuedCertificate> {
  if (request.dnsNames.length + request.ipAddresses.length === 0)
    throw new ArgumentError("a certificate needs at least one DNS name or IP address");
  for (const name of request.dnsNames) checkDnsName(name);
  for (const address of request.ipAddresses)
    if (isIP(address) === 0) throw new ArgumentError(`"${address}" is not an IP address`);
  const names = [
    ...request.dnsNames.map((value) => ({ type: "dns" as const, value })),
    ...request.ipAddresses.map((value) => ({ type: "ip" as const, value })),
  ];
  return issue(request, {
    authority: "podseidon-webhook-ca",
    subject: "podseidon-webhook",
    usage: x509.ExtendedKeyUsage.serverAuth,
    extensions: [new x509.SubjectAlternativeNameExtension(names)],
  });
}

/** Makes a new authority and a client certificate signed by it. Throws an ArgumentError for a bad request. */
export function issueClientCertificate(request: ClientCertificateRequest): Promise<IssuedCertificate> {
  const { client } = request;
  if (!clientName.test(client))
    throw new ArgumentError(
      `"${client}" is not the name of a client (1 to 63 letters, digits, "-", "_" and ".", beginning and ending with ` +
        "a letter or digit)",
    );
  return issue(request, {
    authority: "podseidon-webhook-client-ca",
    subject: client,
    usage: x509.ExtendedKeyUsage.clientAuth,
    extensions: [],
  });
}

interface Leaf {
  /** Common name of the authority. */
  readonly authority: string;
  /** Common name. */
  readonly subject: string;
  readonly usage: x509.ExtendedKeyUsage;
  readonly extensions: readonly x509.Extension[];
}

async function issue({ days, now }: Validity, leaf: Leaf): Promise<IssuedCertificate> {
  checkDays(days);
  x509.cryptoProvider.set(webcrypto);
  const validity = {
    notBefore: new Date(now.getTime() - hourMs),
    notAfter: new Date(now.getTime() + days * dayMs),
  };
  const caKeys = await webcrypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
  const ca = await x509.X509CertificateGenerator.createSelfSigned({
    name: `CN=${leaf.authority}`,
    keys: caKeys,
    signingAlgorithm: algorithm,
    ...validity,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
      await x509.SubjectKeyIdentifierExtension.create(caKeys.publicKey),
    ],
  });
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
  const certificate = await x509.X509CertificateGenerator.create({
    subject: `CN=${leaf.subject}`,
    issuer: ca.subject,
    publicKey: keys.publicKey,
    signingKey: caKeys.privateKey,
    signingAlgorithm: algorithm,
    ...validity,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([leaf.usage]),
      ...leaf.extensions,
      // Authorities of several clients have one name: by this OpenSSL finds the right one.
      await x509.AuthorityKeyIdentifierExtension.create(caKeys.publicKey),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return {
    caCertificate: pem("CERTIFICATE", ca.rawData),
    certificate: pem("CERTIFICATE", certificate.rawData),
    privateKey: pem("PRIVATE KEY", await webcrypto.subtle.exportKey("pkcs8", keys.privateKey)),
  };
}

function pem(label: string, der: ArrayBuffer): string {
  const lines =
    Buffer.from(der)
      .toString("base64")
      .match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${label}-----\n${lines.join("\n")}\n-----END ${label}-----\n`;
}

/** Writes files by name into a folder, those of `secret` for the user alone. */
export function writeFiles(folder: string, files: Readonly<Record<string, string>>, secret: readonly string[]): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  for (const [name, content] of Object.entries(files)) {
    writeFileSync(path.join(folder, name), content, { mode: secret.includes(name) ? 0o600 : 0o644 });
  }
}
