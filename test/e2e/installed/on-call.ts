/**
 * A person on call, with the roles of manifests/base/people and no others: they run the program's commands with a
 * kubeconfig by which the administrator impersonates them.
 */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { promisify } from "node:util";
import { loadAll } from "js-yaml";
import { type Manifest, manifestsFolder } from "../../manifests/manifest-files.ts";
import { clusterAt } from "../../support/kubeconfig.ts";
import { type Cluster } from "../clusters/cluster.ts";
import { program } from "../fleet/process.ts";
import { type CaseContext } from "../runner/runner.ts";

export interface CommandRun {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** A command that runs until it is stopped. */
export interface StartedCommand {
  /** What it has printed first. */
  readonly printed: string;
  /** As Ctrl-C does. Resolves to the exit code. */
  stop(): Promise<number | null>;
}

const rbac = "/apis/rbac.authorization.k8s.io/v1";
const group = "rbac.authorization.k8s.io";
/** Ends a command that hangs; most are over in a second. */
const limitMs = 150_000;
/** In the manifests. */
const systemNamespace = "podseidon-system";

export class OnCall {
  readonly #context: CaseContext;
  readonly #kubeconfig: string;

  private constructor(context: CaseContext, kubeconfig: string) {
    this.#context = context;
    this.#kubeconfig = kubeconfig;
  }

  /** With the given roles; the roles of the namespace podseidon-system are those of `namespace` here. */
  static async begin(
    context: CaseContext,
    cluster: Cluster,
    namespace: string,
    files: readonly string[],
  ): Promise<OnCall> {
    const user = `on-call-${namespace}-${files.length}`;
    const subjects = [{ kind: "User", name: user, apiGroup: group }];
    for (const { kind, metadata, ...rest } of files.flatMap((file) => rolesIn(file))) {
      const name = `${namespace}-${files.length}-${metadata.name}`;
      const isHere = metadata.namespace === systemNamespace;
      const place = isHere ? `${rbac}/namespaces/${namespace}` : rbac;
      const plural = isHere ? "role" : "clusterrole";
      await cluster.admin.create(`${place}/${plural}s`, { ...rest, kind, metadata: { name } });
      const binding = role(`${kind}Binding`, name, { roleRef: refTo(kind, name), subjects });
      await cluster.admin.create(`${place}/${plural}bindings`, binding);
    }
    // As the role `view` has it, which no controller fills here.
    const here = `${rbac}/namespaces/${namespace}`;
    const rules = [{ apiGroups: [""], resources: ["pods"], verbs: ["get", "list"] }];
    await cluster.admin.create(`${here}/roles`, role("Role", user, { rules }));
    await cluster.admin.create(
      `${here}/rolebindings`,
      role("RoleBinding", user, { roleRef: refTo("Role", user), subjects }),
    );
    return new OnCall(context, kubeconfigFor(context, cluster, user));
  }

  /** Who may do everything. */
  static administrator(context: CaseContext, cluster: Cluster): OnCall {
    return new OnCall(context, kubeconfigFor(context, cluster, undefined));
  }

  /**
   * Starts a command of the program that does not end by itself, and resolves when it has printed something. It ends
   * with the case at the latest.
   */
  async start(...args: readonly string[]): Promise<StartedCommand> {
    const { command, args: before } = program();
    const env = { ...process.env, KUBECONFIG: this.#kubeconfig };
    const child = spawn(command, [...before, ...args], { env, timeout: limitMs, stdio: ["ignore", "pipe", "inherit"] });
    this.#context.processes.track(child);
    const ended = once(child, "exit") as Promise<[number | null]>;
    const [printed] = await Promise.race([once(child.stdout, "data"), ended]);
    return {
      printed: String(printed),
      async stop() {
        child.kill("SIGINT");
        return (await ended)[0];
      },
    };
  }

  /** Runs a command of the program to its end. */
  async run(...args: readonly string[]): Promise<CommandRun> {
    const { command, args: before } = program();
    const options = { timeout: limitMs, env: { ...process.env, KUBECONFIG: this.#kubeconfig } };
    return promisify(execFile)(command, [...before, ...args], options).then(
      (done) => ({ exitCode: 0, ...done }),
      (error: { readonly code?: number; readonly stdout?: string; readonly stderr?: string }) => ({
        exitCode: error.code ?? -1,
        stdout: error.stdout ?? "",
        stderr: error.stderr ?? "",
      }),
    );
  }
}

function role(kind: string, name: string, rest: object): object {
  return { apiVersion: `${group}/v1`, kind, metadata: { name }, ...rest };
}

function refTo(kind: string, name: string): object {
  return { apiGroup: group, kind, name };
}

function rolesIn(file: string): readonly Manifest[] {
  return loadAll(readFileSync(path.join(manifestsFolder, "base/people", file), "utf8")) as readonly Manifest[];
}

function kubeconfigFor({ directory }: CaseContext, cluster: Cluster, as: string | undefined): string {
  const file = path.join(directory, `${as ?? "administrator"}.kubeconfig`);
  const document = {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "main", cluster: clusterAt(cluster.url, cluster.caPem) }],
    users: [{ name: "main", user: { token: cluster.adminToken, ...(as !== undefined && { as }) } }],
    contexts: [{ name: "main", context: { cluster: "main", user: "main" } }],
    "current-context": "main",
  };
  writeFileSync(file, JSON.stringify(document), { mode: 0o600 });
  return file;
}
