/** Clusters that go away and come back: the roles go on by themselves. */
import assert from "node:assert/strict";
import { setTimeout as delay } from "node:timers/promises";
import { deleteNow } from "../../objects/deletions.ts";
import { type Fleet } from "../../fleet/fleet.ts";
import { startProtectedPods } from "../../loads/protected-pods.ts";
import { type CaseContext, e2eCases, type Figures } from "../../runner/runner.ts";
import { present, second, waitFor } from "../../clusters/wait.ts";

/** From the moment when the API server is ready again: backoffs of watches and leases are below this. */
const recoveryLimitMs = 45 * second;

/** Longer than a healthy write takes by far, shorter than a review may wait. */
const etcdPauseMs = 3 * second;

export const recoveryCases = e2eCases({
  "recovery: API servers restart and the core's etcd hangs: all roles recover by themselves": [180 * second, restarts],
});

async function restarts(context: CaseContext): Promise<Figures> {
  const podsPerCell = 10;
  const { fleet, available, names } = await startProtectedPods(context, { podsPerCell, floor: 10 });
  const { core, namespace, workers } = fleet;
  const worker = present(workers[0]);
  const waiting = [...names];
  let counted = workers.length * podsPerCell;

  const remove = async (): Promise<number> => {
    const { code } = await deleteNow(worker.cluster.admin, namespace, waiting.shift() ?? "");
    if (code === 200) counted--;
    return code;
  };
  /** Everything is ready, a deletion is admitted, seen and settled. Resolves to how long that took. */
  const recovered = async (): Promise<number> => {
    const startMs = performance.now();
    await waitReady(fleet);
    const removedMs = performance.now();
    assert.equal(await remove(), 200);
    await fleet.waitCounted("web", counted, recoveryLimitMs);
    await fleet.waitSettled("web", recoveryLimitMs);
    // A replica whose list is still to come refuses by what it knew before.
    await fleet.waitHeard(() => performance.now() - removedMs, recoveryLimitMs);
    assert.equal(available.serving, counted);
    return Math.round(performance.now() - startMs);
  };

  await core.restartApiServer();
  const coreMs = await recovered();
  await worker.cluster.restartApiServer();
  await waitFor("the test's watch is back", recoveryLimitMs, () => available.serving === counted);
  const workerMs = await recovered();

  core.pauseEtcd();
  context.cleanup(() => core.resumeEtcd());
  const late = remove();
  await waitFor("a webhook waits for the core", 5 * second, async () => {
    return (await fleet.webhookCount("retrybatch_inflight_keys")) > 0;
  });
  assert.equal(await Promise.race([late, delay(etcdPauseMs, "waits")]), "waits", "admitted without a record");
  core.resumeEtcd();
  const lateCode = await late;
  const etcdMs = await recovered();
  return { coreMs, workerMs, etcdMs, lateCode, left: available.serving };
}

async function waitReady(fleet: Fleet): Promise<void> {
  const roles = [...fleet.webhooks, ...fleet.aggregators, ...(fleet.generator === undefined ? [] : [fleet.generator])];
  await Promise.all(roles.map((role) => role.waitReady(recoveryLimitMs)));
}
