/** Gathers the facts about a worker, all that can be at the same time. Nothing is changed: deletions are dry runs. */
import { askGate } from "../../../aggregator/audits/gate-question.ts";
import { fieldsOf } from "../../../api/json.ts";
import { type Labels, readLabels } from "../../../api/pod.ts";
import { type KubeClient, KubeError, resourcePath } from "../../../kube/kube-client.ts";
import { leases, namespaces, validatingWebhookConfigurations } from "../../../kube/resources.ts";
import { listAll } from "../../../kube/watch/index.ts";
import { deployments } from "../../fleet/replicas.ts";
import { type DeploymentFacts, type Reading, type ReadServed, type RightFacts, type WorkerFacts } from "../facts.ts";
import {
  aggregatorRights,
  type AggregatorSetting,
  listAccounts,
  type NeededRight,
  reviewRights,
  reviews,
  webhookWorkerRights,
} from "./account-rights.ts";
import { type Reader, readGreeting, readInTime } from "./deadline.ts";
import { listNodes, nodeLeases, readDeployments } from "./leases.ts";
import { readPolicies } from "./policies.ts";
import { readServed } from "./served-certificate.ts";
import { readTokens } from "./tokens.ts";
import { listEntries } from "./webhook-entries.ts";

/** An API server may wait for the webhook as long as that may take, and the check is to be over in five seconds. */
const gateMs = 3_000;
/** A person has more dummy pods than this only by mistake. */
const dummyPodsMax = 20;

export interface WorkerQuestion {
  readonly name: string;
  readonly isNamed: boolean;
  readonly client: KubeClient;
  readonly systemNamespace: string;
  /** Instead of what the aggregators' flags say. */
  readonly dummyPod: AggregatorSetting["dummyPod"] | undefined;
}

export async function readWorker(question: WorkerQuestion, reader: Reader): Promise<WorkerFacts> {
  const { name, isNamed, client, systemNamespace } = question;
  const { cluster } = client;
  const system = { namespace: systemNamespace };
  const [greeting, nodes, clusterUID, entries, labelled, deployed] = await Promise.all([
    readGreeting(client, reader),
    readInTime({ cluster, verb: "list", resource: leases, namespace: nodeLeases }, reader, (signal) =>
      listNodes(client, signal),
    ),
    readClusterUID(client, reader),
    readInTime({ cluster, verb: "list", resource: validatingWebhookConfigurations }, reader, (signal) =>
      listEntries(client, signal),
    ),
    readInTime({ cluster, verb: "list", resource: namespaces }, reader, (signal) => listNamespaces(client, signal)),
    readInTime({ cluster, verb: "list", resource: deployments, ...system }, reader, async (signal) =>
      (await readDeployments(client, systemNamespace, signal)).filter(({ component }) => component === "aggregator"),
    ),
  ]);
  const settings = settingsOf(question, deployed.ok ? deployed.value : []);
  const [asked, served, rights, tokens, policies] = await Promise.all([
    askGates(client, settings, reader),
    readServedAll(entries, reader),
    readRights(client, systemNamespace, settings, reader),
    readTokens(client, systemNamespace, reader),
    readPolicies(client, reader),
  ]);
  return {
    name,
    isNamed,
    ...greeting,
    nodes,
    clusterUID,
    entries,
    namespaces: labelled,
    deployments: deployed,
    ...asked,
    served,
    rights,
    tokens,
    policies,
  };
}

/** Tells clusters apart. */
function readClusterUID(client: KubeClient, reader: Reader): Promise<Reading<string>> {
  const name = "kube-system";
  return readInTime({ cluster: client.cluster, verb: "get", resource: namespaces, name }, reader, async (signal) => {
    const path = resourcePath(namespaces, { name });
    const { uid } = fieldsOf(fieldsOf(await client.request({ method: "GET", path, signal }))["metadata"]);
    if (typeof uid === "string") return uid;
    throw new KubeError("malformed", `GET ${path}: the answer has no UID`);
  });
}

async function listNamespaces(client: KubeClient, signal: AbortSignal): Promise<ReadonlyMap<string, Labels>> {
  const found = new Map<string, Labels>();
  await listAll(
    client,
    { resource: namespaces },
    (raw) => {
      const { name } = fieldsOf(fieldsOf(raw)["metadata"]);
      found.set(String(name), readLabels(raw));
    },
    { signal },
  );
  return found;
}

/** By account: as the aggregators' flags say, or as the manifests have them. */
function settingsOf(
  { dummyPod }: WorkerQuestion,
  deployed: readonly DeploymentFacts[],
): ReadonlyMap<string, readonly AggregatorSetting[]> {
  const account = "podseidon-aggregator";
  const usual = { namespace: "podseidon-update-trigger", name: "podseidon-update-trigger" };
  if (deployed.length === 0)
    return new Map([[account, [{ election: account, dummyPod: dummyPod ?? usual, target: undefined }]]]);
  const settings = deployed.map(({ account: own, flags }) => ({
    account: own,
    election: flags.get("aggregator-leader-elector-name") ?? account,
    dummyPod: dummyPod ?? {
      namespace: flags.get("update-trigger-dummy-pod-namespace") ?? usual.namespace,
      name: flags.get("update-trigger-dummy-pod-name") ?? usual.name,
    },
    target: flags.get("worker-kube-target-namespace"),
  }));
  return Map.groupBy(settings, (setting) => setting.account);
}

async function askGates(
  client: KubeClient,
  settings: ReadonlyMap<string, readonly AggregatorSetting[]>,
  reader: Reader,
): Promise<Pick<WorkerFacts, "gates" | "webhookReleases">> {
  const all = [...settings.values()]
    .flat()
    .map(({ dummyPod }) => [`${dummyPod.namespace}/${dummyPod.name}`, dummyPod] as const);
  const distinct = [...new Map(all)].slice(0, dummyPodsMax);
  const releases = new Set<string>();
  const limits = {
    signal: reader.signal,
    timeoutMs: gateMs,
    onRelease: (release: string): void => void releases.add(release),
  };
  // Which cell it should be is judged later, with all that is known of the worker.
  const answers = distinct.map(async ([key, pod]) => [key, await askGate(client, pod, "", limits)] as const);
  return { gates: new Map(await Promise.all(answers)), webhookReleases: [...releases].sort() };
}

/** Addresses that only the API server's own cluster knows are not tried. */
async function readServedAll(entries: WorkerFacts["entries"], reader: Reader): Promise<WorkerFacts["served"]> {
  if (!entries.ok) return new Map();
  const main = entries.value.filter(({ isMain }) => isMain);
  const answers = [...new Map(main.map((entry) => [entry.url, entry])).values()].map(async (entry) => {
    const served: ReadServed = entry.isService
      ? { ok: false, why: "a Service cannot be reached from here", isPrivate: true }
      : entry.url.startsWith("http:")
        ? { ok: false, why: "it is called by plain HTTP, and shows none" }
        : await readServed(entry.url, entry.caBundle, reader);
    return [entry.url, served] as const;
  });
  return new Map(await Promise.all(answers));
}

function readRights(
  client: KubeClient,
  namespace: string,
  settings: ReadonlyMap<string, readonly AggregatorSetting[]>,
  reader: Reader,
): Promise<Reading<readonly RightFacts[]>> {
  return readInTime({ cluster: client.cluster, verb: "create", resource: reviews }, reader, async (signal) => {
    const accounts = await listAccounts(client, namespace, signal);
    const all: (readonly [string, readonly NeededRight[]])[] = [
      ...Array.from(settings, ([account, own]) => {
        return [account, own.flatMap((setting) => aggregatorRights(namespace, setting))] as const;
      }),
      ["podseidon-webhook", webhookWorkerRights],
    ];
    return reviewRights(client, namespace, new Map(all.filter(([account]) => accounts.has(account))), signal);
  });
}
