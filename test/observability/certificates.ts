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

export async function createPem(commonName: string): Promise<Pem> {
  const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
  const keys = await crypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    name: `CN=${commonName}`,
    serialNumber: "01",
    notBefore: new Date("2020-01-01"),
    notAfter: new Date("2100-01-01"),
    keys,
    signingAlgorithm: algorithm,
    extensions: [new x509.SubjectAlternativeNameExtension([{ type: "dns", value: "localhost" }])],
  });
  const key = await crypto.subtle.exportKey("pkcs8", keys.privateKey);
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
