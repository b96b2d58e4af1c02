/**
 * A child process of the benchmark: what the generator is compared with. It lists and watches the same objects by the
 * product's informer, keeping little of each, and makes a PodProtector for each by one POST, without a look at what is
 * there: the least that anything could do. Arguments: URL of the server, qps, burst, resources.
 */
import { fieldsOf } from "../../../src/api/json.ts";
import { objectKey } from "../../../src/api/object-key.ts";
import { parseResourceVersion } from "../../../src/api/resource-version.ts";
import { type Stored } from "../../../src/kube/informer.ts";
import { type Resource, resourcePath } from "../../../src/kube/kube-client.ts";
import { podProtectors } from "../../../src/kube/resources.ts";
import { createKubeClient } from "../../../src/kube/transport/index.ts";
import { createInformer } from "../../../src/kube/watch/index.ts";
import { silentLogger } from "../../../src/util/logger.ts";
import { silentMetrics } from "../../../src/util/metrics.ts";
import { createSystemRng } from "../../../src/util/rng.ts";
import { createSystemClock } from "../../../src/util/system-clock.ts";
import { tellParent } from "../processes/child.ts";
import { plainCluster } from "../../support/cluster-config.ts";

export interface PlainAnswer {
  readonly listedMs: number;
  readonly madeMs: number;
  readonly cpuMs: number;
}

/** As many connections as the client opens. */
const inFlight = 16;

const [master = "", qps = "", burst = "", ...names] = process.argv.slice(2);
const shared = { clock: createSystemClock(), rng: createSystemRng(), logger: silentLogger, metrics: silentMetrics };
const config = { ...plainCluster, master, qps: Number(qps), burst: Number(burst), userAgent: "podseidon-bench" };
const client = await createKubeClient(config, shared, "core");
const never = new AbortController().signal;

interface Seen extends Stored {
  readonly namespace: string;
  readonly name: string;
}

function decode(raw: unknown): Seen | undefined {
  const { namespace, name, uid, resourceVersion } = fieldsOf(fieldsOf(raw)["metadata"]);
  if (typeof namespace !== "string" || typeof name !== "string" || typeof uid !== "string") return undefined;
  const version = parseResourceVersion(String(resourceVersion));
  return version && { key: objectKey(namespace, name), uid, resourceVersion: version, namespace, name };
}

function resourceOf(name: string): Resource {
  const [group = "", version = "", resource = ""] = name.split("/");
  return { group, version, resource };
}

function follow(resource: Resource): Promise<readonly Seen[]> {
  return new Promise((resolve) => {
    const informer = createInformer<Seen>({ client, resource, decode, ...shared, name: resource.resource });
    informer.subscribe({ onEvent() {}, onListed: () => resolve([...informer.values()]) });
    void informer.run(never);
  });
}

async function make({ resource }: Resource, { namespace, name }: Seen): Promise<void> {
  const metadata = { namespace, name: `${resource}-${name}` };
  const spec = { minAvailable: 1, minReadySeconds: 0, selector: { matchLabels: { app: name } } };
  const body = { apiVersion: "podseidon.kubewharf.io/v1alpha1", kind: "PodProtector", metadata, spec };
  await client.request({ method: "POST", path: resourcePath(podProtectors, { namespace }), body });
}

const resources = names.map(resourceOf);
const lists = await Promise.all(resources.map(async (resource) => ({ resource, objects: await follow(resource) })));
await follow(podProtectors);
const listedMs = performance.now();
const rest = lists.flatMap(({ resource, objects }) => objects.map((object) => [resource, object] as const));
await Promise.all(
  Array.from({ length: inFlight }, async () => {
    for (let next = rest.pop(); next !== undefined; next = rest.pop()) await make(...next);
  }),
);
const { user, system } = process.cpuUsage();
const answer: PlainAnswer = { listedMs, madeMs: performance.now(), cpuMs: (user + system) / 1000 };
tellParent(answer);
