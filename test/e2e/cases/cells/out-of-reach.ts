/**
 * A webhook and a standby generator are cut off from the core while a Deployment is deleted and its PodProtector is
 * released in good order. When they are back, the history in which they would have seen it is gone, and the release is
 * an old one (docs/generator.md#when-a-podprotector-is-gone).
 */
import assert from "node:assert/strict";
import { setTimeout as delay } from "node:timers/promises";
import { generatorStateName, releasedKey } from "../../../../src/kube/generator-state.ts";
import { type KubeObject } from "../../clusters/admin-client.ts";
import { accountUser } from "../../clusters/role-accounts.ts";
import { present, second, waitFor } from "../../clusters/wait.ts";
import { type Fleet, proxyUrl, startFleet } from "../../fleet/fleet.ts";
import { createPausedDeployment } from "../../fleet/signs-of-work.ts";
import { deploymentsPath, protectorOf } from "../../loads/workloads.ts";
import { deleteNow } from "../../objects/deletions.ts";
import { eventMessage } from "../../objects/events.ts";
import { startKubelet } from "../../objects/kubelet.ts";
import { createPods } from "../../objects/pods.ts";
import { type CaseContext, e2eCases, type Figures } from "../../runner/runner.ts";

const soonMs = 60 * second;
/** Of a Deployment of signs-of-work.ts. */
const replicas = 4;
/** Longer ago than any time that the list of releases ever had. */
const ageMs = 26 * 3_600 * second;
/** A leader looks every 15 s at what has vanished. */
const looksMs = 20 * second;

export const outOfReachCases = e2eCases({
  "out of reach: what was released while a webhook and a standby were cut off is let go, and not made again": [
    240 * second,
    cutOff,
  ],
});

async function cutOff(context: CaseContext): Promise<Figures> {
  const fleet = await startFleet(context, { workers: ["worker-1"], webhookReplicas: 1, laggingWebhook: true });
  const { core, namespace } = fleet;
  const { admin } = present(fleet.workers[0]).cluster;
  const proxy = present(fleet.coreProxy);
  const leader = present(fleet.generator);
  const account = core.kubeconfigPath(accountUser("podseidon-generator"), proxyUrl(proxy));
  const standby = await leader.startAnother("generator-standby", soonMs, [`--core-kube-config=${account}`]);
  const kubelet = startKubelet({ admin, namespace, readyDelayMs: "never" });
  context.cleanup(() => kubelet.stop());
  const pods = new Map<string, readonly string[]>();
  for (const name of ["released", "later", "kept"]) {
    await createPausedDeployment(fleet, name);
    pods.set(name, await createPods(admin, { namespace, count: replicas, namePrefix: name, labels: { app: name } }));
    await waitFor(`${name} is protected`, soonMs, () => fleet.protector(protectorOf(name)));
    await fleet.waitCounted(protectorOf(name), replicas);
  }
  await fleet.waitIntercepted();
  await fleet.waitWriteSeen(protectorOf("kept"), [...fleet.webhooks, standby]);

  proxy.cut();
  await release(fleet, "released");
  await age(fleet);
  await release(fleet, "later"); // the list is written once more
  await core.restartApiServer(); // watches of before cannot go on
  proxy.heal();
  const healedMs = performance.now();
  const released = [...(pods.get("released") ?? []), ...(pods.get("later") ?? [])];
  for (const name of released) {
    await waitFor(`${name} may go`, soonMs, async () => (await deleteNow(admin, namespace, name)).code === 200);
  }
  const releasedMs = Math.round(performance.now() - healedMs);
  const kept = pods.get("kept") ?? [];
  const codes: number[] = [];
  for (const name of kept) codes.push((await deleteNow(admin, namespace, name)).code);
  assert.deepEqual(codes, [200, 429, 429, 429], "what is not released is in force");

  await leader.kill();
  await createPausedDeployment(fleet, "after");
  await waitFor("the standby leads, and protects a Deployment", soonMs, () => fleet.protector(protectorOf("after")));
  await delay(looksMs, undefined, { signal: context.signal });
  for (const name of ["released", "later"]) {
    const { code } = await core.admin.request("GET", fleet.protectorPath(protectorOf(name)));
    assert.equal(code, 404, `${protectorOf(name)} was made again`);
  }
  assert.equal(await eventMessage(core.admin, { namespace, reason: "Recreated" }), undefined);
  return { releasedMs };
}

/** The Deployment is deleted, and its PodProtector goes in good order. */
async function release(fleet: Fleet, name: string): Promise<void> {
  const { admin } = fleet.core;
  await admin.remove(`${deploymentsPath(fleet)}/${name}`);
  await waitFor(`${name} is released`, soonMs, async () => {
    return (await admin.request("GET", fleet.protectorPath(protectorOf(name)))).code === 404;
  });
}

/** The releases of the list are a day older: nobody can wait for that here. */
async function age({ core, namespace }: Fleet): Promise<void> {
  const path = `/api/v1/namespaces/${namespace}/configmaps/${generatorStateName}`;
  const { data = {} } = await core.admin.get<KubeObject & { readonly data?: Readonly<Record<string, string>> }>(path);
  const list = JSON.parse(data[releasedKey] ?? "[]") as readonly (readonly unknown[])[];
  assert.equal(list.length, 1);
  const aged = list.map(([digest, time, ...rest]) => {
    return [digest, new Date(Date.parse(String(time)) - ageMs).toISOString(), ...rest];
  });
  await core.admin.mergePatch(path, { data: { [releasedKey]: JSON.stringify(aged) } });
}
