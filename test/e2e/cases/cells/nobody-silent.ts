/**
 * Disturbances that must not make a cell silent: the core's API server is away for longer than the time after which
 * cells are silent, all roles restart at once as in an upgrade, and one namespace's objects cannot be written.
 */
import assert from "node:assert/strict";
import { setTimeout as delay } from "node:timers/promises";
import { type AdminClient } from "../../clusters/admin-client.ts";
import { cellStateOf, scaledMs, silenceArgs, waitBeats, waitCellState } from "../../fleet/cell-states.ts";
import { deleteNow } from "../../objects/deletions.ts";
import { Fleet, type Worker } from "../../fleet/fleet.ts";
import { Limiter } from "../../clusters/limiter.ts";
import { createNamespace, createPods } from "../../objects/pods.ts";
import { type PodseidonProcess } from "../../fleet/process.ts";
import { startProtectedPods } from "../../loads/protected-pods.ts";
import { type CaseContext, e2eCases, type Figures } from "../../runner/runner.ts";
import { GiveUp, second, waitFor } from "../../clusters/wait.ts";

/** With the default of --silent-cell-after. */
const outageDefaultMs = 300 * second;
/** For what does not scale, on a busy machine. */
const slackMs = 90 * second;
const deniedCount = 300;
/** Two more than must stay: only their cell, or their status, can be in the way of a deletion. */
const podsBefore = 3;
const createsInFlight = 32;
/** The objects of a group select the same pods: far fewer than a webhook asks about one pod. */
const deniedGroups = 10;
const deniedLabels = (group: number): Readonly<Record<string, string>> => ({ app: "denied", group: String(group) });

export const nobodySilentCases = e2eCases({
  "nobody is silent: after an outage of the core, after all roles restart, beside 300 objects nobody may write": [
    360 * second,
    (context) => disturbances(context, 12 * second),
  ],
  "nobody is silent with default S: after 5 minutes without the core, a restart of all, beside 300 objects": [
    1_800 * second,
    (context) => disturbances(context, 180 * second),
    { isLong: true },
  ],
});

async function disturbances(context: CaseContext, silentAfterMs: number): Promise<Figures> {
  const { fleet, names } = await startProtectedPods(context, {
    podsPerCell: 5,
    floor: 6,
    commonArgs: silenceArgs(silentAfterMs),
  });
  const [first, other] = fleet.workers;
  assert.ok(first !== undefined && other !== undefined);
  // Ends a wait for what is known after a few beats, or when a cell could have fallen silent.
  const soonMs = 2 * silentAfterMs + slackMs;
  const pods = [...names];
  const next = (): string => pods.shift() ?? assert.fail("no pod is left");
  for (const { cell } of fleet.workers) await waitBeats(fleet, cell, 2, soonMs);

  await fleet.core.killApiServer();
  await delay(scaledMs(outageDefaultMs, silentAfterMs));
  await fleet.core.startApiServer();
  const backMs = performance.now();
  await goesOn(fleet, other, next(), soonMs);
  const afterCoreMs = Math.round(performance.now() - backMs);

  const upgradeMs = performance.now();
  await restartAll(fleet);
  await goesOn(fleet, other, next(), soonMs);
  const afterRestartMs = Math.round(performance.now() - upgradeMs);

  const denied = await denyStatus(context, fleet, first, soonMs);
  await goesOn(fleet, other, next(), soonMs);
  for (const observer of observersOf(fleet)) {
    for (const { cell } of fleet.workers) {
      const state = await cellStateOf(observer, cell);
      assert.equal(state, "beating", `${cell} is ${state} for ${observer.process.name}`);
    }
    assert.doesNotMatch(observer.process.log(), /Cell is silent/, observer.process.name);
  }
  return { afterCoreMs, afterRestartMs, ...denied };
}

function observersOf({ webhooks, generator }: Fleet): readonly PodseidonProcess[] {
  return [...webhooks, ...(generator === undefined ? [] : [generator])];
}

/** Both cells are heard by everybody, and a deletion that needs the counts of both is admitted. */
async function goesOn(fleet: Fleet, { cluster }: Worker, name: string, soonMs: number): Promise<void> {
  await Promise.all(observersOf(fleet).map((observer) => observer.waitReady(soonMs)));
  for (const { cell } of fleet.workers) {
    await waitBeats(fleet, cell, 2, soonMs);
    await waitCellState(observersOf(fleet), cell, "beating", soonMs);
  }
  await waitFor(`${name} may be deleted`, soonMs, async () => {
    const { code, message } = await deleteNow(cluster.admin, fleet.namespace, name);
    if (code === 200) return true;
    if (code !== 429) throw new GiveUp(`${code}: ${message}`);
    return false;
  });
}

/** As `helm upgrade` of a chart that has all roles: every process ends, and every process starts again. */
async function restartAll(fleet: Fleet): Promise<void> {
  const { webhooks, aggregators, generator } = fleet;
  assert.ok(generator !== undefined);
  await Promise.all([...webhooks, ...aggregators, generator].map((role) => role.terminate()));
  const again = (roles: readonly PodseidonProcess[]): Promise<PodseidonProcess[]> =>
    Promise.all(roles.map((role) => role.startAgain()));
  [fleet.webhooks, fleet.aggregators, [fleet.generator]] = await Promise.all([
    again(webhooks),
    again(aggregators),
    again([generator]),
  ]);
}

/**
 * PodProtectors of another namespace whose status nobody may write any more, while pods of theirs are new in the first
 * worker: for them alone that cell is silent.
 */
async function denyStatus(
  context: CaseContext,
  fleet: Fleet,
  { cell, cluster }: Worker,
  soonMs: number,
): Promise<Figures> {
  const { core, workers, webhooks } = fleet;
  const namespace = `${fleet.namespace}-denied`;
  for (const { admin } of [core, ...workers.map((worker) => worker.cluster)]) await createNamespace(admin, namespace);
  const denied = new Fleet([core], workers, namespace);
  denied.webhooks = webhooks;
  await denied.intercept(context, fleet.caPem);
  const groups = Array.from({ length: deniedGroups }, (_, group) => group);
  const create = (count: number, prefix: string): Promise<(readonly string[])[]> =>
    Promise.all(
      groups.map((group) =>
        createPods(cluster.admin, {
          namespace,
          count,
          namePrefix: `${prefix}-${group}`,
          labels: deniedLabels(group),
        }),
      ),
    );
  const [[pod = ""] = []] = await create(podsBefore, "denied");
  const path = `/apis/podseidon.kubewharf.io/v1alpha1/namespaces/${namespace}/podprotectors`;
  context.cleanup(() => core.admin.remove(path));
  const protectors = Array.from({ length: deniedCount }, (_, index) => `denied-${index}`);
  await new Limiter(createsInFlight).all([...protectors.entries()], ([index, name]) =>
    createProtector(core.admin, path, name, deniedLabels(index % deniedGroups)),
  );
  for (const name of protectors) await denied.waitCounted(name, podsBefore, slackMs);

  await forbidStatus(context, core.admin, namespace, denied.protectorPath(protectors[0] ?? ""));
  await create(1, "late");
  const startMs = performance.now();
  const [aggregator] = fleet.aggregators;
  await waitFor(`the beats of ${cell} name ${deniedCount} objects`, soonMs, async () => {
    return (await aggregator?.metrics())?.value("aggregator_heartbeat_behind") === deniedCount;
  });
  const behindMs = Math.round(performance.now() - startMs);
  const refused = await waitFor("a deletion under one of these objects is refused", soonMs, async () => {
    const attempt = await deleteNow(cluster.admin, namespace, pod);
    return attempt.code === 429 && attempt;
  });
  context.say(refused.message);
  assert.match(refused.message, /silent/);
  assert.match(refused.message, /whether it .* may write the status of this PodProtector/);
  return { behind: deniedCount, behindMs };
}

async function createProtector(
  admin: AdminClient,
  path: string,
  name: string,
  matchLabels: Readonly<Record<string, string>>,
): Promise<void> {
  await admin.create(path, {
    apiVersion: "podseidon.kubewharf.io/v1alpha1",
    kind: "PodProtector",
    metadata: { name },
    spec: { minAvailable: 1, minReadySeconds: 0, selector: { matchLabels } },
  });
}

/** Resolves when the API server refuses writes of the status at `path`, which is in the namespace. */
async function forbidStatus(context: CaseContext, admin: AdminClient, namespace: string, path: string): Promise<void> {
  const group = "/apis/admissionregistration.k8s.io/v1";
  const apiVersion = "admissionregistration.k8s.io/v1";
  const metadata = { name: namespace };
  const resourceRules = [
    {
      apiGroups: ["podseidon.kubewharf.io"],
      apiVersions: ["*"],
      operations: ["UPDATE"],
      resources: ["podprotectors/status"],
    },
  ];
  context.cleanup(() => admin.remove(`${group}/validatingadmissionpolicybindings/${namespace}`));
  context.cleanup(() => admin.remove(`${group}/validatingadmissionpolicies/${namespace}`));
  await admin.create(`${group}/validatingadmissionpolicies`, {
    apiVersion,
    kind: "ValidatingAdmissionPolicy",
    metadata,
    spec: {
      matchConstraints: {
        resourceRules,
        namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": namespace } },
      },
      validations: [{ expression: "false", message: "nobody may write this" }],
    },
  });
  await admin.create(`${group}/validatingadmissionpolicybindings`, {
    apiVersion,
    kind: "ValidatingAdmissionPolicyBinding",
    metadata,
    spec: { policyName: namespace, validationActions: ["Deny"] },
  });
  await waitFor("the policy is in force", slackMs, async () => {
    const { code } = await admin.request("PATCH", `${path}/status`, {
      body: { status: { observedGeneration: 1 } },
      contentType: "application/merge-patch+json",
      query: { dryRun: "All" },
    });
    return code === 422 || code === 403;
  });
}
