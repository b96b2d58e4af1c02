/**
 * Nodes whose clocks are ahead, as after a power cut or with a hardware clock in local time: their pods are Ready at a
 * time that has not come, which makes nobody too young (docs/accounting.md).
 */
import assert from "node:assert/strict";
import { startFleet } from "../../fleet/fleet.ts";
import { AvailableWatch } from "../../loads/available.ts";
import { webLabels } from "../../loads/protected-pods.ts";
import { deletePods } from "../../objects/deletions.ts";
import { startKubelet } from "../../objects/kubelet.ts";
import { createPods, setPodReady } from "../../objects/pods.ts";
import { type CaseContext, e2eCases, type Figures } from "../../runner/runner.ts";
import { second, waitFor } from "../../clusters/wait.ts";

const replicas = 4;
const floor = 3;
const minReadySeconds = 10;
/** A hardware clock in local time, and one that was set by hand. */
const aheadMs = [8 * 3_600 * second, 300 * second] as const;

export const nodeClockCases = e2eCases({
  "clocks: pods that are Ready by clocks which are ahead count when they have been so, and keep the floor": [
    180 * second,
    clocksAhead,
  ],
});

async function clocksAhead(context: CaseContext): Promise<Figures> {
  const fleet = await startFleet(context, { workers: ["worker-1"], webhookReplicas: 1, generator: false });
  const { namespace } = fleet;
  const { admin } = await context.cluster("worker-1");
  const names = await createPods(admin, { namespace, count: replicas, namePrefix: "web", labels: webLabels });
  const kubelet = startKubelet({ admin, namespace, readyDelayMs: "never" });
  context.cleanup(() => kubelet.stop());
  const available = new AvailableWatch(context, fleet, "app=web");
  await available.begin(replicas);
  await fleet.protect("web", webLabels, floor, replicas, { minReadySeconds });
  await fleet.waitIntercepted();
  let left = names;
  for (const ahead of aheadMs) {
    const at = new Date(Date.now() + ahead).toISOString();
    for (const name of left) await setPodReady(admin, { namespace, name }, { at });
    // So long they would be too young by their own time, and do not count.
    const overMs = performance.now() + 2 * minReadySeconds * second;
    await waitFor("they have been Ready for long enough", 60 * second, () => performance.now() > overMs);
    await fleet.waitCounted("web", left.length);
    const attempts = await deletePods(admin, { namespace, names: left, concurrency: replicas, how: "delete" });
    const kept = left.filter((_, index) => attempts[index]?.code !== 200);
    assert.equal(kept.length, floor, attempts.map(({ message }) => message).join("\n"));
    await waitFor("what the floor allows is gone", 30 * second, () => available.serving === floor);
    left = kept;
  }
  assert.equal(available.minimum, floor);
  return { left: left.length };
}
