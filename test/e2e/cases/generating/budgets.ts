/**
 * PodDisruptionBudgets as sources: what guards evictions alone by itself guards direct deletions as well, and what
 * people do every day still passes.
 */
import assert from "node:assert/strict";
import { AvailableWatch } from "../../loads/available.ts";
import { deletePods } from "../../objects/deletions.ts";
import { type Fleet, startFleet } from "../../fleet/fleet.ts";
import { startKubelet } from "../../objects/kubelet.ts";
import { isServing, listPods } from "../../objects/pods.ts";
import { type CaseContext, e2eCases, type Figures } from "../../runner/runner.ts";
import { second, waitFor } from "../../clusters/wait.ts";
import { deploymentManifest, deploymentsPath } from "../../loads/workloads.ts";

const replicas = 8;
/** 70 % of eight, rounded up. */
const floor = 6;
const protectorName = "poddisruptionbudget-guarded";

export const budgetCases = e2eCases({
  "budget: a PodDisruptionBudget guards direct deletions too, and goes with its end": [240 * second, run],
});

async function run(context: CaseContext): Promise<Figures> {
  const sources = "--generator-sources=poddisruptionbudgets.policy";
  const fleet = await startFleet(context, { workers: ["core"], generatorArgs: [sources] });
  const { core, namespace } = fleet;
  const { admin } = core;
  let kubelet = startKubelet({ admin, namespace, bindTo: "node-0" });
  context.cleanup(() => kubelet.stop());
  for (const name of ["alone", "guarded"]) {
    await admin.create(deploymentsPath(fleet), deploymentManifest(name, replicas));
    await admin.create(budgetsPath(fleet), budget(name));
  }
  const guarded = new AvailableWatch(context, fleet, "workload=guarded");
  await guarded.begin(replicas);
  await waitServing(fleet, "alone");
  await waitFor(`the floor is ${floor}`, 30 * second, async () => {
    const { code } = await admin.request("GET", fleet.protectorPath(protectorName));
    return code === 200 && (await fleet.protector(protectorName)).spec.minAvailable === floor;
  });
  await fleet.waitCounted(protectorName, replicas);
  await fleet.waitIntercepted();

  // The budget alone refuses evictions, and lets every deletion pass. Replacements that become Ready meanwhile would
  // let the API server, which tries again for some seconds, carry out all of them.
  await kubelet.stop();
  kubelet = startKubelet({ admin, namespace, bindTo: "node-0", readyDelayMs: "never" });
  const evicted = await deleteAll(fleet, "alone", "evict");
  assert.ok(evicted.refused > 0, "the budget refuses evictions");
  await kubelet.stop();
  kubelet = startKubelet({ admin, namespace, bindTo: "node-0" });
  await waitServing(fleet, "alone");
  const alone = await deleteAll(fleet, "alone", "delete");
  assert.equal(alone.refused, 0, "and no deletion");

  // A deletion is held for a moment, and replacements that become Ready meanwhile would make room for it.
  await kubelet.stop();
  kubelet = startKubelet({ admin, namespace, bindTo: "node-0", readyDelayMs: "never" });
  const imported = await deleteAll(fleet, "guarded", "delete");
  assert.ok(imported.refused >= floor - 1, `${imported.refused} were refused`);
  assert.ok(imported.messages.every((message) => message.includes(`${namespace}/${protectorName}`)));
  assert.ok(guarded.minimum >= floor, `${guarded.minimum} served`);
  const lowest = guarded.minimum;
  await kubelet.stop();
  kubelet = startKubelet({ admin, namespace, bindTo: "node-0" });

  // Scaled down, the workload wants less, and the floor follows it.
  await waitServing(fleet, "guarded");
  await admin.mergePatch(`${deploymentsPath(fleet)}/guarded`, { spec: { replicas: 2 } });
  await waitFor("two pods serve", 60 * second, () => guarded.serving === 2);
  assert.equal((await fleet.protector(protectorName)).spec.minAvailable, 2);

  await admin.remove(`${budgetsPath(fleet)}/guarded`);
  await waitFor("the PodProtector is gone", 30 * second, async () => {
    return (await admin.request("GET", fleet.protectorPath(protectorName))).code === 404;
  });
  return { evictionsRefusedAlone: evicted.refused, refused: imported.refused, lowest };
}

function budgetsPath({ namespace }: Fleet): string {
  return `/apis/policy/v1/namespaces/${namespace}/poddisruptionbudgets`;
}

/** "alone" is opted out: it has no PodProtector. */
function budget(name: string): unknown {
  const annotations = name === "alone" ? { "podseidon.kubewharf.io/protect": "false" } : {};
  return {
    apiVersion: "policy/v1",
    kind: "PodDisruptionBudget",
    metadata: { name, annotations },
    spec: { minAvailable: "70%", selector: { matchLabels: { workload: name } } },
  };
}

/** All pods of a workload at once. */
async function deleteAll(
  { core, namespace }: Fleet,
  workload: string,
  how: "delete" | "evict",
): Promise<{ readonly refused: number; readonly messages: readonly string[] }> {
  const names = (await listPods(core.admin, namespace, `workload=${workload}`)).map(({ metadata }) => metadata.name);
  const attempts = await deletePods(core.admin, {
    namespace,
    names,
    concurrency: replicas,
    how,
    gracePeriodSeconds: 0,
  });
  const refused = attempts.filter(({ code }) => code === 429);
  return { refused: refused.length, messages: refused.map(({ message }) => message) };
}

async function waitServing({ core, namespace }: Fleet, workload: string): Promise<void> {
  await waitFor(`${replicas} pods of ${workload} serve`, 60 * second, async () => {
    const found = await listPods(core.admin, namespace, `workload=${workload}`);
    return found.filter(isServing).length === replicas;
  });
}
