/** `podseidon check` as a person runs it: the program under test, on a kubeconfig with a context for each cluster. */
import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { promisify } from "node:util";
import { clusterAt } from "../../support/kubeconfig.ts";
import { type Cluster } from "../clusters/cluster.ts";
import { program } from "../fleet/process.ts";
import { systemNamespace } from "../clusters/role-accounts.ts";
import { type CaseContext } from "../runner/runner.ts";

export interface CommandOutcome {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
  readonly durationMs: number;
}

/** What `--output=json` has of a finding. */
export interface SeenFinding {
  readonly group: string;
  readonly check: string;
  readonly level: string;
  readonly text: string;
  readonly cure?: string;
  readonly page?: string;
}

/** Ends a command that hangs; it is to be over in seconds. */
const limitMs = 60_000;

/**
 * A kubeconfig whose contexts are named like the clusters, the first one being the current: of the administrator, or of
 * a user whom the administrator impersonates.
 */
export function kubeconfigOf(context: CaseContext, clusters: readonly [Cluster, ...Cluster[]], as?: string): string {
  const file = path.join(context.directory, `${as ?? "administrator"}.yaml`);
  const document = {
    apiVersion: "v1",
    kind: "Config",
    clusters: clusters.map(({ name, url, caPem }) => ({ name, cluster: clusterAt(url, caPem) })),
    users: clusters.map(({ name, adminToken }) => ({
      name,
      user: { token: adminToken, ...(as !== undefined && { as }) },
    })),
    contexts: clusters.map(({ name }) => ({ name, context: { cluster: name, user: name } })),
    "current-context": clusters[0].name,
  };
  writeFileSync(file, JSON.stringify(document), { mode: 0o600 });
  return file;
}

const group = "rbac.authorization.k8s.io";

/** Binds the roles of manifests/base/check to a user, until the case ends. The roles must be there, or come. */
export async function bindCheckRoles(context: CaseContext, { admin }: Cluster, user: string): Promise<void> {
  const name = `e2e-${user}`;
  const subjects = [{ kind: "User", name: user, apiGroup: group }];
  for (const kind of ["ClusterRole", "Role"]) {
    const place = kind === "Role" ? `/namespaces/${systemNamespace}/rolebindings` : "/clusterrolebindings";
    const path = `/apis/${group}/v1${place}`;
    const roleRef = { apiGroup: group, kind, name: "podseidon-check" };
    const body = { apiVersion: `${group}/v1`, kind: `${kind}Binding`, metadata: { name }, roleRef, subjects };
    await admin.create(path, body);
    context.cleanup(() => admin.remove(`${path}/${name}`));
  }
}

/** Runs a command of the program to its end. */
export async function runCommand(kubeconfig: string, args: readonly string[]): Promise<CommandOutcome> {
  const { command, args: before } = program();
  const startMs = performance.now();
  const options = { timeout: limitMs, env: { ...process.env, KUBECONFIG: kubeconfig } };
  const run = promisify(execFile)(command, [...before, ...args], options);
  const { exitCode, stdout, stderr } = await run.then(
    (done) => ({ exitCode: 0, ...done }),
    (error: { readonly code?: number; readonly stdout?: string; readonly stderr?: string }) => ({
      exitCode: error.code ?? -1,
      stdout: error.stdout ?? "",
      stderr: error.stderr ?? "",
    }),
  );
  return { exitCode, stdout, stderr, durationMs: performance.now() - startMs };
}

export function findingsIn({ stdout, stderr }: CommandOutcome): readonly SeenFinding[] {
  try {
    return (JSON.parse(stdout) as { readonly findings: readonly SeenFinding[] }).findings;
  } catch {
    throw new Error(`the command printed no JSON: ${stdout}${stderr}`);
  }
}

/** Those that say that something is wrong, as `level check`. */
export function wrongIn(findings: readonly SeenFinding[]): readonly string[] {
  return findings
    .filter(({ level }) => level === "fail" || level === "warn")
    .map(({ level, check }) => `${level} ${check}`);
}
