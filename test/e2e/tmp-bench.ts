import { resolveKubeAssets } from "../../scripts/kube-assets.ts";
import { ProcessSet } from "./child-processes.ts";
import { startCluster } from "./cluster.ts";
import { createNamespace, createPods } from "./pods.ts";
import { deletePods, deletionFigures } from "./deletions.ts";
const processes = new ProcessSet();
process.once("exit", () => processes.killAll());
const c = await startCluster({ name: "bench" }, { assets: await resolveKubeAssets(console.log), processes, directory: "/tmp/e2e-build/bench" });
await createNamespace(c.admin, "b");
console.log("MB", c.memoryBytes() / 1e6);
for (const [concurrency, grace] of [[1, 0], [8, 0], [32, 0], [96, 0], [96, 0], [96, 30]] as const) {
  let t = performance.now();
  const names = await createPods(c.admin, { namespace: "b", count: 600, namePrefix: `p${concurrency}-${Math.round(t)}`, labels: { a: "b" } });
  const create = performance.now() - t; t = performance.now();
  const cpu = process.cpuUsage();
  const r = await deletePods(c.admin, { namespace: "b", names, concurrency, how: "delete", gracePeriodSeconds: grace });
  const used = process.cpuUsage(cpu);
  console.log(concurrency, grace, "create", Math.round(create), "delete/s", Math.round(600 / (performance.now() - t) * 1000), "client cpu ms", Math.round((used.user+used.system)/1000), deletionFigures(r));
}
console.log("MB", c.memoryBytes() / 1e6);
await c.stop(); process.exit(0);
