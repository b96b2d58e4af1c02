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
  if (different.length > 0) return [...new Set(different)].map((text) => warn("ca-bundle", text, remedy));
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
