/**
 * Writes captured.json anew: what a real API server sends in protobuf, beside its JSON. Needs etcd and kube-apiserver,
 * which are built as for `make e2e`. Run it after a change of test/e2e/objects/protobuf-exchanges.ts or of
 * the version of Kubernetes, then `make fmt`: node scripts/n.mjs test/unit/kube/protobuf/capture.ts
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { kubernetesVersion, resolveKubeAssets } from "../../../../scripts/kube-assets.ts";
import { ProcessSet } from "../../../../scripts/child-processes.ts";
import { startCluster } from "../../../e2e/clusters/cluster.ts";
import { createNamespace } from "../../../e2e/objects/pods.ts";
import { createVariedPods, exchangePods } from "../../../e2e/objects/protobuf-exchanges.ts";
import { compareExchange } from "./exchange.ts";

const namespace = "captured";
const assets = await resolveKubeAssets(console.log);
const directory = mkdtempSync(path.join(os.tmpdir(), "podseidon-capture-"));
const processes = new ProcessSet();
process.once("exit", () => processes.killAll());
try {
  const cluster = await startCluster({ name: "capture" }, { assets, processes, directory });
  await createNamespace(cluster.admin, namespace);
  const before = await createVariedPods(cluster, namespace);
  const exchanges = await exchangePods(cluster, namespace, before);
  for (const exchange of exchanges) await compareExchange(exchange);
  const file = path.join(import.meta.dirname, "captured.json");
  writeFileSync(file, `${JSON.stringify({ kubernetesVersion, exchanges }, undefined, 2)}\n`);
  console.log(`${exchanges.length} exchanges with Kubernetes ${kubernetesVersion}`);
  await cluster.stop();
} finally {
  await processes.end();
  rmSync(directory, { recursive: true, force: true });
}
