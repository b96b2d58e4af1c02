/**
 * Each right of the manifests with what becomes of a scenario when it is taken away: what does not hold any more, or
 * what the role says that it goes on without.
 */
import { type RightText } from "./accounts.ts";

export interface TakenRight {
  readonly right: RightText;
  /** File of test/sim/scenarios, without its end, or a name of `furtherScenarios`. */
  readonly scenario: string;
  /** In a finding, or in a warning or error of a role. */
  readonly seen: RegExp;
}

/** Sequences that break without a right, and with no rule of the product switched off. */
export const furtherScenarios: Readonly<Record<string, string>> = {
  "told-twice": `# A deletion is refused twice: the Event says so.
without: no-pod-fence
breaks: nothing
world pods=x,y min=2
delete x -> refused
advance 5s
delete x -> refused
expect told TooFewReplicas >=2 within 20s
`,
  "waits-for-a-generator": `# A Deployment is deleted while no generator leads: an Event says what it waits for.
without: nothing
breaks: nothing
world pods=x,y,z deployment generator silent-after=3m
kill generator-1
kill generator-2
deployment delete
advance 120s
expect told WaitsForGenerator 1
`,
};

const neverCounted = /the counts are not there when everything is well/;
const wholeObjects = /May not patch; writing whole objects instead/;
const protectors = "podprotectors.podseidon.kubewharf.io";
const status = "podprotectors/status.podseidon.kubewharf.io";
const leases = "leases.coordination.k8s.io";
const definitions = "customresourcedefinitions.apiextensions.k8s.io";

const guardUnseen = /May not see which namespaces the webhook configuration leaves out/;

function of(account: string, rows: readonly (readonly [string, string, RegExp])[]): readonly TakenRight[] {
  return rows.map(([right, scenario, seen]) => ({ right: `${account}: ${right}`, scenario, seen }));
}

/** The simulation has no certificates: test/unit/roles/reviews/certificate-events.test.ts shows what it is for. */
export const shownElsewhere: readonly RightText[] = ["podseidon-webhook: get deployments.apps"];

export const takenRights: readonly TakenRight[] = [
  ...of("podseidon-generator", [
    ["get deployments.apps", "45f-release-taken-back", /Cannot reconcile a Deployment, retrying GET .* 403 /],
    ["list deployments.apps", "47f-unlisted-release", /exists is yes, not no/],
    ["watch deployments.apps", "45f-release-taken-back", /Cannot watch a kind of sources/],
    ["patch deployments.apps", "45f-release-taken-back", wholeObjects],
    [`get ${protectors}`, "45f-release-taken-back", neverCounted],
    [`list ${protectors}`, "47p-ends-without-our-finalizer", /floor is 2, not 1/],
    [`watch ${protectors}`, "45f-release-taken-back", neverCounted],
    [`create ${protectors}`, "45f-release-taken-back", neverCounted],
    [`patch ${protectors}`, "45f-release-taken-back", wholeObjects],
    [`delete ${protectors}`, "47o-source-vanishes-unheld", /"web" already exists/],
    [`update ${status}`, "35-ghost-removed", /cells is 3, not 2/],
    [`get ${definitions}`, "49f-lost-owner-kind", /Cannot read CustomResourceDefinitions/],
    ["get namespaces", "47o-source-vanishes-unheld", /mass changes are judged without them/],
    ["list namespaces", "47f-unlisted-release", /retrying GET \/api\/v1\/namespaces: 403/],
    ["watch namespaces", "73-shadow", /retrying GET \/api\/v1\/namespaces: 403/],
    ["create events", "47i-name-is-taken", /told Unprotectable is 0/],
    ["patch events", "47i-name-is-taken", wholeObjects],
    [`create ${leases}`, "45f-release-taken-back", neverCounted],
    [`get ${leases}`, "45f-release-taken-back", neverCounted],
    [`update ${leases}`, "45f-release-taken-back", /Lost leadership/],
    [`list ${leases}`, "45f-release-taken-back", /Not allowed to list the heartbeats of cells/],
    [`patch ${leases}`, "43-marked-by-the-generator", wholeObjects],
    [`delete ${leases}`, "43c-asked-without-a-lease", /lease a is yes, not no/],
    ["create configmaps", "47o-source-vanishes-unheld", /Cannot keep the list of releases, releasing without it/],
    ["get configmaps", "45f-release-taken-back", /Not allowed to use the ConfigMap of the generator/],
    ["patch configmaps", "49s-two-steps", wholeObjects],
  ]),
  ...of("podseidon-aggregator-worker-1", [
    [`get ${protectors}`, "28-unseen-repeat", /delete v -> refused/],
    [`list ${protectors}`, "61-lost-in-the-queue", /Cannot list PodProtectors for a barrier/],
    [`watch ${protectors}`, "61-lost-in-the-queue", neverCounted],
    [`update ${status}`, "61-lost-in-the-queue", neverCounted],
    [`create ${leases}`, "09-lagging-first-counts", /nobody will notice when this cell falls silent/],
    [`get ${leases}`, "26b-stale-list-is-no-barrier", /nobody will notice when this cell falls silent/],
    [`patch ${leases}`, "15b-new-leader", wholeObjects],
    ["create events", "52-lost-pods", /told PodsVanished is 0/],
    ["patch events", "44c-cell-of-another-cluster", wholeObjects],
  ]),
  ...of("podseidon-webhook", [
    [`get ${protectors}`, "30-evicted-pod-recovers", /answer y -> refused/],
    [`list ${protectors}`, "45-erased-unseen", /delete x -> refused/],
    [`watch ${protectors}`, "61-lost-in-the-queue", neverCounted],
    [`update ${status}`, "29-repeated-at-once", /pod deletions cannot be recorded/],
    ["list namespaces", "45-erased-unseen", /retrying GET \/api\/v1\/namespaces: 403/],
    ["watch namespaces", "61-lost-in-the-queue", /retrying GET \/api\/v1\/namespaces: 403/],
    [`get ${definitions}`, "61-lost-in-the-queue", /Not allowed to read the CRD of PodProtectors/],
    ["create events", "45i-expired", /told PodProtectorLost is 0/],
    ["patch events", "told-twice", /told TooFewReplicas is 1, not >=2/],
    [`list ${leases}`, "61-lost-in-the-queue", /Not allowed to list the heartbeats of cells/],
    [`patch ${leases}`, "42p-everybody-else-is-dead", /Nobody is heard, and the Lease/],
    ["get configmaps", "61-lost-in-the-queue", /Not allowed to read which PodProtectors are released/],
    ["list deployments.apps", "waits-for-a-generator", /nobody is told which ones wait for the generator/],
    ["get pods", "21-eviction-on-a-delete-bucket", /evict x hold -> refused/],
  ]),
  ...of("podseidon-aggregator", [
    ["list pods", "L4-quiet-cluster", /Cannot list pods for a barrier/],
    ["watch pods", "61-lost-in-the-queue", neverCounted],
    ["patch pods/status", "08-stalled-etcd", /buckets is 1, not 0/],
    ["get namespaces", "61-lost-in-the-queue", /another cluster with this cell would go unnoticed/],
    ["list namespaces", "L5-forged-version", guardUnseen],
    ["get validatingwebhookconfigurations.admissionregistration.k8s.io", "L5-forged-version", guardUnseen],
    [`create ${leases}`, "61-lost-in-the-queue", neverCounted],
    [`get ${leases}`, "61-lost-in-the-queue", neverCounted],
    [`update ${leases}`, "L4-quiet-cluster", /Failed to renew leader lease/],
    ["create pods", "L5-forged-version", /May not touch the update-trigger pod/],
    ["patch pods", "L5-forged-version", /May not touch the update-trigger pod/],
    ["delete pods", "L5-forged-version", /May not ask whether pod deletions are reviewed/],
  ]),
];
