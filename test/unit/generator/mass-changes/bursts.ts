/** A core whose generator holds mass changes, and the bursts that tests make there. */
import assert from "node:assert/strict";
import { cellLeaseAnnotations } from "../../../../src/api/cell-lease.ts";
import { annotations } from "../../../../src/api/v1alpha1/names.ts";
import { builtInResources, type JsonObject, type KubeObject } from "../../../double/index.ts";
import { BeatingCells } from "../beating-cells.ts";
import { createCore, isInForce } from "../core-cluster.ts";

const { deployments, namespaces, configMaps } = builtInResources;
const mergePatch = (body: JsonObject) => ({ contentType: "application/merge-patch+json", body });

type Core = Awaited<ReturnType<typeof createCore>>;
type StartOptions = NonNullable<Parameters<Core["startGenerator"]>[1]>;

const hold = { policy: "hold", allow: [] } as const;

/** Names like "shop-3". */
export const namesOf = (prefix: string, count: number): readonly string[] =>
  Array.from({ length: count }, (_, index) => `${prefix}-${index}`);

export async function startHolding(options: StartOptions = {}) {
  const core = await createCore();
  const { engine, clock } = core;
  const start = async (more: StartOptions = {}) => {
    const process = core.startGenerator({}, { massChanges: hold, ...options, ...more });
    await process.ready();
    return process;
  };
  const generator = await start();

  return {
    ...core,
    generator,
    start,

    async namespace(name: string, labels: JsonObject = {}) {
      const body = { apiVersion: "v1", kind: "Namespace", metadata: { name, labels } };
      await engine.create(namespaces, undefined, body);
    },
    /** Makes the core a cell of its own: the cell's Lease names its cluster. */
    async runPodsInCore() {
      const clusterUID = engine.find(namespaces, undefined, "kube-system")!.metadata.uid;
      const spec = { holderIdentity: "aggregator", leaseDurationSeconds: 180 };
      await new BeatingCells(core).create("default", { [cellLeaseAnnotations.clusterUID]: clusterUID }, spec);
    },
    /** A namespace that is being deleted, and cannot go while its content is there. */
    async terminate(name: string) {
      await engine.patch(namespaces, undefined, name, mergePatch({ metadata: { finalizers: ["content.example/x"] } }));
      await engine.delete(namespaces, undefined, name);
    },
    /** Deployments with PodProtectors. */
    async run(names: readonly string[], { namespace = "default", replicas = 8, metadata = {} } = {}) {
      for (const name of names) {
        await engine.create(deployments, namespace, {
          apiVersion: "apps/v1",
          kind: "Deployment",
          metadata: { name, namespace, ...metadata },
          spec: {
            replicas,
            selector: { matchLabels: { app: name } },
            template: { metadata: { labels: { app: name } }, spec: { containers: [{ name: "a", image: "a" }] } },
          },
        });
      }
      await clock.advance(1_000);
    },
    async delete(names: readonly string[], namespace = "default") {
      for (const name of names) await engine.delete(deployments, namespace, name);
    },
    async scale(names: readonly string[], replicas: number, fieldManager = "kubectl", namespace = "default") {
      const patch = mergePatch({ spec: { replicas } });
      for (const name of names) await engine.patchScale(deployments, namespace, name, patch, { fieldManager });
    },
    async edit(names: readonly string[], spec: JsonObject, fieldManager = "kubectl-edit", namespace = "default") {
      for (const name of names)
        await engine.patch(deployments, namespace, name, mergePatch({ spec }), { fieldManager });
    },
    floors: (names: readonly string[], namespace = "default") =>
      names.map((name) => {
        const protector = engine.find(core.protectorType, namespace, `deployment-${name}`);
        return isInForce(protector) ? Number(protector?.spec?.["minAvailable"]) : undefined;
      }),
    protectorOf: (name: string, namespace = "default") =>
      engine.find(core.protectorType, namespace, `deployment-${name}`),
    configMap: (): KubeObject | undefined => engine.find(configMaps, "default", "podseidon-generator-state"),
    async approve(text: string) {
      const metadata = { annotations: { [annotations.approve]: text } };
      await engine.patch(configMaps, "default", "podseidon-generator-state", mergePatch({ metadata }));
    },
    approval: (cause: string, reason = "planned", hours = 1) => {
      const until = new Date(clock.epochMicros() / 1_000 + hours * 3_600_000).toISOString();
      return JSON.stringify({ cause, until, reason });
    },
    reasons: () => core.events().map((event) => String(event["reason"])),
  };
}

/** The floors of `names` are held, for the cause manager/sync-tool, and their generator has stopped. */
export async function startHeld(names: readonly string[]) {
  const bench = await startHolding();
  await bench.run(names);
  await bench.clock.advance(60_000);
  await bench.edit(names, { replicas: 0 }, "sync-tool");
  await bench.clock.advance(10_000);
  assert.deepEqual(tally(bench.floors(names)), { 6: names.length });
  await bench.generator.stop();
  return bench;
}

/** How many floors are what. */
export function tally(floors: readonly (number | undefined)[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const floor of floors) counts[String(floor)] = (counts[String(floor)] ?? 0) + 1;
  return counts;
}
