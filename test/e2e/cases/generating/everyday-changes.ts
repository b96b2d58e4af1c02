/**
 * Many changes at once that are everyday life: the generator holds none of them and delays none of them
 * (docs/mass-changes.md, "What counts"). The Deployments are paused, so that they make no pods: only their
 * PodProtectors matter.
 */
import assert from "node:assert/strict";
import { type PodProtector } from "../../../../src/api/v1alpha1/pod-protector.ts";
import { type ObjectList } from "../../clusters/admin-client.ts";
import { type Fleet, startFleet } from "../../fleet/fleet.ts";
import { Limiter } from "../../clusters/limiter.ts";
import { createNamespace } from "../../objects/pods.ts";
import { type CaseContext, e2eCases, type Figures } from "../../runner/runner.ts";
import { second, waitFor } from "../../clusters/wait.ts";
import { deploymentManifest, floorOf, scale } from "../../loads/workloads.ts";

const replicas = 4;
const halved = 2;
const requestsInFlight = 16;
/** Two seconds for what counts, the watch, and a busy machine. */
const everydayLimitMs = 20 * second;
const startLimitMs = 60 * second;
/** The namespace controller looks again with growing pauses. */
const namespaceLimitMs = 90 * second;

interface Group {
  readonly namespace: string;
  readonly count: number;
  readonly labels: Readonly<Record<string, string>>;
}

export const everydayChangeCases = e2eCases({
  "mass: previews to 0, autoscalers, an uninstall and a namespace deletion at once are not held": [
    300 * second,
    everyday,
  ],
});

async function everyday(context: CaseContext): Promise<Figures> {
  const fleet = await startFleet(context, { core: "system", workers: ["system"] });
  const group = (name: string, count: number, labels: Group["labels"] = {}): Group => {
    return { namespace: `${context.namespace}-${name}`, count, labels };
  };
  const previews = group("previews", 60, { "podseidon.kubewharf.io/mass-changes": "allow" });
  const autoscaled = group("autoscaled", 40);
  const chart = group("chart", 15);
  const ending = group("ending", 30);
  for (const one of [previews, autoscaled, chart, ending]) await create(fleet, one);
  for (const one of [previews, autoscaled, chart, ending]) {
    await waitFloors(fleet, one, { count: one.count, floor: floorOf(replicas) }, startLimitMs);
  }
  const { admin } = fleet.core;
  const limiter = new Limiter(requestsInFlight);
  const startMs = performance.now();
  await admin.remove(`/api/v1/namespaces/${ending.namespace}`);
  await Promise.all([
    limiter.all(namesOf(previews), (name) =>
      scale(admin, `${pathOf(previews)}/${name}`, { replicas: 0, manager: "ci" }),
    ),
    // As the horizontal pod autoscaler does it: through the subresource, to a number above 0.
    limiter.all(namesOf(autoscaled), (name) => {
      const to = { replicas: halved, manager: "horizontal-pod-autoscaler" };
      return scale(admin, `${pathOf(autoscaled)}/${name}/scale`, to);
    }),
    // As `helm uninstall` does it: one DELETE for each object.
    limiter.all(namesOf(chart), (name) => {
      const options = { apiVersion: "v1", kind: "DeleteOptions", propagationPolicy: "Background" };
      return admin.remove(`${pathOf(chart)}/${name}`, options);
    }),
  ]);
  const elapsed = async (done: Promise<void>): Promise<number> => {
    await done;
    return Math.round(performance.now() - startMs);
  };
  const [previewsMs, autoscaledMs, chartMs, namespaceMs] = await Promise.all([
    elapsed(waitFloors(fleet, previews, { count: previews.count, floor: 0 })),
    elapsed(waitFloors(fleet, autoscaled, { count: autoscaled.count, floor: floorOf(halved) })),
    elapsed(waitFloors(fleet, chart, { count: 0, floor: 0 })),
    elapsed(waitNamespaceGone(fleet, ending)),
  ]);
  const metrics = await fleet.generator?.metrics();
  assert.equal(metrics?.value("generator_changes_held_total") ?? 0, 0, "something was held");
  return { previewsMs, autoscaledMs, chartMs, namespaceMs };
}

function namesOf({ count }: Group): string[] {
  return Array.from({ length: count }, (_, index) => `web-${index}`);
}

function pathOf({ namespace }: Group): string {
  return `/apis/apps/v1/namespaces/${namespace}/deployments`;
}

async function create(fleet: Fleet, group: Group): Promise<void> {
  const { admin } = fleet.core;
  await createNamespace(admin, group.namespace, group.labels);
  await new Limiter(requestsInFlight).all(namesOf(group), async (name) => {
    const manifest = deploymentManifest(name, replicas) as { readonly spec: object };
    await admin.create(pathOf(group), { ...manifest, spec: { ...manifest.spec, paused: true } });
  });
}

/** Resolves when the namespace has so many PodProtectors, all with this floor. */
async function waitFloors(
  fleet: Fleet,
  { namespace }: Group,
  expected: { readonly count: number; readonly floor: number },
  limitMs = everydayLimitMs,
): Promise<void> {
  const path = `/apis/podseidon.kubewharf.io/v1alpha1/namespaces/${namespace}/podprotectors`;
  await waitFor(`${namespace} has ${expected.count} floors of ${expected.floor}`, limitMs, async () => {
    const { items } = await fleet.core.admin.get<ObjectList<PodProtector>>(path);
    return items.length === expected.count && items.every(({ spec }) => spec.minAvailable === expected.floor);
  });
}

async function waitNamespaceGone(fleet: Fleet, { namespace }: Group): Promise<void> {
  await waitFor(`${namespace} is gone`, namespaceLimitMs, async () => {
    return (await fleet.core.admin.request("GET", `/api/v1/namespaces/${namespace}`)).code === 404;
  });
}
