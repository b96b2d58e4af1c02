/**
 * A real Kubernetes control plane as child processes: etcd, kube-apiserver and, where asked for,
 * kube-controller-manager and kube-scheduler. There is no kubelet: nodes are objects only, and
 * test/e2e/objects/kubelet.ts plays their part.
 */
import { randomBytes } from "node:crypto";
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { execFileSync } from "node:child_process";
import path from "node:path";
import { type KubeAssets } from "../../../scripts/kube-assets.ts";
import { clusterAt, writeKubeconfig } from "../../support/kubeconfig.ts";
import { AdminClient } from "./admin-client.ts";
import { type ManagedProcess, type ProcessSet } from "../../../scripts/child-processes.ts";
import {
  apiServerArgs,
  type ClusterFiles,
  type ClusterUser,
  clusterFiles,
  controllerManagerArgs,
  controllerManagerUser,
  defaultControllers,
  etcdArgs,
  schedulerArgs,
  schedulerUser,
  writeClusterFiles,
  writeTokens,
} from "./control-plane.ts";
import { EtcdData } from "./etcd-data.ts";
import { MetricsText } from "./metrics-text.ts";
import { createNodes } from "./nodes.ts";
import { freePorts, isPortTaken } from "./ports.ts";
import { accountUsers, installRights } from "./role-accounts.ts";
import { GiveUp, waitFor } from "./wait.ts";

export interface ClusterOptions {
  readonly name: string;
  /** Users besides `admin` (system:masters) and the accounts of the roles; what they may do is up to RBAC objects. */
  readonly users?: readonly { readonly name: string; readonly groups?: readonly string[] }[];
  readonly admissionPlugins?: { readonly enable?: readonly string[]; readonly disable?: readonly string[] };
  /** True for `defaultControllers`. */
  readonly controllerManager?: boolean | { readonly controllers: readonly string[]; readonly args?: readonly string[] };
  readonly scheduler?: boolean;
  /** Further arguments of the API server. */
  readonly apiServerArgs?: readonly string[];
  /** The size at which etcd takes no more writes; default: its own, 2 GB. */
  readonly etcdQuotaBytes?: number;
  /** Number of node objects, node-0 and so on, Ready and untainted; default 1. */
  readonly nodes?: number;
}

export interface ClusterEnvironment {
  readonly assets: KubeAssets;
  readonly processes: ProcessSet;
  /** Files and logs go into `<directory>/<name>`. */
  readonly directory: string;
}

/** A taken port is bad luck; three times in a row is something else. */
const startAttemptsMax = 3;
/** Measured 3 to 6 s on two idle cores; the rest is for machines that are busy. */
const readyLimitMs = 90_000;
/** It ends in a second, or waits for open connections for up to a minute; an upgrade does not wait for ever either. */
const apiServerGraceMs = 5_000;
/** The log of a restarted server continues the old one; its last words are in here. */
const logTailChars = 4_000;

/**
 * Starts a cluster and resolves when its API server is ready and its nodes exist. Everything is stopped when that
 * fails.
 */
export async function startCluster(options: ClusterOptions, environment: ClusterEnvironment): Promise<Cluster> {
  for (let attempt = 1; ; attempt++) {
    const directory = path.join(environment.directory, options.name);
    const processes = environment.processes.subset();
    const [port = 0, etcdPort = 0] = await freePorts(2);
    const cluster = new Cluster({ ...environment, processes, directory }, options, { port, etcdPort });
    try {
      await cluster.start();
      return cluster;
    } catch (error) {
      const taken = processes.processes().some((one) => isPortTaken(one.log()));
      await cluster.stop();
      if (!taken || attempt === startAttemptsMax) throw error;
      rmSync(directory, { recursive: true });
    }
  }
}

export class Cluster {
  readonly name: string;
  readonly url: string;
  readonly port: number;
  readonly directory: string;
  readonly etcd: EtcdData;
  readonly #environment: ClusterEnvironment;
  readonly #options: ClusterOptions;
  readonly #etcdPort: number;
  readonly #files: ClusterFiles;
  #users: readonly ClusterUser[];
  #furtherApiServerArgs: readonly string[] = [];
  #etcd: ManagedProcess | undefined;
  #apiServer: ManagedProcess | undefined;
  readonly #controllers: ManagedProcess[] = [];
  #admin: AdminClient | undefined;
  #caPem = "";
  #backups = 0;

  constructor(environment: ClusterEnvironment, options: ClusterOptions, ports: { port: number; etcdPort: number }) {
    this.name = options.name;
    this.port = ports.port;
    this.url = `https://127.0.0.1:${ports.port}`;
    this.directory = environment.directory;
    this.#environment = environment;
    this.#options = options;
    this.#etcdPort = ports.etcdPort;
    this.etcd = new EtcdData(ports.etcdPort);
    this.#files = clusterFiles(environment.directory);
    const own = [
      { name: "admin", groups: ["system:masters"] },
      { name: controllerManagerUser },
      { name: schedulerUser },
      ...accountUsers,
    ];
    const users: NonNullable<ClusterOptions["users"]> = [...own, ...(options.users ?? [])];
    this.#users = users.map(({ name, groups = [] }) => ({ name, groups, token: newToken() }));
  }

  async start(): Promise<void> {
    writeClusterFiles(this.#files, this.#users);
    this.#startEtcd();
    await this.startApiServer();
    await this.#furnish();
  }

  /** What every cluster has from its beginning. */
  async #furnish(): Promise<void> {
    await createNodes(this.admin, this.#options.nodes ?? 1);
    await installRights(this.admin);
  }

  #startControllers(): void {
    const { controllerManager = false, scheduler = false } = this.#options;
    if (controllerManager !== false) {
      const { controllers, args = [] } =
        controllerManager === true ? { controllers: defaultControllers } : controllerManager;
      const kubeconfig = this.kubeconfigPath(controllerManagerUser);
      const all = [...controllerManagerArgs(kubeconfig, this.#files, controllers), ...args];
      this.#controllers.push(this.#run("kube-controller-manager", all));
    }
    if (scheduler) {
      this.#controllers.push(this.#run("kube-scheduler", schedulerArgs(this.kubeconfigPath(schedulerUser))));
    }
  }

  /** The authority of the API server's certificate, which is valid for 127.0.0.1 whatever the port. */
  get caPem(): string {
    return this.#caPem;
  }

  get adminToken(): string {
    return this.token("admin");
  }

  /**
   * What ServiceAccounts of podseidon-system asked the API server for, and all deletions of pods; see
   * test/e2e/clusters/audit-log.ts.
   */
  get auditLog(): string {
    return this.#files.auditLog;
  }

  /** A client of one of the cluster's users. Close it at the end. */
  client(user: string): AdminClient {
    return new AdminClient({ url: this.url, caPem: this.caPem, token: this.token(user) });
  }

  /** A client with all rights. */
  get admin(): AdminClient {
    if (this.#admin === undefined) throw new Error(`cluster ${this.name} has not been started`);
    return this.#admin;
  }

  token(user: string): string {
    const found = this.#users.find(({ name }) => name === user);
    if (found === undefined) throw new Error(`cluster ${this.name} has no user ${user}`);
    return found.token;
  }

  /** A new token for the user. The API server takes it, and refuses the old one, from its next start on. */
  rotateToken(user: string): void {
    this.#users = this.#users.map((one) => (one.name === user ? { ...one, token: newToken() } : one));
    writeTokens(this.#files, this.#users);
  }

  /** Arguments that the API server gets besides the usual ones, from its next start on. */
  setFurtherApiServerArgs(args: readonly string[]): void {
    this.#furtherApiServerArgs = args;
  }

  /** A kubeconfig of one of the cluster's users; `url` replaces the API server's address, for a proxy in between. */
  kubeconfigPath(user: string, url = this.url): string {
    return this.kubeconfigForToken(user, this.token(user), url);
  }

  /** The same for any other token, such as a ServiceAccount's. */
  kubeconfigForToken(name: string, token: string, url = this.url): string {
    const suffix = url === this.url ? "" : `-${new URL(url).port}`;
    const file = path.join(this.directory, "kubeconfigs", `${name}${suffix}.yaml`);
    mkdirSync(path.dirname(file), { recursive: true });
    return writeKubeconfig(file, clusterAt(url, this.caPem), { token });
  }

  /** A ServiceAccount's token from the TokenRequest API, valid for an hour. */
  async serviceAccountToken(namespace: string, name: string): Promise<string> {
    const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`;
    const body = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: { expirationSeconds: 3600 } };
    const answer = await this.admin.create<{ status: { token: string } }>(path, body);
    return answer.status.token;
  }

  /**
   * Starts the API server on its port, waits until it is ready, and starts the controllers anew. While another program
   * holds the port after a restart, it tries again.
   */
  async startApiServer(): Promise<void> {
    const isRestart = this.#admin !== undefined;
    const { enable = [], disable = ["ServiceAccount"] } = this.#options.admissionPlugins ?? {};
    const usual = apiServerArgs(this.#files, {
      port: this.port,
      etcdPort: this.#etcdPort,
      enableAdmissionPlugins: enable,
      disableAdmissionPlugins: disable,
    });
    const args = [...usual, ...(this.#options.apiServerArgs ?? []), ...this.#furtherApiServerArgs];
    this.#apiServer = this.#run("kube-apiserver", args);
    await waitFor(`${this.name}: kube-apiserver is ready`, readyLimitMs, async () => {
      if (this.#etcd?.exit() !== undefined) throw new GiveUp(`${this.name}: etcd has ended: see ${this.directory}`);
      const exit = this.#apiServer?.exit();
      if (exit !== undefined) {
        const taken = isPortTaken(this.#apiServer?.log().slice(-logTailChars) ?? "");
        if (!isRestart || !taken)
          throw new GiveUp(`${this.name}: kube-apiserver ended with ${exit.code ?? exit.signal}`);
        this.#apiServer = this.#run("kube-apiserver", args);
      }
      return existsSync(this.#files.caFile) && (await this.#isReady());
    });
    // Where it was away for long, their watches would begin again up to a minute later, and the next case would wait
    // for that. Elsewhere they end when they cannot renew their Leases, and are started again.
    const before = this.#controllers.splice(0);
    for (const controller of before) controller.signal("SIGKILL");
    await Promise.all(before.map(({ exited }) => exited));
    this.#startControllers();
  }

  /** SIGKILL: connections break, nothing is finished. */
  async killApiServer(): Promise<void> {
    this.#apiServer?.signal("SIGKILL");
    await this.#apiServer?.exited;
  }

  /** SIGTERM, as in an upgrade of the control plane, and a new start on the same port. */
  async restartApiServer(): Promise<void> {
    await this.#apiServer?.stop(apiServerGraceMs);
    await this.startApiServer();
  }

  /**
   * The cluster is lost with all its data, and another one is built in its place: at the same address, with the same
   * credentials, and nothing in it but its nodes and the accounts with their rights.
   */
  async rebuild(): Promise<void> {
    await this.#replaceData(() => {});
    await this.#furnish();
  }

  /** A copy of all data as it is now, for `restore`. */
  async backUp(): Promise<string> {
    const copy = path.join(this.directory, `backup-${++this.#backups}`);
    this.pauseEtcd();
    cpSync(this.#files.etcdData, copy, { recursive: true });
    this.resumeEtcd();
    return copy;
  }

  /** The data are those of the copy again, versions included. */
  async restore(copy: string): Promise<void> {
    await this.#replaceData(() => cpSync(copy, this.#files.etcdData, { recursive: true }));
  }

  async #replaceData(fill: () => void): Promise<void> {
    await this.killApiServer();
    this.#etcd?.signal("SIGKILL");
    await this.#etcd?.exited;
    rmSync(this.#files.etcdData, { recursive: true, force: true });
    fill();
    this.#startEtcd();
    await this.startApiServer();
  }

  #startEtcd(): void {
    this.#etcd = this.#run("etcd", etcdArgs(this.#files, this.#etcdPort, this.#options.etcdQuotaBytes));
  }

  /** SIGSTOP: writes hang and may commit after resumeEtcd. */
  pauseEtcd(): void {
    this.#etcd?.signal("SIGSTOP");
  }

  resumeEtcd(): void {
    this.#etcd?.signal("SIGCONT");
  }

  async isReady(): Promise<boolean> {
    return this.#isReady().catch(() => false);
  }

  /** The API server's own metrics (several megabytes: not for polling in a tight loop). */
  async metrics(): Promise<MetricsText> {
    return new MetricsText(await this.admin.get<string>("/metrics"));
  }

  /** Resident memory of all its processes, in bytes; 0 where the host has no ps. */
  memoryBytes(): number {
    const running = this.#environment.processes.processes().filter((one) => one.exit() === undefined);
    try {
      const output = execFileSync("ps", ["-o", "rss=", "-p", running.map((one) => one.pid).join(",")], {
        encoding: "utf8",
      });
      return output.split("\n").reduce((sum, kibibytes) => sum + Number(kibibytes) * 1024, 0);
    } catch {
      return 0;
    }
  }

  /** Kills everything, deletes the data and keeps the logs. */
  async stop(): Promise<void> {
    await this.#admin?.close();
    await this.#environment.processes.end();
    rmSync(this.#files.etcdData, { recursive: true, force: true });
  }

  async #isReady(): Promise<boolean> {
    if (this.#admin === undefined) {
      const caPem = readFileSync(this.#files.caFile, "utf8");
      if (!caPem.trimEnd().endsWith("-----END CERTIFICATE-----")) return false;
      this.#caPem = caPem;
      this.#admin = new AdminClient({ url: this.url, caPem, token: this.adminToken });
    }
    const { code } = await this.#admin.request("GET", "/readyz", { timeoutMs: 5_000 });
    return code === 200;
  }

  #run(name: keyof KubeAssets, args: readonly string[]): ManagedProcess {
    const logFile = path.join(this.directory, "logs", `${name}.log`);
    const { assets, processes } = this.#environment;
    return processes.start({ name: `${this.name}/${name}`, command: assets[name], args, logFile });
  }
}

function newToken(): string {
  return randomBytes(16).toString("hex");
}
