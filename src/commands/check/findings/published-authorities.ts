/**
 * Whether a worker's caBundle is what the cores publish, where they issue the certificate of the webhook. Nothing is
 * wrong with a difference today; deletions are refused on the day when a missing authority signs.
 */
import { trustedConfigMap } from "../../../certificates/objects.ts";
import { readCertificates } from "../../../util/pem-certificates.ts";
import { type CoreFacts, type EntryFacts, type WorkerFacts } from "../facts.ts";
import { counted, type Finding, ok, type Remedy, unchecked, warn } from "../finding.ts";

const remedy: Remedy = {
  cure:
    "look at the Events of the cell's Lease, set --aggregator-ca-bundle-of on its aggregator, or copy ca.crt of the " +
    `ConfigMap ${trustedConfigMap.name} into caBundle of all entries`,
  page: "docs/webhook.md#built-in",
};

export function publishedFindings(
  { entries, deployments }: Pick<WorkerFacts, "entries" | "deployments">,
  cores: readonly Pick<CoreFacts, "name" | "published">[],
): readonly Finding[] {
  if (!entries.ok) return [];
  const isKept = deployments.ok && deployments.value.some(({ flags }) => (flags.get(keptBy) ?? "") !== "");
  const unread = cores.flatMap(({ published }) => (published.ok ? [] : [published.why]));
  // Who may not read it may have no built-in issuing at all, and would be told of it for ever.
  if (unread.length > 0)
    return isKept ? [unchecked("ca-bundle", "whether caBundle is as the core publishes it", unread.join("; "))] : [];
  const published = cores.flatMap(({ published: text }) => (text.ok ? fingerprintsOf(text.value ?? "") : []));
  if (published.length === 0) return [];
  const different = entries.value.flatMap((entry) => differenceOf(entry, published, isKept));
  if (different.length > 0) return [...new Set(different)].map((text) => warn("ca-bundle", text, remedy));
  return [ok("ca-bundle", "caBundle is as the core publishes it")];
}

const keptBy = "aggregator-ca-bundle-of";

/** One that trusts more is told only where an aggregator should have taken it out: others may have their reasons. */
function differenceOf(
  { configuration, name, caBundle }: EntryFacts,
  published: readonly string[],
  isKept: boolean,
): readonly string[] {
  const trusted = fingerprintsOf(caBundle);
  const missing = published.filter((one) => !trusted.includes(one)).length;
  const extra = isKept ? trusted.filter((one) => !published.includes(one)).length : 0;
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
