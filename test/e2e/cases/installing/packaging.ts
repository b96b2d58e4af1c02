/**
 * The image's root file system and the systemd unit run the built file, as the manifests do, against a real API server.
 */
import assert from "node:assert/strict";
import { chownSync, copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parseEnv } from "node:util";
import { assembleImageRoot, type ImageRoot } from "../../../../scripts/image/image-root.ts";
import { manifestsFolder } from "../../../manifests/manifest-files.ts";
import { type ChrootRun, type ChrootRunOptions, runInChroot } from "../../../packaging/chroot.ts";
import { sha256 } from "../../../packaging/sha256.ts";
import { unitCommandLine, verifySystemdUnit } from "../../../packaging/systemd.ts";
import { type ManagedProcess } from "../../../../scripts/child-processes.ts";
import { type Cluster } from "../../clusters/cluster.ts";
import {
  choosePorts,
  componentOf,
  containerOf,
  dockerfile,
  serviceEnvironment,
  shortWindows,
  storedDeployments,
  withPorts,
} from "../../installed/manifest-pods.ts";
import { allButAdmission, kubectlOrFail, makeTlsFiles, removeOverlay, writeKustomization } from "../../overlay.ts";
import { systemNamespace } from "../../clusters/role-accounts.ts";
import { freePorts } from "../../clusters/ports.ts";
import { type CaseContext, e2eCases, type Figures } from "../../runner/runner.ts";
import { SecretVolume } from "../../installed/secret-volume.ts";
import { GiveUp, present, second, waitFor } from "../../clusters/wait.ts";

const executable = fileURLToPath(new URL("../../../../dist/podseidon", import.meta.url));
const roles = ["generator", "aggregator", "webhook", "update-trigger"] as const;
/** A webhook that starts after the aggregator has ended is not ready before it knows whether the cell is silent. */
const runLimitMs = 100 * second;
const stopGraceMs = 30 * second;
const accountFolder = "var/run/secrets/kubernetes.io/serviceaccount";

export const packagingCases = e2eCases({
  "packaging: the image's root file system and the systemd unit run every role from the executable": [
    240 * second,
    run,
  ],
});

async function run(context: CaseContext): Promise<Figures> {
  const core = await context.cluster("core");
  const folder = await installAllRoles(context, core);
  const builtSum = sha256(executable);
  context.say(`sha256 of dist/podseidon, which the manifests' cases and the unit's ExecStart run: ${builtSum}`);
  if (process.env["PODSEIDON_E2E_DEV"] === "1")
    context.say("PODSEIDON_E2E_DEV=1: the manifests' cases of this run use the sources instead");
  const image = await runImage(context, core, builtSum);
  const systemd = await runSystemd(context, core, path.join(folder, "tls"));
  await removeOverlay(context, core, folder);
  return { sha256: builtSum.slice(0, 12), image, ...systemd };
}

/** Applies all that the roles need, but the webhook configuration. Resolves to the folder of the kustomization. */
export async function installAllRoles(context: CaseContext, core: Cluster): Promise<string> {
  assert.ok(existsSync(executable), 'dist/podseidon does not exist: run "make build"');
  const folder = path.join(context.directory, "all-roles");
  await makeTlsFiles(path.join(folder, "tls"));
  writeKustomization(folder, {
    bases: ["overlays/single-cluster", "base/update-trigger"],
    resources: ["tls/secret.yaml"],
  });
  await kubectlOrFail(context, core, "apply", "-k", folder, "-l", allButAdmission);
  return folder;
}

/** Why a chroot cannot be used here; undefined when it can. */
function chrootObstacle(): string | undefined {
  if (process.platform !== "linux") return "needs Linux";
  return process.getuid?.() === 0 ? undefined : "needs root";
}

/** Resolves to what was run, in words. */
async function runImage(context: CaseContext, core: Cluster, builtSum: string): Promise<string> {
  const obstacle = chrootObstacle();
  if (obstacle !== undefined) {
    context.say(`the image's root file system was NOT run: a chroot ${obstacle}`);
    return `not run (${obstacle})`;
  }
  const root = assembleImageRoot({ executable, dockerfile, folder: path.join(context.directory, "image-root") });
  context.cleanup(() => rmSync(root.folder, { recursive: true, force: true }));
  const imageSum = sha256(path.join(root.folder, root.facts.executablePath));
  context.say(`sha256 of ${root.facts.executablePath} in the image's root file system: ${imageSum}`);
  assert.equal(imageSum, builtSum);

  return runRoles(context, core, root, { name: "chroot", run: runInChroot });
}

/** What runs the executable of an image's root file system. */
export interface Runner {
  /** "in the NAME". */
  readonly name: string;
  readonly run: (options: ChrootRunOptions) => Promise<ChrootRun>;
}

/** Runs every role as its Deployment would. Resolves to what was run, in words. */
export async function runRoles(context: CaseContext, core: Cluster, root: ImageRoot, runner: Runner): Promise<string> {
  const version = await runner.run({ root, args: ["--version"], timeoutMs: runLimitMs });
  assert.equal(version.code, 0, version.stderr);
  context.say(`in the ${runner.name}, --version: ${version.stdout.trim()}`);
  await refusesRootsFile(root, runner);
  for (const deployment of await storedDeployments(core))
    await runDeployment({ context, core, root, runner }, deployment);
  return `${roles.length} roles as user ${root.facts.user.uid}`;
}

/** A file that only root may read cannot be read: the process is somebody else. */
async function refusesRootsFile(root: ImageRoot, runner: Runner): Promise<void> {
  writeFileSync(path.join(root.folder, "etc/roots.yaml"), "role: generator\n", { mode: 0o600 });
  const args = ["--config=/etc/roots.yaml"];
  const { code, stderr } = await runner.run({ root, args, timeoutMs: runLimitMs });
  assert.equal(code, 2, stderr);
  assert.match(stderr, /permission denied|EACCES/);
}

/**
 * As a container engine and a kubelet would: mounted Secrets and the account's token at their own paths, ports moved.
 */
async function runDeployment(
  { context, core, root, runner }: { context: CaseContext; core: Cluster; root: ImageRoot; runner: Runner },
  deployment: Awaited<ReturnType<typeof storedDeployments>>[number],
): Promise<void> {
  const { volumes = [], serviceAccountName } = deployment.spec.template.spec;
  const container = containerOf(deployment);
  for (const { name, mountPath } of container.volumeMounts ?? []) {
    const secret = present(volumes.find((volume) => volume.name === name)?.secret);
    const volume = new SecretVolume({
      cluster: core,
      namespace: systemNamespace,
      secretName: secret.secretName,
      directory: path.join(root.folder, mountPath),
      mode: secret.defaultMode,
      group: root.facts.user.gid,
    });
    await volume.sync();
  }
  await writeAccount(core, root, serviceAccountName);
  const ports = await choosePorts(container);
  const component = componentOf(deployment);
  const moved = container.ports.map(({ name, containerPort }) => `${name} ${containerPort} -> ${ports[name]}`);
  context.say(
    `substituted in the ${runner.name}, ${component}: ports ${moved.join(", ")}, the settle window; nothing else`,
  );
  const { readinessProbe } = container;
  const run = await runner.run({
    root,
    args: withPorts(container.args, container, ports),
    env: {
      ...(await serviceEnvironment(core)),
      KUBERNETES_SERVICE_HOST: "127.0.0.1",
      KUBERNETES_SERVICE_PORT: String(core.port),
      ...shortWindows(container.args),
    },
    readyUrl: `http://127.0.0.1:${ports[readinessProbe.httpGet.port]}${readinessProbe.httpGet.path}`,
    timeoutMs: runLimitMs,
  });
  checkRun(`${component} in the ${runner.name}`, run);
}

function checkRun(what: string, { becameReady, code, stderr }: ChrootRun): void {
  assert.ok(becameReady, `${what}: not ready\n${stderr}`);
  assert.equal(code, 0, `${what}: after SIGTERM\n${stderr}`);
  assert.doesNotMatch(stderr, /forbidden|\b403\b/i);
}

/** The files that a kubelet mounts for the pod's ServiceAccount. */
async function writeAccount(core: Cluster, root: ImageRoot, account: string): Promise<void> {
  const folder = path.join(root.folder, accountFolder);
  mkdirSync(folder, { recursive: true });
  const token = await core.serviceAccountToken(systemNamespace, account);
  const files = { token, "ca.crt": core.caPem, namespace: systemNamespace };
  for (const [name, content] of Object.entries(files)) {
    writeFileSync(path.join(folder, name), content, { mode: 0o440 });
    chownSync(path.join(folder, name), 0, root.facts.user.gid);
  }
}

/**
 * The unit is checked with systemd's own tool where it exists; its command line runs with the example settings in any
 * case.
 */
async function runSystemd(context: CaseContext, core: Cluster, tls: string): Promise<Figures> {
  const verdicts = new Set<string>();
  for (const role of roles) {
    const verdict = verifySystemdUnit(executable, role);
    assert.ok(verdict.kind !== "failed", `podseidon@${role}.service: ${verdict.kind === "failed" && verdict.output}`);
    verdicts.add(verdict.kind);
  }
  const systemdAnalyze = [...verdicts].join(", ");
  if (verdicts.has("tool-missing")) context.say("the unit was NOT checked: this host has no systemd-analyze");
  const ports = await otherPorts();
  const units: RunningUnit[] = [];
  for (const role of roles) units.push(await startUnit(context, core, { role, tls, ports }));
  // All at once, as on one host: two that listen on the same port could not.
  await Promise.all(units.map((unit) => unitIsReady(unit)));
  for (const { role, process } of units) {
    assert.deepEqual(await process.stop(stopGraceMs), { code: 0, signal: null }, `unit ${role}`);
    assert.doesNotMatch(process.log(), /forbidden|\b403\b/i, `unit ${role}`);
  }
  return { systemdAnalyze, unitRoles: roles.length };
}

interface RunningUnit {
  readonly role: string;
  readonly process: ManagedProcess;
  readonly healthPort: number;
}

interface UnitOptions {
  readonly role: string;
  /** Folder with the certificate. */
  readonly tls: string;
  /** Ports of the examples to those that take their place: one for one, so that a clash stays a clash. */
  readonly ports: ReadonlyMap<string, string>;
}

function exampleOf(role: string): Readonly<Record<string, string | undefined>> {
  return parseEnv(readFileSync(path.join(manifestsFolder, "systemd", `${role}.env`), "utf8"));
}

/** A free port for each one that the examples name. */
async function otherPorts(): Promise<ReadonlyMap<string, string>> {
  const settings = roles.flatMap((role) => Object.entries(exampleOf(role)));
  const named = settings.flatMap(([name, value]) => (name.endsWith("_PORT") && value !== undefined ? [value] : []));
  const distinct = [...new Set(named)];
  const free = await freePorts(distinct.length);
  return new Map(distinct.map((port, index) => [port, String(free[index])]));
}

/** Starts the unit's command line with the role's example environment file. */
async function startUnit(context: CaseContext, core: Cluster, { role, tls, ports }: UnitOptions): Promise<RunningUnit> {
  const folder = path.join(context.directory, "systemd", role);
  mkdirSync(folder, { recursive: true });
  const token = await core.serviceAccountToken(systemNamespace, `podseidon-${role}`);
  const kubeconfig = core.kubeconfigForToken(`unit-${role}`, token);
  for (const name of ["core.kubeconfig", "worker.kubeconfig"]) copyFileSync(kubeconfig, path.join(folder, name));
  for (const name of ["tls.crt", "tls.key"]) copyFileSync(path.join(tls, name), path.join(folder, name));
  const env: Record<string, string> = { ...shortWindows([`--role=${role}`]) };
  for (const [name, value = ""] of Object.entries(exampleOf(role))) {
    const moved = name.endsWith("_PORT") ? ports.get(value) : value.replaceAll("/etc/podseidon", folder);
    env[name] = moved ?? value;
    if (moved !== value) context.say(`substituted in the unit, ${role}: ${name} ${value} -> ${moved}`);
  }
  const [installed, ...args] = unitCommandLine(role);
  context.say(`substituted in the unit, ${role}: ${installed} -> dist/podseidon`);
  const logFile = path.join(folder, "log");
  const process = context.processes.start({ name: `unit ${role}`, command: executable, args, env, logFile });
  return { role, process, healthPort: Number(env["PODSEIDON_FLAG_HEALTHZ_PORT"]) };
}

async function unitIsReady({ role, process, healthPort }: RunningUnit): Promise<void> {
  await waitFor(`the unit of ${role} is ready`, runLimitMs, async () => {
    if (process.exit() !== undefined) throw new GiveUp(`the unit of ${role} ended:\n${process.log()}`);
    return isReadyOnLoopback(healthPort);
  });
}

/** The examples leave the health server on its default address, ::1, which is 127.0.0.1 where the host has no IPv6. */
async function isReadyOnLoopback(port: number): Promise<boolean> {
  const answers = await Promise.allSettled(
    ["[::1]", "127.0.0.1"].map((host) => fetch(`http://${host}:${port}/readyz`)),
  );
  return answers.some((answer) => answer.status === "fulfilled" && answer.value.status === 200);
}
