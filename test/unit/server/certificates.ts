/** Self-signed certificates for loopback listeners, and a folder to put them into. */
import "reflect-metadata";
import * as x509 from "@peculiar/x509";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { type TestContext } from "node:test";

export interface Pem {
  readonly cert: string;
  readonly key: string;
}

const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
const validity = { notBefore: new Date("2020-01-01"), notAfter: new Date("2100-01-01"), signingAlgorithm: algorithm };

/** Signed by itself, for localhost. */
export async function createPem(commonName: string, notAfter = validity.notAfter): Promise<Pem> {
  const keys = await crypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    ...validity,
    notAfter,
    name: `CN=${commonName}`,
    serialNumber: "01",
    keys,
    extensions: [new x509.SubjectAlternativeNameExtension([{ type: "dns", value: "localhost" }])],
  });
  return pemOf(certificate, keys.privateKey);
}

export interface Authority {
  readonly cert: string;
  /** A certificate for a client, with these alternative names. */
  issue(commonName: string, alternatives?: x509.JsonGeneralNames): Promise<Pem>;
}

export async function createAuthority(commonName: string): Promise<Authority> {
  const keys = await crypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
  const name = `CN=${commonName}`;
  const extensions = [new x509.BasicConstraintsExtension(true, undefined, true)];
  const own = await x509.X509CertificateGenerator.createSelfSigned({
    ...validity,
    name,
    serialNumber: "01",
    keys,
    extensions,
  });
  return {
    cert: own.toString("pem"),
    async issue(subject, alternatives = []) {
      const clientKeys = await crypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
      const certificate = await x509.X509CertificateGenerator.create({
        ...validity,
        serialNumber: "02",
        issuer: name,
        subject: `CN=${subject}`,
        publicKey: clientKeys.publicKey,
        signingKey: keys.privateKey,
        extensions: alternatives.length === 0 ? [] : [new x509.SubjectAlternativeNameExtension(alternatives)],
      });
      return pemOf(certificate, clientKeys.privateKey);
    },
  };
}

async function pemOf(certificate: x509.X509Certificate, privateKey: CryptoKey): Promise<Pem> {
  const key = await crypto.subtle.exportKey("pkcs8", privateKey);
  return { cert: certificate.toString("pem"), key: x509.PemConverter.encode(key, "PRIVATE KEY") };
}

/** A folder that goes when the test ends. */
export function temporaryFolder(context: TestContext): string {
  const folder = mkdtempSync(path.join(os.tmpdir(), "podseidon-test-"));
  context.after(() => rmSync(folder, { recursive: true }));
  return folder;
}

export function writePem(folder: string, pem: Pem): { readonly certFile: string; readonly keyFile: string } {
  const files = { certFile: path.join(folder, "tls.crt"), keyFile: path.join(folder, "tls.key") };
  writeFileSync(files.certFile, pem.cert);
  writeFileSync(files.keyFile, pem.key);
  return files;
}
