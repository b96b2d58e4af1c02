/**
 * The certificate of an HTTPS listener: read from two files at start, and again whenever what they hold changes, or
 * taken from whoever issues it.
 * Comparing the content finds every way to replace a file: writing, renaming, and the symlink swap with which
 * Kubernetes updates a mounted Secret.
 */
import { readFileSync, statSync } from "node:fs";
import { createSecureContext } from "node:tls";
import { StartError } from "../lifecycle/component.ts";
import { type Clock, type Timer } from "../util/clock.ts";
import { type Logger } from "../util/logger.ts";
import { messageOf } from "../util/printable.ts";
import { readCertificates } from "../util/pem-certificates.ts";

export interface CertificateFiles {
  /** PEM, the chain with the leaf first. */
  readonly certFile: string;
  /** PEM, without a passphrase. */
  readonly keyFile: string;
  /** PEM, the CAs of client certificates. */
  readonly caFile?: string;
}

/** In place of the two files. */
export interface SuppliedCertificate {
  /** The last that was issued; undefined = none yet. */
  readonly supplied: () => Pick<Certificate, "cert" | "key"> | undefined;
  readonly caFile?: string;
}

export interface Certificate {
  readonly cert: string;
  readonly key: string;
  readonly ca?: string;
}

/** How often the files are read. The kubelet takes up to a minute to update a mounted Secret: faster would not help. */
export const certificatePollMs = 10_000;

/** A chain of ten certificates with 4096-bit keys has about 25 kB. */
const fileBytesMax = 1024 * 1024;

/** Reads and checks the files. Throws a StartError that names them. */
export function loadCertificate(files: CertificateFiles): Certificate;
/** Undefined = none is issued yet. */
export function loadCertificate(from: CertificateFiles | SuppliedCertificate): Certificate | undefined;
export function loadCertificate(from: CertificateFiles | SuppliedCertificate): Certificate | undefined {
  const ca = from.caFile === undefined ? undefined : readAuthorities(from.caFile);
  const pair = "supplied" in from ? from.supplied() : { cert: readPem(from.certFile), key: readPem(from.keyFile) };
  if (pair === undefined) return undefined;
  const certificate = { ...pair, ...(ca !== undefined && { ca }) };
  try {
    createSecureContext(certificate);
  } catch (error) {
    throw new StartError(`${nameOf(from)} is invalid: ${messageOf(error)}`, { cause: error });
  }
  return certificate;
}

function nameOf(from: CertificateFiles | SuppliedCertificate): string {
  return "supplied" in from
    ? "the certificate that was issued"
    : `certificate ${from.certFile} with key ${from.keyFile}`;
}

/**
 * Calls `onChange` with the content of the files whenever it is new and valid, until the returned function is called.
 * Invalid content (the files are replaced one after the other) is logged, and the old certificate stays in use. So is
 * one that has expired, in place of one that has not.
 */
export function watchCertificate(
  options: {
    readonly files: CertificateFiles | SuppliedCertificate;
    readonly clock: Clock;
    readonly logger: Logger;
    readonly onChange: (certificate: Certificate) => void;
  },
  current: Certificate | undefined,
): () => void {
  const { files, clock, logger } = options;
  let inUse = current;
  let lastProblem = "";
  const fields = "supplied" in files ? { source: "issued" } : { ...files };
  const hasExpired = ({ cert }: Certificate): boolean =>
    readCertificates(cert)
      .slice(0, 1)
      .some(({ validToDate }) => validToDate.getTime() * 1_000 <= clock.epochMicros());
  const poll = (): void => {
    timer = clock.setTimer(certificatePollMs, poll);
    try {
      const next = loadCertificate(files);
      if (next === undefined) return;
      if (inUse !== undefined && hasExpired(next) && !hasExpired(inUse))
        throw new StartError(`${expiredName(files)} has expired, that in use has not`);
      lastProblem = "";
      if (next.cert === inUse?.cert && next.key === inUse.key && next.ca === inUse.ca) return;
      inUse = next;
      options.onChange(next);
      logger.info("Certificate reloaded", fields);
    } catch (error) {
      const problem = messageOf(error);
      if (problem !== lastProblem) logger.warn("Invalid certificate, keeping the old one", { ...fields, problem });
      lastProblem = problem;
    }
  };
  let timer: Timer = clock.setTimer(certificatePollMs, poll);
  return () => timer.cancel();
}

const expiredName = (from: CertificateFiles | SuppliedCertificate): string =>
  "supplied" in from ? nameOf(from) : `certificate ${from.certFile}`;

/** TLS itself would read a file without a certificate as "trust no client". */
function readAuthorities(file: string): string {
  const pem = readPem(file);
  let count: number;
  try {
    count = readCertificates(pem).length;
  } catch (error) {
    throw new StartError(`${file} cannot be used: ${messageOf(error)}`, { cause: error });
  }
  if (count === 0) throw new StartError(`${file} contains no certificate`);
  return pem;
}

function readPem(file: string): string {
  try {
    if (statSync(file).size > fileBytesMax) throw new Error(`larger than ${fileBytesMax} bytes`);
    return readFileSync(file, "utf8");
  } catch (error) {
    throw new StartError(`cannot read the certificate or key file ${file}: ${messageOf(error)}`, { cause: error });
  }
}
