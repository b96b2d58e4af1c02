/** Certificates of a worker's webhook: those that its API server trusts, and the one that the webhook serves. */
import { readCertificates, subjectOf } from "../../../util/pem-certificates.ts";
import { messageOf } from "../../../util/printable.ts";
import { type EpochMicros } from "../../../util/clock.ts";
import { ageText } from "../../text/age.ts";
import { type EntryFacts, type ReadServed, type WorkerFacts } from "../facts.ts";
import { fail, type Finding, ok, unchecked, warn } from "../finding.ts";

const daySeconds = 24 * 3_600;
/** Enough to renew one by hand; as webhooks warn (observability/certificate-expiry.ts), also in the next line. */
const soonSeconds = 30 * daySeconds;
/** Certificates that are renewed by themselves may be shorter than that. */
const soonShare = 1 / 3;

const expiryPage = "docs/webhook.md#expiry";
const bundlePage = "docs/webhook.md#tls-files";

interface Validity {
  readonly validFrom: EpochMicros;
  readonly validTo: EpochMicros;
}

export function certificateFindings(
  { entries, served }: Pick<WorkerFacts, "entries" | "served">,
  now: EpochMicros,
): readonly Finding[] {
  // That the configuration cannot be read is said with it.
  if (!entries.ok) return [];
  const bundles = [...Map.groupBy(entries.value, ({ caBundle }) => caBundle).values()];
  return [
    ...bundles.flatMap(([entry]) => (entry === undefined ? [] : ofBundle(entry, now))),
    ...[...served].flatMap(([url, reading]) => ofServed(url, reading, now)),
  ];
}

function ofBundle({ configuration, caBundle, isService }: EntryFacts, now: EpochMicros): readonly Finding[] {
  const cure = "put the authority of the webhook's certificate into caBundle of all entries";
  if (caBundle === "") {
    // A URL may have a certificate of an authority that the host of the API server trusts.
    if (!isService) return [];
    return [
      fail("ca-bundle", `${configuration} has no caBundle: the API server cannot trust the webhook`, {
        cure,
        page: bundlePage,
      }),
    ];
  }
  try {
    const authorities = readCertificates(caBundle);
    if (authorities.length === 0) throw new Error("there is no certificate in it");
    const findings = authorities.flatMap((authority) =>
      ofValidity(`authority ${subjectOf(authority)} in caBundle of ${configuration}`, validityOf(authority), now),
    );
    // One that is left is enough: others are there while they are replaced.
    const isOneGood = authorities.some((authority) => ofValidity("", validityOf(authority), now).length === 0);
    return isOneGood ? [] : findings;
  } catch (error) {
    return [
      fail("ca-bundle", `caBundle of ${configuration} cannot be read: ${messageOf(error)}`, { cure, page: bundlePage }),
    ];
  }
}

function validityOf({
  validFromDate,
  validToDate,
}: {
  readonly validFromDate: Date;
  readonly validToDate: Date;
}): Validity {
  return {
    validFrom: (validFromDate.getTime() * 1_000) as EpochMicros,
    validTo: (validToDate.getTime() * 1_000) as EpochMicros,
  };
}

function ofServed(url: string, reading: ReadServed, now: EpochMicros): readonly Finding[] {
  if (!reading.ok) {
    const { why, isPrivate = false } = reading;
    const certificate = unchecked("certificate", `the certificate of the webhook at ${url}`, why);
    // Strangers who reach it are in its cluster.
    return isPrivate
      ? [certificate]
      : [certificate, unchecked("client-certificate", "whether it answers without a client certificate", why)];
  }
  const { distrust, status } = reading.value;
  const ended = ofValidity(`certificate of the webhook at ${url}`, reading.value, now);
  const isExpired = ended.some(({ level }) => level === "fail");
  return [
    ...ended,
    // An expired one is not trusted either, and that is said.
    ...(distrust === undefined || isExpired
      ? []
      : [
          fail("ca-bundle", `the certificate of the webhook at ${url} does not match caBundle: ${distrust}`, {
            cure: "put the authority of the webhook's certificate into caBundle of all entries",
            page: bundlePage,
          }),
        ]),
    ...(ended.length === 0 && distrust === undefined ? [goodFor(reading.value, now)] : []),
    ofStranger(url, status),
  ];
}

function goodFor({ validTo }: Validity, now: EpochMicros): Finding {
  return ok("certificate", `caBundle matches, certificate good for ${ageText((validTo - now) / 1_000)}`);
}

function ofStranger(url: string, status: number | undefined): Finding {
  if (status === undefined)
    return ok("client-certificate", "the webhook closes connections without a client certificate");
  if (status === 401) return ok("client-certificate", "the webhook wants a client certificate");
  return warn("client-certificate", `the webhook at ${url} answers whoever reaches it, without a client certificate`, {
    cure: "set --webhook-client-ca-file and --webhook-client-cells, or let only API servers reach it",
    page: "docs/webhook.md#callers",
  });
}

function ofValidity(what: string, { validFrom, validTo }: Validity, now: EpochMicros): readonly Finding[] {
  const cure = "renew it, and put the new authority beside the old one into caBundle first";
  const leftSeconds = (validTo - now) / 1_000_000;
  if (leftSeconds <= 0) {
    const text = `${what} expired ${ageText(-leftSeconds * 1_000)} ago: every deletion is refused`;
    // Nothing is lost by an order any more, and nobody is to wait for it.
    const cureNow = "renew it now: webhooks read it within ten seconds; a new authority belongs into caBundle, too";
    return [fail("certificate", text, { cure: cureNow, page: "docs/runbooks/certificate-ends.md#do" })];
  }
  const wholeSeconds = (validTo - validFrom) / 1_000_000;
  if (leftSeconds > Math.min(soonSeconds, wholeSeconds * soonShare)) return [];
  return [warn("certificate", `${what} expires in ${ageText(leftSeconds * 1_000)}`, { cure, page: expiryPage })];
}
