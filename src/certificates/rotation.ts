/**
 * When an authority is made, when it signs, and when it is forgotten (docs/webhook.md#rotation). Pure: what is stored,
 * the names and the time decide.
 *
 * The invariant: while anybody might still trust only an old authority, what is served is signed by that one. So
 * certificates are signed by the oldest authority that outlives them, and the next one has long been published by then.
 */
import { createPrivateKey, X509Certificate } from "node:crypto";
import { readCertificates } from "../util/pem-certificates.ts";
import { type KeyPair } from "./authority.ts";
import { type ServerNames, type Validity } from "./request.ts";

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

/** Certificates are valid from so long before they are made, for callers whose clock is behind. */
const backdatedMs = hourMs;

export interface Lifetimes {
  /** Of what is served. It is renewed when a third of it is left. */
  readonly leafMs: number;
  /** Of an authority. The next one is published when half of it is left. */
  readonly authorityMs: number;
}

/** A worker cluster may be away for nine months, from the publication of an authority until it signs. */
export const lifetimesDefault: Lifetimes = { leafMs: 90 * dayMs, authorityMs: 720 * dayMs };

/** What is stored cannot be understood: a person has to look, since replacing it could cut clusters off. */
export class StoredCertificateError extends Error {
  override readonly name = "StoredCertificateError";
}

/** One that can sign. */
export interface Authority {
  readonly pair: KeyPair;
  readonly certificate: X509Certificate;
}

/** Checks stored pairs, the first to end first. Throws a StoredCertificateError. */
export function readAuthorities(pairs: readonly KeyPair[]): readonly Authority[] {
  return pairs
    .map((pair) => {
      try {
        const certificate = new X509Certificate(pair.certificate);
        if (!certificate.ca || !certificate.checkPrivateKey(createPrivateKey(pair.privateKey)))
          throw new Error("it is no authority, or has another key");
        return { pair, certificate };
      } catch (error) {
        throw new StoredCertificateError("a stored authority is broken", { cause: error });
      }
    })
    .toSorted((one, other) => endMs(one.certificate) - endMs(other.certificate));
}

const endMs = ({ validToDate }: X509Certificate): number => validToDate.getTime();
const startMs = ({ validFromDate }: X509Certificate): number => validFromDate.getTime();

/** When it is by two clocks; `server` is undefined where it does not tell. */
export interface Times {
  readonly serverMs: number | undefined;
  readonly ownMs: number;
}

/**
 * Why the time cannot be believed; undefined = it can. What rests on a wrong time cannot be taken back: an authority
 * that is forgotten is trusted by nobody any more, and what begins in years is refused by everybody whose clock is
 * right. By less than it is backdated clocks may differ.
 */
export function clockProblem({ serverMs, ownMs }: Times, authorities: readonly Authority[]): string | undefined {
  if (serverMs !== undefined && Math.abs(serverMs - ownMs) >= backdatedMs)
    return (
      `the clock of the API server (${timeText(serverMs)}) and that of this process (${timeText(ownMs)}) differ, and ` +
      "one of them is wrong: nothing is issued or forgotten until they agree within an hour"
    );
  const nowMs = serverMs ?? ownMs;
  const early = authorities.find(({ certificate }) => startMs(certificate) > nowMs);
  if (early === undefined) return undefined;
  return (
    `it is ${timeText(nowMs)}, and a stored authority is valid only from ${timeText(startMs(early.certificate))} on: ` +
    "either the clocks are wrong now, or they were wrong when it was made (docs/runbooks/certificate-not-kept.md)"
  );
}

function timeText(ms: number): string {
  return new Date(ms).toISOString();
}

/** Those that are not over, a little longer than they are valid: clocks differ. */
export function stillTrusted(authorities: readonly Authority[], nowMs: number): readonly Authority[] {
  return authorities.filter(({ certificate }) => endMs(certificate) + backdatedMs > nowMs);
}

/** Whether the next authority is to be made and published. */
export function needsAuthority(trusted: readonly Authority[], nowMs: number, { authorityMs }: Lifetimes): boolean {
  const newest = trusted.at(-1);
  return newest === undefined || endMs(newest.certificate) - nowMs < authorityMs / 2;
}

/** From now, or a little earlier. */
export function validityFrom(nowMs: number, lifeMs: number): Validity {
  return { notBefore: new Date(nowMs - backdatedMs), notAfter: new Date(nowMs + lifeMs) };
}

/** What webhooks serve, as it is stored. */
export interface Stored extends KeyPair {
  /** PEM, the authorities that were trusted when it was written. */
  readonly authorities: string;
}

export interface Served {
  readonly certificate: X509Certificate;
  /** That has signed it: ours, or that of a Secret made by hand, whose key nobody has. */
  readonly signer: X509Certificate;
}

/** Undefined = it cannot be served: nothing is there, it is broken, over, or nobody trusts it. */
export function readServed(stored: Stored, trusted: readonly Authority[], nowMs: number): Served | undefined {
  try {
    const certificate = new X509Certificate(stored.certificate);
    const known = [...trusted.map(({ certificate: own }) => own), ...authoritiesOf(stored)];
    const signer = known.find(
      (own) => endMs(own) > nowMs && certificate.checkIssued(own) && certificate.verify(own.publicKey),
    );
    const isUsable = endMs(certificate) > nowMs && certificate.checkPrivateKey(createPrivateKey(stored.privateKey));
    return isUsable && signer !== undefined ? { certificate, signer } : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Authorities beside our own that stay trusted: of certificates made by hand, and after the loss of our own. Only such
 * accidents add to them.
 */
const othersMax = 8;

/**
 * What API servers are to trust, as PEM: all our authorities, and those of what is served or was before, until they
 * end. A replica that has not read the newest certificate yet serves an older one.
 */
export function bundleOf(
  trusted: readonly Authority[],
  { served, stored, nowMs }: { readonly served: Served | undefined; readonly stored: Stored; readonly nowMs: number },
): string {
  const ours = trusted.map(({ certificate }) => certificate);
  const known = [...(served === undefined ? [] : [served.signer]), ...authoritiesOf(stored)];
  const others = known.filter((one, index) => {
    const isFirst = known.findIndex(({ raw }) => raw.equals(one.raw)) === index;
    return isFirst && endMs(one) > nowMs && !ours.some(({ raw }) => raw.equals(one.raw));
  });
  return [...others.slice(0, othersMax), ...ours].map((certificate) => certificate.toString()).join("");
}

/** None when the text is broken. */
function authoritiesOf({ authorities }: Stored): readonly X509Certificate[] {
  try {
    return readCertificates(authorities).filter(({ ca }) => ca);
  } catch {
    return [];
  }
}

export type LeafPlan =
  | { readonly kind: "keep" }
  /** Due, but not everybody may have the new authority yet. `problem`: it ends before everybody surely has. */
  | { readonly kind: "wait"; readonly problem: string | undefined }
  | { readonly kind: "sign"; readonly signer: Authority };

/** `trusted`: at least one. */
export function planLeaf(
  served: Served | undefined,
  trusted: readonly Authority[],
  { names, nowMs, leafMs }: { readonly names: ServerNames; readonly nowMs: number; readonly leafMs: number },
): LeafPlan {
  const signer =
    trusted.find(({ certificate }) => endMs(certificate) - nowMs >= leafMs && startMs(certificate) <= nowMs) ??
    trusted.at(-1);
  if (signer === undefined) throw new StoredCertificateError("no authority is left to sign");
  if (served === undefined) return { kind: "sign", signer };
  const end = new Date(Math.min(endMs(served.certificate), endMs(served.signer)));
  const leftMs = end.getTime() - nowMs;
  const isEnding = leftMs < leafMs / 3;
  if (!isEnding && isFor(served.certificate, names)) return { kind: "keep" };
  const isTrustedAlready = served.signer.raw.equals(signer.certificate.raw);
  const publishedForMs = nowMs - startMs(signer.certificate) - backdatedMs;
  // A third of a life is the shortest that everybody has for a new authority, except when all would end.
  if (isTrustedAlready || publishedForMs >= leafMs / 3 || leftMs < leafMs / 10) return { kind: "sign", signer };
  const problem = isEnding
    ? `the certificate ends at ${end.toISOString()}, and the authority of the next one is not published for long ` +
      "enough yet"
    : undefined;
  return { kind: "wait", problem };
}

/** Whether a certificate is for these names and addresses, and for no others. */
function isFor(certificate: X509Certificate, { dnsNames, ipAddresses }: ServerNames): boolean {
  const entries = certificate.subjectAltName?.split(", ") ?? [];
  return (
    entries.length === new Set([...dnsNames, ...ipAddresses]).size &&
    dnsNames.every((name) => entries.includes(`DNS:${name}`)) &&
    ipAddresses.every((address) => certificate.checkIP(address) !== undefined)
  );
}
