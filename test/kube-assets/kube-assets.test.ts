/** scripts/kube-assets.ts: where programs are taken from. Nothing is built here; `make e2e` does that. */
import assert from "node:assert/strict";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { after, test } from "node:test";
import {
  assetsCacheDirectory,
  KubeAssetsError,
  kubeAssetNames,
  kubernetesVersion,
  resolveKubeAssets,
} from "../../scripts/kube-assets.ts";

const temporary = mkdtempSync(path.join(os.tmpdir(), "kube-assets-"));
after(() => rmSync(temporary, { recursive: true }));

function programs(directory: string, names: readonly string[]): string {
  mkdirSync(directory, { recursive: true });
  for (const name of names) {
    writeFileSync(path.join(directory, name), "");
    chmodSync(path.join(directory, name), 0o755);
  }
  return directory;
}

/** An environment without Go, with a cache of its own. */
function environment(name: string): NodeJS.ProcessEnv {
  return { PATH: path.join(temporary, "no-programs"), XDG_CACHE_HOME: path.join(temporary, name) };
}

test("KUBEBUILDER_ASSETS comes first, the cache supplies what it lacks", async () => {
  const given = programs(path.join(temporary, "given"), ["etcd", "kube-apiserver", "kubectl"]);
  const env = { ...environment("mixed"), KUBEBUILDER_ASSETS: given };
  const cache = programs(assetsCacheDirectory(env), kubeAssetNames);
  const lines: string[] = [];
  const assets = await resolveKubeAssets((line) => lines.push(line), kubeAssetNames, env);
  assert.equal(assets["kube-apiserver"], path.join(given, "kube-apiserver"));
  assert.equal(assets["kube-scheduler"], path.join(cache, "kube-scheduler"));
  assert.equal(lines.length, 2);
  assert.match(lines[0] ?? "", /kube-apiserver.* from KUBEBUILDER_ASSETS/);
  assert.match(lines[1] ?? "", /kube-controller-manager, kube-scheduler from the cache/);
});

test("a file that is not executable is not taken", async () => {
  const env = environment("not-executable");
  const cache = programs(assetsCacheDirectory(env), kubeAssetNames);
  chmodSync(path.join(cache, "etcd"), 0o644);
  await assert.rejects(
    resolveKubeAssets(() => undefined, ["etcd"], env),
    KubeAssetsError,
  );
});

test("without programs and without Go it says what is missing and what to install", async () => {
  const failure = resolveKubeAssets(() => undefined, ["etcd", "kubectl"], environment("empty"));
  await assert.rejects(failure, /cannot find etcd, kubectl, and go is not installed\. Install Go .*KUBEBUILDER_ASSETS/);
});

test("a Go that is too old is named", async () => {
  const bin = path.join(temporary, "old-go");
  mkdirSync(bin);
  writeFileSync(path.join(bin, "go"), "#!/bin/sh\necho go1.19.8\n", { mode: 0o755 });
  const env = { ...environment("old"), PATH: bin };
  await assert.rejects(
    resolveKubeAssets(() => undefined, ["etcd"], env),
    /go is too old: go1\.19\.8/,
  );
});

test("a failed build shows what go said and leaves nothing in the cache", async () => {
  const bin = path.join(temporary, "failing-go");
  mkdirSync(bin);
  const script = '#!/bin/sh\nif [ "$1" = env ]; then echo go1.26.0; else echo "broken: no room" >&2; exit 1; fi\n';
  writeFileSync(path.join(bin, "go"), script, { mode: 0o755 });
  const env = { ...environment("failing"), PATH: bin };
  await assert.rejects(
    resolveKubeAssets(() => undefined, ["etcd"], env),
    /go build of etcd failed \(1\):\nbroken: no room/,
  );
  await assert.rejects(
    resolveKubeAssets(() => undefined, ["etcd"], { ...env, PATH: "" }),
    /cannot find etcd/,
  );
});

test("only what is missing is built, and the next time it comes from the cache", async () => {
  const bin = path.join(temporary, "working-go");
  mkdirSync(bin);
  const log = path.join(temporary, "built");
  const script = `#!/bin/sh
if [ "$1" = env ]; then echo go1.26.0; exit; fi
while [ "$1" != -o ]; do shift; done
echo "$3" >> ${log}
: > "$2" && /bin/chmod 755 "$2"
`;
  writeFileSync(path.join(bin, "go"), script, { mode: 0o755 });
  const env = { ...environment("working"), PATH: bin };
  programs(assetsCacheDirectory(env), ["etcd"]);
  const assets = await resolveKubeAssets(() => undefined, ["etcd", "kubectl"], env);
  assert.equal(readFileSync(log, "utf8"), "k8s.io/kubernetes/cmd/kubectl\n");
  const again = await resolveKubeAssets(() => undefined, ["etcd", "kubectl"], { ...env, PATH: "" });
  assert.deepEqual(again, assets);
});

test("go.mod pins the release that the script announces, and every staging module of it", () => {
  const goMod = readFileSync(new URL("go.mod", import.meta.url), "utf8");
  assert.match(goMod, new RegExp(`k8s\\.io/kubernetes v${kubernetesVersion.replaceAll(".", "\\.")}\\b`));
  const staging = [...goMod.matchAll(/=> (\S+) v(\S+)$/gm)];
  assert.ok(staging.length >= 31);
  for (const [, name, version] of staging) assert.equal(version, kubernetesVersion.replace("1.", "0."), name ?? "");
});
