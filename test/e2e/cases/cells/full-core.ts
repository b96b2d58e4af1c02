/**
 * The core's etcd is full: it answers reads and takes no writes, so nobody can beat, mark or record. One cause silences
 * all who would be heard, and says nothing of any of them (docs/accounting.md#silent-cells).
 */
import assert from "node:assert/strict";
import { setTimeout as delay } from "node:timers/promises";
import { cellStateOf, silenceArgs, waitBeats, waitCellState } from "../../fleet/cell-states.ts";
import { type Worker } from "../../fleet/fleet.ts";
import { type PodseidonProcess } from "../../fleet/process.ts";
import { deleteEverywhere, startProtectedPods } from "../../loads/protected-pods.ts";
import { deleteNow, type DeletionAttempt, deletionFigures } from "../../objects/deletions.ts";
import { OnCall } from "../../installed/on-call.ts";
import { type CaseContext, e2eCases, type Figures } from "../../runner/runner.ts";
import { present, second, waitFor } from "../../clusters/wait.ts";

const silentAfterMs = 12 * second;
/** Every cell that no write vouches for would be silent long before. */
const fullMs = 2 * silentAfterMs;
const soonMs = 60 * second;
const replicas = 2;
const podsPerCell = 8;
/** Of what is free, some goes before anybody could be silent. */
const floor = 8;
const early = 2;

export const fullCoreCases = e2eCases({
  "full core: its etcd takes no writes and is read: nobody is silent, the last quota is used, refusals name the core": [
    240 * second,
    etcdIsFull,
  ],
});

async function etcdIsFull(context: CaseContext): Promise<Figures> {
  const lastKnown = ["--webhook-core-unavailable-policy=last-known"];
  const { fleet, available, names } = await startProtectedPods(context, {
    core: "full",
    podsPerCell,
    floor,
    webhookReplicas: replicas,
    commonArgs: silenceArgs(silentAfterMs),
    webhookArgs: [...lastKnown, `--webhook-core-unavailable-replicas=${replicas}`],
  });
  const { core, workers, webhooks, namespace } = fleet;
  const { admin } = present(workers[0]).cluster;
  const observers = [...webhooks, present(fleet.generator)];
  for (const { cell } of workers) {
    await waitBeats(fleet, cell, 2, soonMs);
    await waitCellState(observers, cell, "beating", soonMs);
  }
  await fleet.waitWriteSeen("web");
  // The same as `webhooks`, but for what it does when the core takes no writes.
  const strict = await present(webhooks[0]).startAnother("webhook-strict", soonMs, [
    "--webhook-core-unavailable-policy=refuse",
  ]);
  await waitCellState([strict], present(workers[0]).cell, "beating", soonMs);

  const onCall = await OnCall.begin(context, core, namespace, ["look.yaml"]);

  await core.etcd.fill();
  context.cleanup(() => core.etcd.empty());
  const sinceMs = performance.now();
  const isAdmitted = async (name: string): Promise<boolean> => (await deleteNow(admin, namespace, name)).code === 200;
  for (const name of names.slice(0, early)) await waitFor(`${name} may go`, soonMs, () => isAdmitted(name));
  await delay(fullMs - (performance.now() - sinceMs), undefined, { signal: context.signal });
  const attempts: DeletionAttempt[] = [];
  const wave = (): Promise<readonly DeletionAttempt[]> =>
    deleteEverywhere(fleet, { names, inFlightPerCell: podsPerCell });
  await waitFor("the last known quota is used up", soonMs, async () => {
    attempts.push(...(await wave()));
    return available.serving === floor;
  });
  assertNamesCore(context, attempts);
  const balancer = present(fleet.balancer);
  balancer.setTargets([strict.ports.webhook]);
  balancer.cut(); // API servers keep their connections
  balancer.heal();
  // An API server that has waited for its own time limit names nothing; it takes a busy machine.
  const refused = await waitFor("the strict replica refuses", soonMs, async () => {
    const answers = (await wave()).filter(({ message }) => !message.includes("failed calling webhook"));
    return answers.some(({ code }) => code !== 404) && answers;
  });
  assertNamesCore(context, refused);
  balancer.setTargets(webhooks.map(({ ports }) => ports.webhook));
  assert.equal(available.minimum, floor);
  await assertNobodySilent(workers, [...observers, strict]);
  const { stdout } = await onCall.run("status", "-n", namespace, `--cell-lease-namespace=${namespace}`);
  context.say(stdout);
  assert.match(stdout, /takes no writes/);
  assert.doesNotMatch(stdout, /silent/);

  await core.etcd.empty();
  const backMs = performance.now();
  await fleet.waitCounted("web", floor);
  await fleet.waitSettled("web", soonMs);
  const settledMs = Math.round(performance.now() - backMs);
  for (const { cell } of workers) await waitBeats(fleet, cell, 2, soonMs);
  await assertNobodySilent(workers, [...observers, strict]);
  assert.equal(deletionFigures(await wave()).deleted, 0);
  assert.equal(available.minimum, floor);
  return {
    lastKnown: await fleet.webhookCount("webhook_last_known_admission_total"),
    settledMs,
    left: available.serving,
  };
}

/** What is not admitted is refused for the core's sake: nobody is sent to the cells. */
function assertNamesCore(context: CaseContext, attempts: readonly DeletionAttempt[]): void {
  const refusals = attempts.filter(({ code }) => code !== 200 && code !== 404);
  context.say(present(refusals.at(-1)).message);
  for (const { message } of refusals) {
    assert.match(message, /takes no writes|has taken no write/);
    assert.doesNotMatch(message, /is silent|nothing has been heard|not heard|check the aggregator/i);
  }
}

async function assertNobodySilent(workers: readonly Worker[], observers: readonly PodseidonProcess[]): Promise<void> {
  for (const observer of observers) {
    const { name } = observer.process;
    for (const { cell } of workers)
      assert.notEqual(await cellStateOf(observer, cell), "silent", `${cell}, for ${name}`);
    assert.doesNotMatch(observer.process.log(), /Cell is silent/, name);
  }
}
