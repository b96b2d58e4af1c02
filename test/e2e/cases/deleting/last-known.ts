/**
 * --webhook-core-unavailable-policy=last-known: the core's API server is killed, and deletions go on within the quota
 * that was known last.
 */
import assert from "node:assert/strict";
import { type DeletionAttempt, deletionFigures } from "../../objects/deletions.ts";
import { deleteEverywhere, startProtectedPods } from "../../loads/protected-pods.ts";
import { type Fleet } from "../../fleet/fleet.ts";
import { type CaseContext, e2eCases, type Figures } from "../../runner/runner.ts";
import { present, second, waitFor } from "../../clusters/wait.ts";

const replicas = 2;
const podsPerCell = 10;
const floor = 12;
/** 20 pods over a floor of 12. */
const quota = 2 * podsPerCell - floor;
/** Above the 3 s of failed writes after which a replica admits on the last known quota. */
const admitLimitMs = 30 * second;

export const lastKnownCases = e2eCases({
  "last-known: without the core's API server deletions pass within the last quota and are recorded later": [
    180 * second,
    coreGone,
  ],
});

async function coreGone(context: CaseContext): Promise<Figures> {
  const { fleet, available, names } = await startProtectedPods(context, {
    podsPerCell,
    floor,
    webhookReplicas: replicas,
    generator: false,
    webhookArgs: ["--webhook-core-unavailable-policy=last-known", `--webhook-core-unavailable-replicas=${replicas}`],
  });
  const { core } = fleet;
  const wave = (): Promise<readonly DeletionAttempt[]> =>
    deleteEverywhere(fleet, { names, inFlightPerCell: podsPerCell });

  await showWrite(context, fleet);
  await core.killApiServer();
  const attempts: DeletionAttempt[] = [];
  const goneMs = performance.now();
  const admittedMs = await waitFor("the last known quota is used up", admitLimitMs, async () => {
    attempts.push(...(await wave()));
    // Each replica admits its share; which of them a connection leads to is chance.
    return available.serving === floor && Math.round(performance.now() - goneMs);
  });
  const beyond = await wave();
  // A pod that the kubelet has not ended yet may be deleted once more; what counts is that no other one goes.
  const refusal = present(beyond.find(({ code }) => code === 429));
  context.say(refusal.message);
  assert.equal(available.minimum, floor, "admitted beyond the last known quota");
  const admitted = await fleet.webhookCount("webhook_last_known_admission_total");
  assert.equal(admitted, quota);

  await core.startApiServer();
  const backMs = performance.now();
  await fleet.waitCounted("web", floor);
  await fleet.waitSettled("web", 60 * second);
  const settledMs = Math.round(performance.now() - backMs);
  const { status } = await fleet.protector("web");
  assert.equal(status?.summary.estimatedAvailableReplicas, floor);
  assert.equal(deletionFigures(await wave()).deleted, 0);
  assert.equal(available.serving, floor);
  assert.equal(available.minimum, floor);
  return { deleted: deletionFigures(attempts).deleted, admitted, admittedMs, settledMs, left: available.serving };
}

/** A replica admits on the last known quota only when it has seen the core take a write since it started. */
async function showWrite(context: CaseContext, fleet: Fleet): Promise<void> {
  // The watch may be faster than the answer.
  const sentMs = performance.now();
  await fleet.core.admin.mergePatch(fleet.protectorPath("web"), { metadata: { annotations: { "e2e/write": "1" } } });
  await fleet.waitHeard(() => performance.now() - sentMs, 30 * second);
  context.say("each webhook has seen a write of the core");
}
