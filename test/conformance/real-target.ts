/**
 * A real kube-apiserver as a target: a cluster of its own, without controllers, which would answer to what the cases
 * create.
 */
import { type KubeAssets } from "../../scripts/kube-assets.ts";
import { type ProcessSet } from "../../scripts/child-processes.ts";
import { Cluster } from "../e2e/clusters/cluster.ts";
import { freePorts } from "../e2e/clusters/ports.ts";
import { HttpClient } from "./http-client.ts";
import { startWebhookServer } from "./reviews.ts";
import { uniqueNames } from "./runner.ts";
import { grantFencer, overHttp, prepare } from "./set-up.ts";
import { type RunningTarget, type Target } from "./target.ts";

interface RealEnvironment {
  readonly assets: KubeAssets;
  readonly processes: ProcessSet;
  /** Data, certificates and logs go into it. */
  readonly directory: string;
}

/** Compacts etcd at its present revision: older states are gone, and so are continue tokens into them. */
async function compact(etcdUrl: string): Promise<void> {
  const post = async (path: string, body: object): Promise<unknown> => {
    const response = await fetch(`${etcdUrl}/v3/kv/${path}`, { method: "POST", body: JSON.stringify(body) });
    if (!response.ok) throw new Error(`etcd ${path}: ${response.status} ${await response.text()}`);
    return response.json();
  };
  const { header } = (await post("range", { key: btoa("none") })) as { readonly header: { readonly revision: string } };
  await post("compaction", { revision: header.revision, physical: true });
}

/** Starts etcd, kube-apiserver and the webhook server, and resolves when the set-up of the suite is in force. */
export async function startRealTarget(environment: RealEnvironment): Promise<RunningTarget> {
  const [port = 0, etcdPort = 0] = await freePorts(2);
  const options = { name: "conformance", users: [{ name: "fencer" }, { name: "stranger" }] };
  const cluster = new Cluster(environment, options, { port, etcdPort });
  await cluster.start();
  const webhooks = await startWebhookServer();
  const client = new HttpClient({
    url: cluster.url,
    caPem: cluster.caPem,
    tokens: { admin: cluster.adminToken, fencer: cluster.token("fencer"), stranger: cluster.token("stranger") },
  });
  const target: Target = {
    name: "real",
    ...overHttp(client, webhooks),
    async forgetHistory() {
      await compact(`http://127.0.0.1:${etcdPort}`);
      // The watch cache remembers what etcd has forgotten.
      await cluster.restartApiServer();
    },
  };
  const unique = uniqueNames("");
  await grantFencer(target);
  await prepare(target, webhooks, unique);
  return {
    target,
    unique,
    async close() {
      await client.close();
      await webhooks.close();
      await cluster.stop();
    },
  };
}
