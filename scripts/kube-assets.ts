/**
 * Finds or builds the programs of a real Kubernetes control plane for `make e2e`.
 *
 * Each program is taken from the first of these that has it:
 * 1. the directory KUBEBUILDER_ASSETS,
 * 2. a cache of the user,
 * 3. `go build`, into the cache, of the version that test/kube-assets/go.mod pins.
 *
 * Run as a script, it prints where each program is.
 */
import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { accessSync, constants, mkdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

export const kubernetesVersion = "1.36.3";

/** Programs, each with its Go package. The quickest to build comes first, so that shared packages compile early. */
const packages = {
  etcd: "go.etcd.io/etcd/server/v3",
  kubectl: "k8s.io/kubernetes/cmd/kubectl",
  "kube-apiserver": "k8s.io/kubernetes/cmd/kube-apiserver",
  "kube-controller-manager": "k8s.io/kubernetes/cmd/kube-controller-manager",
  "kube-scheduler": "k8s.io/kubernetes/cmd/kube-scheduler",
} as const;

export type KubeAsset = keyof typeof packages;
/** Absolute paths of the programs. */
export type KubeAssets = Readonly<Record<KubeAsset, string>>;

export const kubeAssetNames = Object.keys(packages) as readonly KubeAsset[];

export class KubeAssetsError extends Error {
  override readonly name = "KubeAssetsError";
}

const moduleDirectory = fileURLToPath(new URL("../test/kube-assets/", import.meta.url));

const [major, minor] = kubernetesVersion.split(".");
const versionPackage = "k8s.io/component-base/version";
const versionFlags = Object.entries({ gitVersion: `v${kubernetesVersion}`, gitMajor: major, gitMinor: minor }).map(
  ([name, value]) => `-X ${versionPackage}.${name}=${value}`,
);
const buildFlags = ["-trimpath", "-ldflags", `-s -w ${versionFlags.join(" ")}`];

/** The first Go that downloads the toolchain which a go.mod asks for. */
const goMinorMin = 21;
/** For one program. A cold build of all five took 5 to 10 minutes on two cores. */
const buildLimitMs = 30 * 60_000;
const progressIntervalMs = 20_000;
const errorLinesMax = 30;

/**
 * `$XDG_CACHE_HOME/podseidon/kube-assets/<version>-<hash>`. The hash covers everything that decides what is built, so
 * that a cache is never stale.
 */
export function assetsCacheDirectory(environment: NodeJS.ProcessEnv): string {
  const root = environment["XDG_CACHE_HOME"] || path.join(os.homedir(), ".cache");
  const hash = createHash("sha256").update(JSON.stringify([process.platform, process.arch, buildFlags]));
  for (const file of ["go.mod", "go.sum"]) hash.update(readFileSync(path.join(moduleDirectory, file)));
  return path.join(root, "podseidon", "kube-assets", `${kubernetesVersion}-${hash.digest("hex").slice(0, 12)}`);
}

/**
 * Finds the programs `names`, and builds those that are missing. `report` receives lines about progress. Throws a
 * KubeAssetsError that says what to do if a program is missing and cannot be built.
 */
export async function resolveKubeAssets(
  report: (line: string) => void,
  names: readonly KubeAsset[] = kubeAssetNames,
  environment: NodeJS.ProcessEnv = process.env,
): Promise<KubeAssets> {
  const cache = assetsCacheDirectory(environment);
  const given = environment["KUBEBUILDER_ASSETS"];
  const found = new Map<KubeAsset, string>();
  const use = (source: string, directory: string | undefined): void => {
    if (directory === undefined || directory === "") return;
    const here = names.filter((name) => !found.has(name) && isExecutable(path.join(directory, name)));
    for (const name of here) found.set(name, path.resolve(directory, name));
    if (here.length > 0) report(`kube-assets: ${here.join(", ")} from ${source} ${directory}`);
  };
  use("KUBEBUILDER_ASSETS", given);
  use("the cache", cache);
  const missing = names.filter((name) => !found.has(name));
  if (missing.length > 0) {
    requireGo(missing, environment);
    report(
      `kube-assets: building ${missing.join(", ")} of Kubernetes ${kubernetesVersion} with go build into ${cache}`,
    );
    mkdirSync(cache, { recursive: true });
    for (const name of missing) found.set(name, await build(name, cache, report, environment));
  }
  return Object.fromEntries(found) as KubeAssets;
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function requireGo(missing: readonly KubeAsset[], environment: NodeJS.ProcessEnv): void {
  const result = spawnSync("go", ["env", "GOVERSION"], { env: environment, encoding: "utf8", timeout: 30_000 });
  const version = /^go1\.(\d+)/.exec(result.stdout ?? "");
  if (version !== null && Number(version[1]) >= goMinorMin) return;
  const reason = result.error === undefined ? `go is too old: ${result.stdout.trim()}` : "go is not installed";
  throw new KubeAssetsError(
    `cannot find ${missing.join(", ")}, and ${reason}. ` +
      `Install Go 1.26 or newer (1.${goMinorMin} downloads it), ` +
      "or set KUBEBUILDER_ASSETS to a directory with " +
      `${kubeAssetNames.join(", ")} of Kubernetes ${kubernetesVersion}.`,
  );
}

/** Builds beside the destination and renames, so that an interrupted build does not look finished. */
async function build(
  name: KubeAsset,
  directory: string,
  report: (line: string) => void,
  environment: NodeJS.ProcessEnv,
): Promise<string> {
  const destination = path.join(directory, name);
  const unfinished = `${destination}.building-${process.pid}`;
  const startMs = performance.now();
  let downloads = 0;
  let compiled = 0;
  const elapsed = (): string => `${Math.round((performance.now() - startMs) / 1000)} s`;
  const progress = setInterval(() => {
    report(`kube-assets: ${name}: ${downloads} modules downloaded, ${compiled} packages compiled, ${elapsed()}`);
  }, progressIntervalMs);
  try {
    const lines: string[] = [];
    const code = await goBuild(unfinished, packages[name], environment, (line) => {
      if (line.startsWith("go: downloading ")) downloads++;
      else if (/^[\w./-]+$/.test(line)) compiled++;
      else if (lines.push(line) > errorLinesMax) lines.shift();
    });
    if (code !== 0) throw new KubeAssetsError(`go build of ${name} failed (${code}):\n${lines.join("\n")}`);
    renameSync(unfinished, destination);
    report(`kube-assets: ${name} built in ${elapsed()} (${compiled} packages)`);
    return destination;
  } finally {
    clearInterval(progress);
    rmSync(unfinished, { force: true });
  }
}

/**
 * Resolves to the exit code or the signal's name; `onLine` receives what go writes to stderr (-v names each compiled
 * package).
 */
function goBuild(
  output: string,
  goPackage: string,
  environment: NodeJS.ProcessEnv,
  onLine: (line: string) => void,
): Promise<number | string> {
  const child = spawn("go", ["build", "-v", ...buildFlags, "-o", output, goPackage], {
    cwd: moduleDirectory,
    env: { ...environment, CGO_ENABLED: "0", GOWORK: "off" },
    stdio: ["ignore", "ignore", "pipe"],
    timeout: buildLimitMs,
  });
  // The terminal sends Ctrl-C to go as well; a signal to this process alone is passed on.
  const stop = (): void => void child.kill("SIGTERM");
  process.once("SIGTERM", stop);
  let rest = "";
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) onLine(line);
  });
  return new Promise<number | string>((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code, signal) => resolve(code ?? signal ?? "no exit code"));
  }).finally(() => process.off("SIGTERM", stop));
}

if (import.meta.main) {
  try {
    const assets = await resolveKubeAssets((line) => console.error(line));
    for (const name of kubeAssetNames) console.log(`${name} ${assets[name]}`);
  } catch (error) {
    if (!(error instanceof KubeAssetsError)) throw error;
    console.error(`kube-assets: ${error.message}`);
    process.exitCode = 1;
  }
}
