/**
 * The real control plane that several measurements share: started with the first that needs it, with one etcd, one
 * kube-apiserver and the webhooks.
 */
import { mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { resolveKubeAssets } from "../../../scripts/kube-assets.ts";
import { type AdminClient } from "../../e2e/clusters/admin-client.ts";
import { type ManagedProcess, ProcessSet } from "../../../scripts/child-processes.ts";
import { type Cluster } from "../../e2e/clusters/cluster.ts";
import { webhookTls } from "../../e2e/fleet/fleet.ts";
import { startCore } from "./core-cluster.ts";
import { startWebhookProcess, type WebhookProcess, type WebhookProcessOptions } from "./webhook-process.ts";

export class RealCore {
  readonly admin: AdminClient;
  readonly #cluster: Cluster;
  readonly #processes: ProcessSet;
  readonly #directory: string;
  readonly #tls: NonNullable<WebhookProcessOptions["tls"]>;
  readonly #profileDirectory: string | undefined;

  private constructor(init: {
    readonly cluster: Cluster;
    readonly processes: ProcessSet;
    readonly directory: string;
    readonly tls: NonNullable<WebhookProcessOptions["tls"]>;
    readonly profileDirectory: string | undefined;
  }) {
    this.admin = init.cluster.admin;
    this.#cluster = init.cluster;
    this.#processes = init.processes;
    this.#directory = init.directory;
    this.#tls = init.tls;
    this.#profileDirectory = init.profileDirectory;
  }

  /**
   * Throws a KubeAssetsError where the programs are neither there nor can be built. With `profileDirectory` each
   * webhook leaves a CPU profile there.
   */
  static async start(say: (line: string) => void, profileDirectory: string | undefined): Promise<RealCore> {
    const assets = await resolveKubeAssets(say, ["etcd", "kube-apiserver"]);
    const directory = mkdtempSync(path.join(os.tmpdir(), "podseidon-bench-"));
    const processes = new ProcessSet();
    process.once("exit", () => processes.killAll());
    say("a core cluster is started");
    const cluster = await startCore(assets, processes, directory);
    return new RealCore({ cluster, processes, directory, tls: await webhookTls(directory), profileDirectory });
  }

  /** A webhook with flags at their defaults. Stop it before the next measurement. */
  startWebhook(name: string, options: { readonly scheme: "HTTP" | "HTTPS"; readonly inFlight: number }) {
    return startWebhookProcess({
      name,
      kubeconfig: this.#cluster.kubeconfigPath("admin"),
      tls: options.scheme === "HTTP" ? undefined : this.#tls,
      inFlight: options.inFlight,
      processes: this.#processes,
      directory: this.#directory,
      profileDirectory: this.#profileDirectory,
    }) satisfies Promise<WebhookProcess>;
  }

  /** etcd and the API server. */
  controlPlane(): readonly ManagedProcess[] {
    return this.#processes.processes();
  }

  async stop(): Promise<void> {
    await this.#cluster.stop();
    rmSync(this.#directory, { recursive: true, force: true });
  }
}
