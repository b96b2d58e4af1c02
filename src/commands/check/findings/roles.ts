/** What else of Podseidon runs in a core, and of which releases everything is. */
import { type EpochMicros } from "../../../util/clock.ts";
import {
  type CertificateEvent,
  type CoreFacts,
  type DeploymentFacts,
  type Reading,
  type RightFacts,
  type WorkerFacts,
} from "../facts.ts";
import { agoText, fail, type Finding, namesText, note, ok, unchecked, warn } from "../finding.ts";

/** One that is drained, and no deletion can be reviewed. */
const replicasMin = 2;

export function webhookReplicaFindings(deployments: Reading<readonly DeploymentFacts[]>): readonly Finding[] {
  if (!deployments.ok) return [unchecked("webhook-replicas", "replicas of the webhook", deployments.why)];
  const webhooks = deployments.value.filter(({ component }) => component === "webhook");
  if (webhooks.length === 0)
    return [unchecked("webhook-replicas", "replicas of the webhook", "there is no Deployment of it here")];
  return webhooks.map(({ name, ready, wanted }) => {
    const text = `${name}: ${ready} of ${wanted} replicas are ready`;
    if (ready === 0) {
      const cure = "look at its pods and their logs; until one is ready, deletions are refused";
      return fail("webhook-replicas", text, { cure, page: "docs/break-glass.md#is-it-podseidon" });
    }
    if (Math.min(ready, wanted) >= replicasMin) return ok("webhook-replicas", text);
    const cure =
      wanted < replicasMin
        ? "run three: while the only one is away, deletions are refused"
        : "look at the pods that are not ready: while the only one that is goes away, deletions are refused";
    return warn("webhook-replicas", text, { cure, page: "docs/webhook.md#readiness" });
  });
}

/** What webhooks tell of certificates in files, of clients as well, which nobody else sees. */
export function certificateEventFindings(
  events: Reading<readonly CertificateEvent[]>,
  now: EpochMicros,
): readonly Finding[] {
  if (!events.ok) return [unchecked("certificate", "what webhooks say of their certificates", events.why)];
  return events.value.map(({ message, at }) =>
    warn("certificate", `${message} (said ${agoText(now, at)} ago)`, {
      cure: "renew it; a replica takes a new one within a minute or so",
      page: "docs/webhook.md#expiry",
    }),
  );
}

/** Roles of one core, of its cells, and the webhooks that the workers ask. `own`: of this program. */
export function releaseFindings(
  core: CoreFacts,
  workers: readonly Pick<WorkerFacts, "name" | "webhookReleases">[],
  own: string,
): readonly Finding[] {
  const { heartbeats, deployments } = core;
  const versions = new Map<string, string>();
  if (heartbeats.ok) {
    const { observer, cells } = heartbeats.value;
    if (observer?.productVersion !== undefined) versions.set("generator", observer.productVersion);
    for (const { cellID, lease } of cells)
      if (lease.productVersion !== undefined) versions.set(`aggregator of ${cellID}`, lease.productVersion);
  }
  for (const { name, webhookReleases } of workers) {
    if (webhookReleases.length > 0) versions.set(`webhook asked by ${name}`, webhookReleases.join(" and "));
  }
  const remedy = {
    cure: "bring all to one release, in this order: CRD, policies, webhooks, aggregators, generator",
    page: "docs/upgrading.md#order",
  };
  const findings: Finding[] = [];
  if (new Set(versions.values()).size > 1) {
    const text = [...versions].map(([role, version]) => `${role} ${version}`).join(", ");
    findings.push(warn("release", `roles are of different releases: ${text}`, remedy));
  }
  const images = imagesOf(deployments);
  if (new Set(images.values()).size > 1) {
    const text = [...images].map(([role, image]) => `${role} ${image}`).join(", ");
    findings.push(warn("release", `Deployments run different images: ${text}`, remedy));
  }
  if (findings.length > 0) return findings;
  const [version] = versions.values();
  if (version === undefined)
    return [unchecked("release", "releases of the roles", "no heartbeat of this release says one")];
  if (version === own) return [ok("release", `roles are of release ${version}`)];
  const text = `roles are of release ${version}, this program of ${own}: it checks by what its own release needs`;
  return [note("release", text, "docs/upgrading.md#what-shows-it")];
}

/** Of the roles that have an image here. */
function imagesOf(deployments: Reading<readonly DeploymentFacts[]>): ReadonlyMap<string, string> {
  if (!deployments.ok) return new Map();
  return new Map(deployments.value.map(({ component, image }) => [component, image]));
}

export function rightFindings(rights: Reading<readonly RightFacts[]>): readonly Finding[] {
  if (!rights.ok) return [unchecked("right", "rights of the accounts", rights.why)];
  const accounts = Map.groupBy(rights.value, ({ account }) => account);
  if (accounts.size === 0)
    return [unchecked("right", "rights of the accounts", "none of Podseidon's accounts is here")];
  const missing = [...accounts].flatMap(([account, ofAccount]) => {
    const denied = ofAccount.filter(({ isGranted }) => !isGranted).map(({ right }) => right);
    return denied.length === 0 ? [] : [ofMissing(account, denied)];
  });
  return missing.length > 0 ? missing : [ok("right", `rights of ${[...accounts.keys()].join(", ")}`)];
}

function ofMissing(account: string, denied: readonly string[]): Finding {
  return fail("right", `${account} may not ${namesText(denied)}`, {
    cure: "apply the manifests of the release that runs: kubectl apply -k your overlay",
    page: "docs/security.md#rights",
  });
}
