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
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { buildGoProgram, cacheRoot, goMinorMin, goProblem, isExecutable } from "./go/go-program.ts";

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

/**
 * `$XDG_CACHE_HOME/podseidon/kube-assets/<version>-<hash>`. The hash covers everything that decides what is built, so
 * that a cache is never stale.
 */
export function assetsCacheDirectory(environment: NodeJS.ProcessEnv): string {
  const hash = createHash("sha256").update(JSON.stringify([process.platform, process.arch, buildFlags]));
  for (const file of ["go.mod", "go.sum"]) hash.update(readFileSync(path.join(moduleDirectory, file)));
  return path.join(cacheRoot(environment), "kube-assets", `${kubernetesVersion}-${hash.digest("hex").slice(0, 12)}`);
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
    for (const name of missing) found.set(name, await build(name, cache, report, environment));
  }
  return Object.fromEntries(found) as KubeAssets;
}

function requireGo(missing: readonly KubeAsset[], environment: NodeJS.ProcessEnv): void {
  const problem = goProblem(environment);
  if (problem === undefined) return;
  throw new KubeAssetsError(
    `cannot find ${missing.join(", ")}, and ${problem}. ` +
      `Install Go 1.26 or newer (1.${goMinorMin} downloads it), ` +
      "or set KUBEBUILDER_ASSETS to a directory with " +
      `${kubeAssetNames.join(", ")} of Kubernetes ${kubernetesVersion}.`,
  );
}

async function build(
  name: KubeAsset,
  directory: string,
  report: (line: string) => void,
  environment: NodeJS.ProcessEnv,
): Promise<string> {
  const program = { title: "kube-assets", name, goPackage: packages[name], moduleDirectory, flags: buildFlags };
  const built = await buildGoProgram(program, directory, report, environment);
  if ("failure" in built) throw new KubeAssetsError(built.failure);
  return built.file;
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
