/**
 * The real control plane that several measurements share: started with the first that needs it, with one etcd, one
 * kube-apiserver and the webhooks, which run with their flags at their defaults.
 */
import { Pool } from "undici";
import { type ManagedProcess } from "../../../scripts/child-processes.ts";
import { resolveKubeAssets } from "../../../scripts/kube-assets.ts";
import { type AdminClient } from "../../e2e/clusters/admin-client.ts";
import { type Cluster } from "../../e2e/clusters/cluster.ts";
import { webhookTls } from "../../e2e/fleet/fleet.ts";
import { type ProductProcess, Products } from "../processes/products.ts";
import { startCore } from "./core-cluster.ts";

export interface WebhookProcess extends Pick<ProductProcess, "pid" | "metrics" | "usage" | "stop"> {
  /** As many connections as `inFlight`. */
  readonly pool: Pool;
  /** Further connections, for callers that must not wait for those of `pool`. */
  openPool(connections: number): Pool;
}

type Tls = Awaited<ReturnType<typeof webhookTls>>;

const readyLimitMs = 30_000;

export class RealCore {
  readonly admin: AdminClient;
  readonly #cluster: Cluster;
  readonly #products: Products;
  readonly #tls: Tls;

  private constructor(cluster: Cluster, products: Products, tls: Tls) {
    this.admin = cluster.admin;
    this.#cluster = cluster;
    this.#products = products;
    this.#tls = tls;
  }

  /** Throws a KubeAssetsError where the programs are neither there nor can be built. */
  static async start(say: (line: string) => void): Promise<RealCore> {
    const assets = await resolveKubeAssets(say, ["etcd", "kube-apiserver"]);
    const products = new Products();
    say("a core cluster is started");
    const cluster = await startCore(assets, products.processes, products.directory);
    return new RealCore(cluster, products, await webhookTls(products.directory));
  }

  /** Stop it before the next measurement. */
  async startWebhook(
    name: string,
    { scheme, inFlight }: { readonly scheme: "HTTP" | "HTTPS"; readonly inFlight: number },
  ): Promise<WebhookProcess> {
    const tls = scheme === "HTTP" ? undefined : this.#tls;
    const webhook = await this.#products.start(
      name,
      (ports) => [
        "--role=webhook",
        `--core-kube-config=${this.#cluster.kubeconfigPath("admin")}`,
        "--webhook-drain-delay=0s",
        ...(tls === undefined ? ["--webhook-bind-addr=127.0.0.1", `--webhook-port=${ports.webhook}`] : []),
      ],
      tls,
    );
    await webhook.ready(readyLimitMs);
    const pools: Pool[] = [];
    const openPool = (connections: number): Pool => {
      const connect = { family: 4, ...(tls !== undefined && { ca: tls.caPem }) };
      const opened = new Pool(`${scheme.toLowerCase()}://localhost:${webhook.ports.webhook}`, { connections, connect });
      pools.push(opened);
      return opened;
    };
    return {
      pid: webhook.pid,
      metrics: () => webhook.metrics(),
      usage: () => webhook.usage(),
      pool: openPool(inFlight),
      openPool,
      async stop() {
        await Promise.all(pools.map((pool) => pool.destroy()));
        await webhook.stop();
      },
    };
  }

  /** etcd and the API server. */
  controlPlane(): readonly ManagedProcess[] {
    return this.#products.processes.processes();
  }

  async stop(): Promise<void> {
    await this.#cluster.stop();
    await this.#products.end();
  }
}
