/**
 * From trial to enforcement: a namespace in shadow, whose report names exactly what an enforced run of the same
 * deletions then refuses, by workload, caller and operation; enforcement; and back.
 */
import assert from "node:assert/strict";
import { annotations, labels } from "../../../../src/api/v1alpha1/names.ts";
import { type AdminClient, type ObjectList } from "../../clusters/admin-client.ts";
import { type DeletionAttempt, deletePods } from "../../objects/deletions.ts";
import { type Fleet, startFleet } from "../../fleet/fleet.ts";
import { createPods } from "../../objects/pods.ts";
import { webLabels } from "../../loads/protected-pods.ts";
import { type CaseContext, e2eCases, type Figures } from "../../runner/runner.ts";
import { present, second, waitFor } from "../../clusters/wait.ts";

const protectorName = "deployment-web";
/** 25 % may be away, so 6 must stay. */
const replicas = 8;

export const modeCases = e2eCases({
  "modes: a namespace in shadow reports exactly what an enforced run then refuses, and refuses nothing": [
    240 * second,
    trial,
  ],
});

/** Refused, or reported, deletions and evictions. */
interface Counts {
  readonly deletions: number;
  readonly evictions: number;
}

async function trial(context: CaseContext): Promise<Figures> {
  const fleet = await startFleet(context, { core: "core", workers: ["worker-1"], generator: true });
  const { core, namespace } = fleet;
  await label(fleet, "shadow");
  await core.admin.create(`/apis/apps/v1/namespaces/${namespace}/deployments`, {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "web" },
    spec: {
      replicas,
      // Its pods are in the worker.
      paused: true,
      selector: { matchLabels: webLabels },
      template: { metadata: { labels: webLabels }, spec: { containers: [{ name: "main", image: "none" }] } },
    },
  });
  const workerAdmin = present(fleet.workers[0]?.cluster.admin);

  const tried = await round(fleet, workerAdmin, "tried", "shadow");
  assert.deepEqual(refused(tried), { deletions: 0, evictions: 0 });
  const report = await waitFor("the report names all that would have been refused", 60 * second, async () => {
    const counts = await reported(core.admin, namespace);
    return counts.deletions + counts.evictions >= replicas - 2 ? counts : undefined;
  });

  await label(fleet, "enforced");
  const enforced = await round(fleet, workerAdmin, "enforced", undefined);
  assert.deepEqual(report, refused(enforced), "the report is what is refused");
  const podprotector = `core/${namespace}/${protectorName}`;
  assert.equal(await fleet.webhookCount("webhook_would_refuse_total", { podprotector }), replicas - 2);

  await label(fleet, "shadow");
  await waitMode(fleet, "shadow");
  const left = refusedNames(enforced);
  const back = await waitFor("nothing is refused any more", 30 * second, async () => {
    const all = { namespace, names: left, concurrency: 1, how: "delete", gracePeriodSeconds: 0 } as const;
    const attempts = await deletePods(workerAdmin, all);
    return attempts.every(({ code }) => code < 300 || code === 404) ? attempts : undefined;
  });
  return { reported: report.deletions + report.evictions, refused: left.length, backInShadow: back.length };
}

/** New pods; each is then deleted or evicted, one after the other, each when the one before is settled. */
async function round(
  fleet: Fleet,
  workerAdmin: AdminClient,
  namePrefix: string,
  mode: string | undefined,
): Promise<ReadonlyMap<"delete" | "evict", readonly DeletionAttempt[]>> {
  const { namespace } = fleet;
  await waitMode(fleet, mode);
  const names = await createPods(workerAdmin, { namespace, count: replicas, namePrefix, labels: webLabels });
  await fleet.waitCounted(protectorName, replicas);
  await fleet.waitIntercepted();
  const attempts = { delete: [] as DeletionAttempt[], evict: [] as DeletionAttempt[] };
  for (const [index, name] of names.entries()) {
    const how = index < replicas - 3 ? "delete" : "evict";
    // With the pod's own grace period, so that each is reviewed once (docs/kubernetes.md#deletes). Without one, the
    // second review may carry the pod as it was, when its deletion has been counted already, and be reported too.
    const once = { namespace, names: [name], concurrency: 1, how } as const;
    attempts[how].push(...(await deletePods(workerAdmin, once)));
    await fleet.waitSettled(protectorName, 60 * second);
  }
  return new Map(Object.entries(attempts) as ["delete" | "evict", DeletionAttempt[]][]);
}

function refused(attempts: ReadonlyMap<"delete" | "evict", readonly DeletionAttempt[]>): Counts {
  const count = (how: "delete" | "evict") => (attempts.get(how) ?? []).filter(({ code }) => code === 429).length;
  return { deletions: count("delete"), evictions: count("evict") };
}

function refusedNames(attempts: ReadonlyMap<"delete" | "evict", readonly DeletionAttempt[]>): readonly string[] {
  return [...attempts.values()].flat().flatMap(({ code, name }) => (code === 429 ? [name] : []));
}

/** What `kubectl get events --field-selector reason=WouldRefuse` says of the PodProtector, by one caller. */
async function reported(admin: AdminClient, namespace: string): Promise<Counts> {
  const fieldSelector = `reason=WouldRefuse,involvedObject.name=${protectorName}`;
  const path = `/api/v1/namespaces/${namespace}/events`;
  const { items } = await admin.get<ObjectList<{ readonly message: string; readonly count: number }>>(path, {
    fieldSelector,
  });
  const callers = new Set(items.map(({ message }) => /by "(.*?)" would/.exec(message)?.[1]));
  assert.ok(callers.size <= 1, [...callers].join());
  const count = (what: string): number =>
    items.filter(({ message }) => message.startsWith(what)).reduce((sum, one) => sum + one.count, 0);
  return { deletions: count("Deletions by"), evictions: count("Evictions by") };
}

async function label({ core, namespace }: Fleet, mode: string): Promise<void> {
  await core.admin.mergePatch(`/api/v1/namespaces/${namespace}`, { metadata: { labels: { [labels.mode]: mode } } });
}

/** The generator has written it; the webhook sees it a moment later. */
async function waitMode(fleet: Fleet, mode: string | undefined): Promise<void> {
  await waitFor(`the PodProtector is in mode ${mode ?? "enforced"}`, 30 * second, async () => {
    const { code, body } = await fleet.core.admin.request<Awaited<ReturnType<Fleet["protector"]>>>(
      "GET",
      fleet.protectorPath(protectorName),
    );
    return code === 200 && body.metadata.annotations?.[annotations.mode] === mode;
  });
  const sinceMs = performance.now();
  await fleet.waitHeard(() => performance.now() - sinceMs, 60 * second);
}
