/** What people and controllers do every day, each as a set-up and an act that is timed. */
import assert from "node:assert/strict";
import { setTimeout as delay } from "node:timers/promises";
import { type KubeObject } from "../../e2e/clusters/admin-client.ts";
import { deletePods } from "../../e2e/objects/deletions.ts";
import { kubectl } from "../../e2e/clusters/kubectl.ts";
import { waitFor } from "../../e2e/clusters/wait.ts";
import { type WorkloadSpec } from "./workloads.ts";
import { type Guard, type World } from "./world.ts";

export interface EverydayRow {
  readonly what: string;
  /** In the order of the turns; the last but for Podseidon is what Podseidon is compared with. */
  readonly guards: readonly Guard[];
  /** Podseidon may take so many times as long; undefined = nothing was promised. */
  readonly longerMax?: number;
  /** The controllers want no pod below the floor, so that no refusal is to be explained. */
  readonly isCalm: boolean;
  /** Takes minutes: only with LONG=1. */
  readonly isLong?: true;
  readonly workloads: readonly WorkloadSpec[];
  /** Before the workloads are there, and after them. */
  readonly prepare?: (world: World) => Promise<void>;
  readonly ready?: (world: World) => Promise<void>;
  /** What is timed. */
  readonly act: (world: World) => Promise<void>;
}

const ofWebhooks: readonly Guard[] = ["nothing", "allow-all", "podseidon"];
const second = 1_000;
const actLimitMs = 300 * second;
const drainLimitSeconds = 240;
/** Of what kubectl says when it fails: it says all of it for each pod. */
const saidChars = 2_000;
/** Of pods that need no scheduler; the other node is drained. */
const [drained, kept] = ["node-0", "node-1"] as const;

export const everydayRows: readonly EverydayRow[] = [
  update("rolling update of 60 pods, 25 % and surge 25 %", { maxUnavailable: "25%", maxSurge: "25%" }),
  {
    what: "scale 100 -> 40 -> 100",
    guards: ofWebhooks,
    longerMax: 1.1,
    isCalm: true,
    workloads: [{ kind: "deployments", name: "web", replicas: 100, nodeName: kept }],
    act: async (world) => {
      await scale(world, "web", 40);
      await scale(world, "web", 100);
    },
  },
  {
    what: "StatefulSet update of 12 pods",
    guards: ofWebhooks,
    longerMax: 1.1,
    isCalm: true,
    workloads: [{ kind: "statefulsets", name: "db", replicas: 12, nodeName: kept }],
    act: (world) => rollOut(world, { kind: "statefulsets", name: "db" }, 12),
  },
  drain("drain of a node with 30 pods that may all go at once", {
    guards: ofWebhooks,
    isCalm: true,
    workloads: [
      { kind: "deployments", name: "web", replicas: 30, strategy: { maxUnavailable: "100%", maxSurge: "25%" } },
    ],
  }),
  drain("drain of a node with 30 pods of 12 workloads of 1 to 8 replicas", {
    guards: ["budgets", "podseidon"],
    isCalm: false,
    workloads: [8, 4, 3, 3, 2, 2, 2, 2, 1, 1, 1, 1].map((replicas, index) => {
      return { kind: "deployments", name: `web-${index}`, replicas } as const;
    }),
  }),
  { ...update("rolling update of 60 pods, maxUnavailable 1", { maxUnavailable: 1, maxSurge: 0 }), isLong: true },
  { ...update("rolling update of 60 pods, maxSurge 0", { maxUnavailable: "25%", maxSurge: 0 }), isLong: true },
  {
    what: "eviction of 20 nodes one after the other, as an autoscaler does it",
    guards: ["budgets", "podseidon"],
    longerMax: 1.2,
    isCalm: false,
    isLong: true,
    workloads: Array.from({ length: 12 }, (_, index) => {
      return { kind: "deployments", name: `web-${index}`, replicas: 1 + (index % 8) } as const;
    }),
    act: evictBunches,
  },
  {
    what: "deletion of a namespace with 10 workloads",
    guards: ofWebhooks,
    isCalm: false,
    isLong: true,
    workloads: Array.from({ length: 10 }, (_, index) => {
      return { kind: "deployments", name: `web-${index}`, replicas: 6, nodeName: kept } as const;
    }),
    act: async ({ cluster: { admin }, namespace }) => {
      await admin.remove(`/api/v1/namespaces/${namespace}`);
      await waitFor(`${namespace} is gone`, actLimitMs, async () => {
        return (await admin.request("GET", `/api/v1/namespaces/${namespace}`)).code === 404;
      });
    },
  },
  {
    what: "an autoscaler that flaps between 20 and 40 for two minutes",
    guards: ofWebhooks,
    longerMax: 1.1,
    isCalm: true,
    isLong: true,
    workloads: [{ kind: "deployments", name: "web", replicas: 40, nodeName: kept }],
    act: async (world) => {
      for (const endMs = performance.now() + 120 * second; performance.now() < endMs; await delay(5 * second)) {
        await scale(world, "web", 20);
        await scale(world, "web", 40);
      }
    },
  },
  {
    what: "a minute at the floor: somebody deletes each pod that comes back",
    guards: ofWebhooks,
    isCalm: false,
    isLong: true,
    workloads: [{ kind: "deployments", name: "web", replicas: 8, nodeName: kept }],
    act: deleteForAMinute,
  },
];

function update(what: string, strategy: NonNullable<WorkloadSpec["strategy"]>): EverydayRow {
  return {
    what,
    guards: ofWebhooks,
    longerMax: 1.1,
    isCalm: true,
    workloads: [{ kind: "deployments", name: "web", replicas: 60, strategy, nodeName: kept }],
    act: (world) => rollOut(world, { kind: "deployments", name: "web" }, 60),
  };
}

function drain(what: string, row: Pick<EverydayRow, "guards" | "isCalm" | "workloads">): EverydayRow {
  return {
    ...row,
    what,
    longerMax: 1.2,
    // All pods begin on the node that is drained.
    prepare: (world) => cordon(world, kept, true),
    ready: async (world) => {
      const nodes = new Set(world.recorder.pods().map(({ spec }) => spec.nodeName));
      assert.deepEqual([...nodes], [drained]);
      await cordon(world, kept, false);
      world.context.cleanup(() => cordon(world, drained, false));
    },
    act: async ({ context, cluster }) => {
      const timeoutMs = (drainLimitSeconds + 30) * second;
      const options = { kubectl: context.assets.kubectl, processes: context.processes, cluster, timeoutMs };
      // Older namespaces may still have pods there.
      const args = ["drain", drained, "--pod-selector=everyday", `--timeout=${drainLimitSeconds}s`];
      const { code, stdout, stderr } = await kubectl(options, ...args);
      assert.equal(code, 0, `${stdout}\n${stderr}`.slice(-saidChars));
    },
  };
}

async function cordon({ cluster }: World, node: string, unschedulable: boolean): Promise<void> {
  await cluster.admin.mergePatch(`/api/v1/nodes/${node}`, { spec: { unschedulable } });
}

interface RolledOut extends KubeObject {
  readonly metadata: KubeObject["metadata"] & { readonly generation: number };
  readonly status: {
    readonly observedGeneration?: number;
    readonly replicas?: number;
    readonly updatedReplicas?: number;
    readonly availableReplicas?: number;
  };
}

/** Resolves when the controller says that all replicas are available, of the newest template, and none else is left. */
async function settled(world: World, path: string, replicas: number): Promise<void> {
  await waitFor(`${path} has ${replicas} updated pods`, actLimitMs, async () => {
    const { metadata, status } = await world.cluster.admin.get<RolledOut>(path);
    const isSeen = status.observedGeneration === metadata.generation;
    const counts = [status.replicas, status.updatedReplicas, status.availableReplicas];
    return isSeen && counts.every((count) => count === replicas);
  });
}

async function rollOut(world: World, which: Pick<WorkloadSpec, "kind" | "name">, replicas: number): Promise<void> {
  const annotations = { rolled: "yes" };
  await world.cluster.admin.mergePatch(world.pathOf(which), { spec: { template: { metadata: { annotations } } } });
  await settled(world, world.pathOf(which), replicas);
}

async function scale(world: World, name: string, replicas: number): Promise<void> {
  const path = world.pathOf({ kind: "deployments", name });
  await world.cluster.admin.mergePatch(path, { spec: { replicas } });
  await settled(world, path, replicas);
}

/** Of pods that nobody has deleted. */
function liveNames({ recorder }: World): readonly string[] {
  const live = recorder.pods().filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  return live.map(({ metadata }) => metadata.name);
}

/** Each of 20 rounds evicts what would be on one node, and again every second what was refused. */
async function evictBunches(world: World): Promise<void> {
  const rounds = 20;
  const { admin } = world.cluster;
  for (let round = 0; round < rounds; round++) {
    let names = liveNames(world).filter((_, index) => index % rounds === round);
    for (const endMs = performance.now() + actLimitMs; names.length > 0; await delay(second)) {
      assert.ok(performance.now() < endMs, `the evictions of ${names.join(", ")} come to no end`);
      const options = { namespace: world.namespace, names, concurrency: names.length, how: "evict" } as const;
      const attempts = await deletePods(admin, options);
      names = attempts.filter(({ code }) => code === 429 || code === 403).map(({ name }) => name);
    }
  }
}

async function deleteForAMinute(world: World): Promise<void> {
  const { admin } = world.cluster;
  for (const endMs = performance.now() + 60 * second; performance.now() < endMs; await delay(200)) {
    const names = liveNames(world);
    await deletePods(admin, { namespace: world.namespace, names, concurrency: 2, how: "evict" });
  }
}
