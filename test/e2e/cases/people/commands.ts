/** The operator commands on a real API server, run by a person with no more rights than docs/commands.md names. */
import assert from "node:assert/strict";
import { overrides } from "../../../../src/api/v1alpha1/names.ts";
import { type KubeObject, type ObjectList } from "../../clusters/admin-client.ts";
import { deletePods } from "../../objects/deletions.ts";
import { OnCall } from "../../installed/on-call.ts";
import { kubectlOrFail } from "../../overlay.ts";
import { listPods, setPodReady } from "../../objects/pods.ts";
import { type CaseContext, e2eCases, type Figures } from "../../runner/runner.ts";
import { second, waitFor } from "../../clusters/wait.ts";
import {
  deploymentsPath,
  floorOf,
  protectorOf,
  servingUIDs,
  startWorkloads,
  waitFloor,
  type Workloads,
} from "../../loads/workloads.ts";

const replicas = 3;
const cell = "core";

export const commandCases = e2eCases({
  "commands: status and explain agree with the webhook, cells are kept, and a held deletion is undone": [
    480 * second,
    run,
  ],
});

interface Stage extends Workloads {
  readonly context: CaseContext;
  readonly onCall: OnCall;
  readonly shared: readonly string[];
}

async function run(context: CaseContext): Promise<Figures> {
  const workloads = await startWorkloads(context, { count: 1, replicas });
  const { fleet } = workloads;
  const shared = ["-n", fleet.namespace, `--cell-lease-namespace=${fleet.namespace}`];
  const onCall = await OnCall.begin(context, fleet.core, fleet.namespace, ["look.yaml", "steer.yaml"]);
  const stage: Stage = { ...workloads, context, onCall, shared };
  await lookedAt(stage);
  await explained(stage);
  await kept(stage);
  await withoutRights(stage);
  return await undone(stage);
}

async function lookedAt({ context, fleet, onCall, shared }: Stage): Promise<void> {
  const look = async () => {
    const json = await onCall.run("status", ...shared, "-o", "json");
    assert.deepEqual([json.exitCode, json.stderr], [0, ""], json.stdout);
    const { cores } = JSON.parse(json.stdout) as {
      cores: readonly {
        protectors: readonly { name: string; mustStay: number; available: number; free: number }[];
        cells: readonly { cell: string; state: string; heardAgoMs: number }[];
      }[];
    };
    return cores;
  };
  // Counts may be there before the first heartbeat.
  const cores = await waitFor("the cell is heard", 90 * second, async () => {
    const seen = await look();
    return seen[0]?.cells[0]?.state === "ok" && seen;
  });
  const [protector] = cores[0]?.protectors ?? [];
  const { name, mustStay, available, free } = protector ?? {};
  assert.deepEqual([name, mustStay, available, free], [protectorOf("web-0"), 2, 3, 1]);
  const [heard] = cores[0]?.cells ?? [];
  assert.deepEqual([heard?.cell, heard?.state], [cell, "ok"]);
  assert((heard?.heardAgoMs ?? Infinity) < 60 * second);
  context.say((await onCall.run("status", ...shared)).stdout);
  assert.equal((await onCall.run("explain", "deployment", "web-0", ...shared)).exitCode, 0);
  assert.equal(fleet.workers.length, 1);
}

/** What `explain` says, and what the webhook then answers to a dry run. */
async function explained({ context, fleet, onCall, shared }: Stage): Promise<void> {
  const { admin } = fleet.core;
  const { namespace } = fleet;
  const [first, other] = await listPods(admin, namespace, "app=web");
  assert(first !== undefined && other !== undefined);
  const { name } = first.metadata;
  const explain = () => onCall.run("explain", "pod", name, "--cell", cell, ...shared);
  const ask = async (how: "delete" | "evict") =>
    (await deletePods(admin, { namespace, names: [name], concurrency: 1, how, dryRun: true }))[0];
  const yes = await explain();
  assert.equal(yes.exitCode, 0, yes.stdout + yes.stderr);
  assert.match(yes.stdout, /deletion or eviction be admitted now\? {2}YES\n/);
  assert.equal((await ask("delete"))?.code, 200);

  await setPodReady(admin, { namespace, name: other.metadata.name }, { ready: false });
  await fleet.waitCounted(protectorOf("web-0"), replicas - 1);
  const no = await explain();
  assert.equal(no.exitCode, 1, no.stdout + no.stderr);
  assert.match(no.stdout, /deletion or eviction be admitted now\? {2}NO[^]*\nPodProtector core\//);
  for (const how of ["delete", "evict"] as const) {
    const answer = await ask(how);
    assert.equal(answer?.code, 429);
    const said = no.stdout.replaceAll(/\s+/g, " ");
    const [, reason = ""] = /denied the request: (.*)$/s.exec(answer?.message ?? "") ?? [];
    assert(reason !== "" && said.includes(reason.replaceAll(/\s+/g, " ")), `${said}\n\nbut: ${answer?.message}`);
  }
  // A dry run leaves no Event; a refusal does.
  const real = await deletePods(admin, { namespace, names: [name], concurrency: 1, how: "delete" });
  assert.equal(real[0]?.code, 429);
  await waitFor("the refusal is told", 90 * second, async () => /refused {3}\d+ time/.test((await explain()).stdout));
  context.say((await explain()).stdout);
  context.say((await onCall.run("status", ...shared)).stdout);

  // The command that it advises, by a real kubectl.
  const asJson = await onCall.run("explain", "pod", name, "--cell", cell, ...shared, "-o", "json");
  const { protectors } = JSON.parse(asJson.stdout) as { protectors: { advice: { command?: string }[] }[] };
  const advised = protectors[0]?.advice.find(({ command = "" }) => command.includes("min-available"));
  const [, ...args] = advised?.command?.split(" ") ?? [];
  await kubectlOrFail(context, fleet.core, ...args);
  await waitFor("what it advises works", 90 * second, async () => (await explain()).exitCode === 0);
  assert.equal((await ask("evict"))?.code, 201);
  const annotation = `${overrides.minAvailable}-`;
  await kubectlOrFail(context, fleet.core, "-n", namespace, "annotate", "deployment", "web-0", annotation);
  await waitFloor(fleet, "web-0", floorOf(replicas), 30 * second);
  await setPodReady(admin, { namespace, name: other.metadata.name });
  await fleet.waitCounted(protectorOf("web-0"), replicas);
}

async function kept({ context, onCall, shared }: Stage): Promise<void> {
  const [, , lease = ""] = shared;
  const asked = await onCall.run("cells", "keep", cell, "--for=1h", lease);
  assert.deepEqual([asked.exitCode, asked.stderr], [0, ""], asked.stdout);
  context.say(asked.stdout);
  const list = await onCall.run("cells", "list", lease);
  assert.match(list.stdout, /its last counts are kept in force until/);
  assert.equal((await onCall.run("cells", "keep", cell, "--undo", lease)).exitCode, 0);
  assert.doesNotMatch((await onCall.run("cells", "list", lease)).stdout, /kept/);
  const held = await onCall.run("approve", lease);
  assert.deepEqual([held.exitCode, held.stdout], [0, "nothing is held\n"], held.stderr);
}

/** Whoever may only look is told what is missing. */
async function withoutRights({ context, fleet }: Stage): Promise<void> {
  const { namespace } = fleet;
  const looker = await OnCall.begin(context, fleet.core, namespace, ["look.yaml"]);
  const lease = `--cell-lease-namespace=${namespace}`;
  const refused = await looker.run("cells", "forget", cell, lease);
  assert.equal(refused.exitCode, 1);
  assert.match(refused.stderr, /you may not patch leases\.coordination\.k8s\.io .*; ask for the role podseidon-steer/);
}

/** The generator is away, so the deletion of the Deployment is held by its finalizer. */
async function undone({ context, fleet, available, shared }: Stage): Promise<Figures> {
  const { admin } = fleet.core;
  const before = await servingUIDs(fleet);
  await fleet.generator?.kill();
  const path = `${deploymentsPath(fleet)}/web-0`;
  await admin.remove(path);
  const former = await admin.get(path);
  assert.notEqual(former.metadata.deletionTimestamp, undefined);
  const administrator = OnCall.administrator(context, fleet.core);
  const startMs = performance.now();
  const { exitCode, stdout, stderr } = await administrator.run("approve", "--undo", "deployment/web-0", ...shared);
  assert.equal(exitCode, 0, stdout + stderr);
  const undoneMs = Math.round(performance.now() - startMs);
  const { metadata } = await admin.get(path);
  assert.deepEqual([metadata.deletionTimestamp, metadata.uid === former.metadata.uid], [undefined, false]);
  await waitFor("the new Deployment owns the ReplicaSet", 30 * second, async () => {
    const sets = await admin.get<
      ObjectList<KubeObject & { metadata: { ownerReferences?: readonly { uid: string }[] } }>
    >(`/apis/apps/v1/namespaces/${fleet.namespace}/replicasets`);
    return sets.items.every((set) => set.metadata.ownerReferences?.[0]?.uid === metadata.uid);
  });
  assert.deepEqual(await servingUIDs(fleet), before, "the pods are the same");
  assert.equal(available.serving, replicas);
  return { undoneMs };
}
