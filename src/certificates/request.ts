/** What may be asked of a certificate: names, addresses, validity. Everything else here relies on these checks. */
import { isIP } from "node:net";

/** A certificate that cannot be made as asked; the message is one line. */
export class CertificateRequestError extends Error {
  override readonly name = "CertificateRequestError";
}

/** Both ends are included, and cut to whole seconds: certificates have no finer times. */
export interface Validity {
  readonly notBefore: Date;
  readonly notAfter: Date;
}

/** Who a server is; at least one name or address. */
export interface ServerNames {
  /** DNS names of the server; they may start with `*.`. */
  readonly dnsNames: readonly string[];
  /** IPv4 and IPv6 addresses of the server. */
  readonly ipAddresses: readonly string[];
}

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
/** Ten years. Go's TLS, which the API server uses, sets no limit of its own for private authorities. */
const daysMax = 3650;
const dnsLabel = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;
const clientName = /^[A-Za-z0-9]([-._A-Za-z0-9]{0,61}[A-Za-z0-9])?$/;

/** Whether it is one label of a DNS name, such as the name of a Service. */
const isDnsLabel = (text: string): boolean => dnsLabel.test(text);

/** Throws a CertificateRequestError unless it is a DNS name in lower case, perhaps with `*.` in front. */
export function checkDnsName(name: string): void {
  const labels = (name.startsWith("*.") ? name.slice(2) : name).split(".");
  if (name.length > 253 || !labels.every(isDnsLabel))
    throw new CertificateRequestError(`"${name}" is not a DNS name (lower-case letters, digits, "-" and ".")`);
}

/** Throws a CertificateRequestError. */
export function checkServerNames({ dnsNames, ipAddresses }: ServerNames): void {
  if (dnsNames.length + ipAddresses.length === 0)
    throw new CertificateRequestError("a certificate needs at least one DNS name or IP address");
  for (const name of dnsNames) checkDnsName(name);
  for (const address of ipAddresses)
    if (isIP(address) === 0) throw new CertificateRequestError(`"${address}" is not an IP address`);
}

/** A common name of 1 to 63 letters, digits and `-` `_` `.`, as of a cell. Throws a CertificateRequestError. */
export function checkClientName(client: string): void {
  if (!clientName.test(client))
    throw new CertificateRequestError(
      `"${client}" is not the name of a client (1 to 63 letters, digits, "-", "_" and ".", beginning and ending with ` +
        "a letter or digit)",
    );
}

/** From an hour before `now`, for callers whose clock is behind, for so many days. Throws a CertificateRequestError. */
export function validityOfDays(days: number, now: Date): Validity {
  if (!Number.isInteger(days) || days < 1 || days > daysMax)
    throw new CertificateRequestError(`days must be a whole number from 1 to ${daysMax}`);
  return { notBefore: new Date(now.getTime() - hourMs), notAfter: new Date(now.getTime() + days * dayMs) };
}
