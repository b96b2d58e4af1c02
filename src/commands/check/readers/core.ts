/** Gathers the facts about a core, all at the same time. */
import { fieldsOf } from "../../../api/json.ts";
import { parseTime } from "../../../api/micro-time.ts";
import { labels as names } from "../../../api/v1alpha1/names.ts";
import { readData, trustedConfigMap } from "../../../certificates/objects.ts";
import { configMaps, generatorStateName, readGeneratorState } from "../../../kube/generator-state.ts";
import { isKubeError, type KubeClient, resourcePath } from "../../../kube/kube-client.ts";
import { definitionName } from "../../../kube/pod-protectors.ts";
import { customResourceDefinitions, leases, namespaces, podProtectors } from "../../../kube/resources.ts";
import { listAll } from "../../../kube/watch/index.ts";
import { findWaiting } from "../../fleet/held-changes.ts";
import { listProtectors } from "../../fleet/protectors.ts";
import { events, listProtectorEvents } from "../../fleet/refusals.ts";
import { deployments } from "../../fleet/replicas.ts";
import { type CertificateEvent, type CoreFacts, type Reading, type RightFacts } from "../facts.ts";
import { isAway } from "../findings/generator.ts";
import { cellRights, coreRights, listAccounts, type NeededRight, reviewRights, reviews } from "./account-rights.ts";
import { type Reader, readGreeting, readInTime } from "./deadline.ts";
import { listHeartbeats, readDeployments, readLease } from "./leases.ts";
import { readPolicies } from "./policies.ts";
import { readTokens } from "./tokens.ts";

/** A large core has 20 MB of them. */
const protectorsMs = 4_000;
/** As in the manifests. */
const election = "podseidon-generator";

export async function readCore(
  name: string,
  client: KubeClient,
  systemNamespace: string,
  reader: Reader,
): Promise<CoreFacts> {
  const cluster = client.cluster;
  const system = { namespace: systemNamespace };
  const state = { verb: "get", resource: configMaps, ...system, name: generatorStateName } as const;
  const greeting = readGreeting(client, reader);
  const heartbeats = readInTime({ cluster, verb: "list", resource: leases, ...system }, reader, (signal) =>
    listHeartbeats(client, systemNamespace, signal),
  );
  const generator = readInTime(
    { cluster, verb: "get", resource: leases, ...system, name: election },
    reader,
    (signal) => readLease(client, systemNamespace, election, signal),
  );
  const protectors = readInTime(
    { cluster, verb: "list", resource: podProtectors },
    reader,
    (signal) => listProtectors(client, undefined, signal),
    protectorsMs,
  );
  const deployed = readInTime({ cluster, verb: "list", resource: deployments, ...system }, reader, (signal) =>
    readDeployments(client, systemNamespace, signal),
  );
  return {
    name,
    ...(await settled({
      answers: greeting.then(({ answers }) => answers),
      clock: greeting.then(({ clock }) => clock),
      definition: readDefinition(client, reader),
      protectors,
      heartbeats,
      generator,
      waiting: readWaiting(client, reader, { generator, protectors }),
      generatorState: readInTime({ cluster, ...state }, reader, (signal) =>
        readGeneratorState(client, systemNamespace, { signal }),
      ),
      deployments: deployed,
      protectorEvents: readInTime({ cluster, verb: "list", resource: events }, reader, (signal) =>
        listProtectorEvents(client, undefined, signal),
      ),
      certificateEvents: readInTime({ cluster, verb: "list", resource: events, ...system }, reader, (signal) =>
        listCertificateEvents(client, systemNamespace, signal),
      ),
      published: readInTime(
        { cluster, verb: "get", resource: configMaps, ...system, name: trustedConfigMap.name },
        reader,
        (signal) => readPublished(client, systemNamespace, signal),
      ),
      modes: readInTime({ cluster, verb: "list", resource: namespaces }, reader, (signal) => listModes(client, signal)),
      rights: readRights(client, systemNamespace, reader, { heartbeats, deployed }),
      tokens: readTokens(client, systemNamespace, reader),
      policies: readPolicies(client, reader),
    })),
  };
}

/** Not asked for while a generator leads. What cannot be read is left out: that none leads is a failure anyway. */
async function readWaiting(
  client: KubeClient,
  reader: Reader,
  found: { readonly [K in "generator" | "protectors"]: Promise<CoreFacts[K]> },
): Promise<CoreFacts["waiting"]> {
  const [generator, protectors] = await Promise.all([found.generator, found.protectors]);
  if (!generator.ok || !protectors.ok) return [];
  const { clock } = reader;
  if (generator.value !== undefined && !isAway(generator.value, clock.epochMicros())) return [];
  const metadata = protectors.value.valid.map(({ protector }) => protector.metadata);
  return findWaiting(client, metadata, undefined, async (access, read) => {
    const answer = await readInTime({ cluster: client.cluster, ...access }, reader, read);
    return answer.ok ? answer.value : undefined;
  });
}

/** The values of an object of promises. */
async function settled<T extends object>(promises: { readonly [K in keyof T]: Promise<T[K]> }): Promise<T> {
  const entries = Object.entries(promises) as [keyof T, Promise<T[keyof T]>][];
  const values = await Promise.all(entries.map(async ([key, value]) => [key, await value] as const));
  return Object.fromEntries(values) as T;
}

function readDefinition(client: KubeClient, reader: Reader): Promise<Reading<unknown>> {
  const access = { verb: "get", resource: customResourceDefinitions, name: definitionName } as const;
  return readInTime({ cluster: client.cluster, ...access }, reader, async (signal) => {
    const path = resourcePath(customResourceDefinitions, { name: definitionName });
    try {
      return await client.request({ method: "GET", path, signal });
    } catch (error) {
      // A 404 without a Status is the page of a proxy that has no server.
      if (isKubeError(error, "notFound") && error.status !== undefined) return undefined;
      throw error;
    }
  });
}

async function readPublished(client: KubeClient, namespace: string, signal: AbortSignal): Promise<string | undefined> {
  try {
    const { data } = await readData({ client, namespace }, trustedConfigMap, signal);
    // It is made empty, and filled by the generator.
    return data["ca.crt"] === "" ? undefined : data["ca.crt"];
  } catch (error) {
    if (isKubeError(error, "notFound")) return undefined;
    throw error;
  }
}

/** Webhooks say it once a day. An Event is gone an hour later, so hardly one is left of a certificate renewed since. */
const certificateReasons: ReadonlySet<unknown> = new Set(["CertificateExpired", "CertificateExpiresSoon"]);

async function listCertificateEvents(
  client: KubeClient,
  namespace: string,
  signal: AbortSignal,
): Promise<readonly CertificateEvent[]> {
  const found = new Map<string, CertificateEvent>();
  const fieldSelector = "involvedObject.kind=Deployment";
  await listAll(
    client,
    { resource: events, namespace, fieldSelector },
    (raw) => {
      const { reason, message, lastTimestamp } = fieldsOf(raw);
      if (!certificateReasons.has(reason) || typeof message !== "string") return;
      // Each replica says it.
      found.set(message, { message, at: parseTime(lastTimestamp) });
    },
    { signal },
  );
  return [...found.values()];
}

async function listModes(client: KubeClient, signal: AbortSignal): Promise<ReadonlyMap<string, readonly string[]>> {
  const modes = new Map<string, string[]>();
  await listAll(
    client,
    { resource: namespaces, labelSelector: names.mode },
    (raw) => {
      const { name, labels } = fieldsOf(fieldsOf(raw)["metadata"]);
      const mode = fieldsOf(labels)[names.mode];
      if (typeof mode === "string" && mode !== "enforced") modes.set(mode, [...(modes.get(mode) ?? []), String(name)]);
    },
    { signal },
  );
  return modes;
}

/** Those of the generator, the webhook, and the aggregators of all cells that are heard. */
async function readRights(
  client: KubeClient,
  namespace: string,
  reader: Reader,
  found: Record<"heartbeats", Promise<CoreFacts["heartbeats"]>> & Record<"deployed", Promise<CoreFacts["deployments"]>>,
): Promise<Reading<readonly RightFacts[]>> {
  const [heartbeats, deployed] = await Promise.all([found.heartbeats, found.deployed]);
  return readInTime({ cluster: client.cluster, verb: "create", resource: reviews }, reader, async (signal) => {
    const accounts = await listAccounts(client, namespace, signal);
    const needed = new Map<string, readonly NeededRight[]>(
      [...coreRights(namespace)].filter(([account]) => accounts.has(account)),
    );
    for (const { cellID } of heartbeats.ok ? heartbeats.value.cells : []) {
      const own = `podseidon-aggregator-${cellID}`;
      const account = accounts.has(own) ? own : "podseidon-aggregator";
      const here = deployed.ok
        ? deployed.value.find((one) => one.flags.get("aggregator-cell-id") === cellID)
        : undefined;
      const target = here?.flags.get("worker-kube-target-namespace");
      if (accounts.has(account))
        needed.set(account, [...(needed.get(account) ?? []), ...cellRights(namespace, cellID, target)]);
    }
    return reviewRights(client, namespace, needed, signal);
  });
}
