/**
 * What ends by itself: the webhook's certificate, the tokens that clusters have of each other's accounts, and whether a
 * worker's caBundle is what the cores publish, where they issue. Nothing is wrong with a difference today; deletions
 * are refused on the day when a missing authority signs.
 */
import { trustedConfigMap } from "../../../certificates/objects.ts";
import { type EpochMicros } from "../../../util/clock.ts";
import { messageOf } from "../../../util/printable.ts";
import { readCertificates, subjectOf } from "../../../util/pem-certificates.ts";
import { ageText } from "../../text/format.ts";
import {
  type CoreFacts,
  type EntryFacts,
  type Reading,
  type ReadServed,
  type TokenFacts,
  type WorkerFacts,
} from "../facts.ts";
import { counted, fail, type Finding, ok, type Remedy, unchecked, warn } from "../finding.ts";

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

/** Time to renew one by hand, over a weekend and a holiday. */
const tokenSoonSeconds = 7 * 24 * 3_600;
/** Of shorter ones, such as those of a week: whoever renews them every day never gets there. */
const tokenSoonShare = 1 / 2;
const webhook = "podseidon-webhook";

const tokenRemedy = {
  cure: "run podseidon install worker again for this cell, and do so every day from a scheduled job",
  page: "docs/install.md#tokens-between-clusters",
};

export function tokenFindings(tokens: Reading<readonly TokenFacts[]>, now: EpochMicros): readonly Finding[] {
  if (!tokens.ok) return [unchecked("token", "when tokens for other clusters end", tokens.why)];
  return tokens.value.map((token) => ofToken(token, now));
}

function ofToken({ account, validity }: TokenFacts, now: EpochMicros): Finding {
  const what = `the token that another cluster has of ${account}`;
  if (validity === undefined) return unchecked("token", what, "its annotation handed-token cannot be read");
  const leftSeconds = (validity.to - now) / 1_000_000;
  if (leftSeconds <= 0) {
    const text = `${what} ended ${ageText(-leftSeconds * 1_000)} ago: ${lossOf(account)}`;
    return fail("token", text, tokenRemedy);
  }
  const left = ageText(leftSeconds * 1_000);
  const wholeSeconds = (validity.to - validity.from) / 1_000_000;
  if (leftSeconds > Math.min(tokenSoonSeconds, wholeSeconds * tokenSoonShare))
    return ok("token", `${what} is good for ${left}`);
  return warn("token", `${what} ends in ${left}; then ${lossOf(account)}`, tokenRemedy);
}

/** What the other cluster cannot do without it. */
function lossOf(account: string): string {
  return account === webhook
    ? "the webhook refuses evictions of pods here"
    : "the pods of its cell are no longer counted, and the cell falls silent";
}

const authorityRemedy: Remedy = {
  cure:
    "look at the Events of the cell's Lease, set --aggregator-ca-bundle-of on its aggregator, or copy ca.crt of the " +
    `ConfigMap ${trustedConfigMap.name} into caBundle of all entries`,
  page: "docs/webhook.md#built-in",
};

type Worker = Pick<WorkerFacts, "clusterUID" | "deployments" | "entries">;
type Core = Pick<CoreFacts, "heartbeats" | "name" | "published">;

/** `all`: the cores that were given; they may be some of those of the worker, and others. */
export function publishedFindings(worker: Worker, all: readonly Core[]): readonly Finding[] {
  const { entries, deployments } = worker;
  if (!entries.ok) return [];
  const cores = ownCores(worker, all);
  const isKept = deployments.ok && deployments.value.some(({ flags }) => (flags.get(keptBy) ?? "") !== "");
  const unread = cores.flatMap(({ published }) => (published.ok ? [] : [published.why]));
  // Who may not read it may have no built-in issuing at all, and would be told of it for ever.
  if (unread.length > 0)
    return isKept ? [unchecked("ca-bundle", "whether caBundle is as the core publishes it", unread.join("; "))] : [];
  const published = publishedBy(cores);
  if (published.length === 0) return [];
  const unseen = isKept ? coreCount(worker) - cores.length : 0;
  const known = isKept && unseen <= 0 ? publishedBy(all) : undefined;
  const different = entries.value.flatMap((entry) => differenceOf(entry, published, known));
  if (different.length > 0) return [...new Set(different)].map((text) => warn("ca-bundle", text, authorityRemedy));
  if (unseen <= 0) return [ok("ca-bundle", "caBundle is as the core publishes it")];
  const what = "whether caBundle trusts only what its cores publish";
  return [unchecked("ca-bundle", what, `give ${counted(unseen, "further core")} of its aggregator by --core`)];
}

/** Those that the cluster reports to; while it reports to none, all that were given. */
function ownCores({ clusterUID }: Worker, all: readonly Core[]): readonly Core[] {
  const own = all.filter(
    ({ heartbeats }) =>
      clusterUID.ok &&
      heartbeats.ok &&
      heartbeats.value.cells.some(({ lease }) => lease.clusterUID === clusterUID.value),
  );
  return own.length > 0 ? own : all;
}

/** Whose authorities the aggregator puts together. */
function coreCount({ deployments }: Worker): number {
  const maps = deployments.ok ? deployments.value.map(({ flags }) => flags.get(coresFlag) ?? "") : [];
  return Math.max(1, ...maps.map((map) => map.split(",").length));
}

function publishedBy(cores: readonly Core[]): readonly string[] {
  return cores.flatMap(({ published }) => (published.ok ? fingerprintsOf(published.value ?? "") : []));
}

const keptBy = "aggregator-ca-bundle-of";
const coresFlag = "podprotector-source-provider.map-configs";

/**
 * One that trusts more than is `known` is told only where an aggregator should have taken it out: others may have their
 * reasons, and a core that was not given may publish it.
 */
function differenceOf(
  { configuration, name, caBundle }: EntryFacts,
  published: readonly string[],
  known: readonly string[] | undefined,
): readonly string[] {
  const trusted = fingerprintsOf(caBundle);
  const missing = published.filter((one) => !trusted.includes(one)).length;
  const extra = known === undefined ? 0 : trusted.filter((one) => !known.includes(one)).length;
  const of = `caBundle of ${name} in ${configuration}`;
  return [
    ...(missing === 0 ? [] : [`${of} lacks ${authorities(missing)} that the core publishes, and is to sign by`]),
    ...(extra === 0 ? [] : [`${of} trusts ${authorities(extra)} that no core publishes that was looked at`]),
  ];
}

const authorities = (count: number): string => counted(count, "authority", "authorities");

/** None of what is broken, which is told as such. */
function fingerprintsOf(pem: string): readonly string[] {
  try {
    return readCertificates(pem).map(({ fingerprint256 }) => fingerprint256);
  } catch {
    return [];
  }
}
