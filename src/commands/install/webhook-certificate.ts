/**
 * The certificate by which API servers know the webhook, in the Secret that its Deployment mounts. The authority that
 * signs it stays in a Secret of its own, which no pod mounts: so a new certificate needs no change in the workers.
 */
import { X509Certificate } from "node:crypto";
import { isIP } from "node:net";
import { fieldsOf, type Json } from "../../api/json.ts";
import { createAuthority, type KeyPair, signServerCertificate, validityOfDays } from "../../certificates/index.ts";
import { type Reading } from "../clusters/reading.ts";
import { apply, readObject, type Site } from "./apply.ts";
import { base64, secretWith } from "./hand-over.ts";
import { secretNames, systemNamespace, webhookName } from "./objects.ts";
import { type Step } from "./step.ts";

const authorityName = "podseidon-webhook-authority";
const authorityDays = 3_650;
const certificateDays = 365;
/** A run with less left makes a new one. */
const renewedBeforeDays = 60;
const dayMs = 86_400_000;

/** What the Secret with the certificate holds. */
export interface ServedCertificate {
  /** PEM; undefined = the Secret has none. */
  readonly authority: string | undefined;
  readonly certificate: X509Certificate | undefined;
}

/** Undefined = there is no such Secret. Rejects only for programmer errors. */
export async function readServedCertificate(site: Site): Promise<Reading<ServedCertificate | undefined>> {
  const read = await readSecret(site, secretNames.tls);
  if (!read.ok || read.value === undefined) return read.ok ? { ok: true, value: undefined } : read;
  return {
    ok: true,
    value: { authority: read.value.get("ca.crt"), certificate: certificateIn(read.value.get("tls.crt") ?? "") },
  };
}

/** `host`: by which API servers of other clusters call the webhook; undefined = by its Service alone. */
export function certificateStep(site: Site, host: string | undefined): Step {
  const names = namesOf(host);
  return {
    title: "Make the certificate of the webhook",
    async plan() {
      const need = await needOf(site, names);
      if (!need.ok) return { changes: [], unseen: [need.problem] };
      return { changes: need.value === undefined ? [] : [changeText(need.value)], unseen: [] };
    },
    async run(tell) {
      const need = await needOf(site, names);
      if (!need.ok) return need.problem;
      if (need.value === undefined) return undefined;
      if (need.value.isOfOthers) return `${site.client.cluster}: ${need.value.why}`;
      return renew(site, names, tell);
    },
  };
}

function changeText({ why, isOfOthers }: Need): string {
  return isOfOthers ? `not possible: ${why}` : `Secret ${systemNamespace}/${secretNames.tls}: ${why}`;
}

interface Names {
  readonly dnsNames: readonly string[];
  readonly ipAddresses: readonly string[];
}

function namesOf(host: string | undefined): Names {
  const service = `${webhookName}.${systemNamespace}`;
  const own = [`${service}.svc`, `${service}.svc.cluster.local`, service, webhookName];
  if (host === undefined) return { dnsNames: own, ipAddresses: [] };
  return isIP(host) === 0 ? { dnsNames: [...own, host], ipAddresses: [] } : { dnsNames: own, ipAddresses: [host] };
}

interface Need {
  readonly why: string;
  /** Not made by an installation: nothing here can sign another one. */
  readonly isOfOthers: boolean;
}

/** Undefined = the certificate is good. */
async function needOf(site: Site, { dnsNames, ipAddresses }: Names): Promise<Reading<Need | undefined>> {
  const [served, authority] = [await readServedCertificate(site), await readSecret(site, authorityName)];
  if (!served.ok) return served;
  if (!authority.ok) return authority;
  const isOfOthers = served.value !== undefined && authority.value === undefined;
  const need = (why: string): Reading<Need> => ({ ok: true, value: { why, isOfOthers } });
  if (served.value === undefined) return need("a certificate, and an authority for it");
  const { certificate } = served.value;
  if (served.value.authority === undefined || certificate === undefined)
    return need(`Secret ${secretNames.tls} has no ca.crt or no certificate`);
  const unnamed = [
    ...dnsNames.filter((name) => certificate.checkHost(name) === undefined),
    ...ipAddresses.filter((address) => certificate.checkIP(address) === undefined),
  ];
  if (unnamed.length > 0) return need(`a certificate that names ${unnamed.join(", ")}`);
  const leftMs = certificate.validToDate.getTime() - site.clock.epochMicros() / 1_000;
  if (leftMs >= renewedBeforeDays * dayMs || (isOfOthers && leftMs > 0)) return { ok: true, value: undefined };
  return need(`a new certificate, since the present one ends ${certificate.validToDate.toISOString()}`);
}

async function renew(site: Site, names: Names, tell: (line: string) => void): Promise<string | undefined> {
  const now = new Date(site.clock.epochMicros() / 1_000);
  const authority = await ownAuthority(site, now);
  if (!authority.ok) return authority.problem;
  const validity = validityOfDays(certificateDays, now);
  const signed = await signServerCertificate(authority.value, names, validity);
  const { certificate, privateKey } = signed;
  const done = await apply(site, tlsSecret(secretNames.tls, { certificate, privateKey }, authority.value.certificate));
  if (!done.ok) return done.problem;
  tell(`the certificate of the webhook ends ${validity.notAfter.toISOString()}; to renew it, run this again before`);
  return undefined;
}

/** The one that is there, or a new one. */
async function ownAuthority(site: Site, now: Date): Promise<Reading<KeyPair>> {
  const present = await readSecret(site, authorityName);
  if (!present.ok) return present;
  const [certificate, privateKey] = [present.value?.get("tls.crt"), present.value?.get("tls.key")];
  if (certificate !== undefined && privateKey !== undefined) return { ok: true, value: { certificate, privateKey } };
  const made = await createAuthority("podseidon-webhook-ca", validityOfDays(authorityDays, now));
  const done = await apply(site, tlsSecret(authorityName, made, undefined));
  return done.ok ? { ok: true, value: made } : done;
}

function tlsSecret(name: string, { certificate, privateKey }: KeyPair, authority: string | undefined): Json {
  const data = {
    "tls.crt": base64(certificate),
    "tls.key": base64(privateKey),
    ...(authority !== undefined && { "ca.crt": base64(authority) }),
  };
  return { ...secretWith(name, data), type: "kubernetes.io/tls" };
}

/** The values of a Secret of ours; undefined = there is none. Rejects only for programmer errors. */
export async function readSecret(site: Site, name: string): Promise<Reading<ReadonlyMap<string, string> | undefined>> {
  const read = await readObject(site, secretWith(name, {}));
  if (!read.ok || read.value === undefined) return read.ok ? { ok: true, value: undefined } : read;
  const data = Object.entries(fieldsOf(read.value["data"]));
  return { ok: true, value: new Map(data.map(([key, value]) => [key, textIn(value)])) };
}

function textIn(value: unknown): string {
  return Buffer.from(String(value), "base64").toString("utf8");
}

/** Undefined = it is none. */
export function certificateIn(text: string): X509Certificate | undefined {
  try {
    return new X509Certificate(text);
  } catch {
    return undefined;
  }
}
