/** `podseidon check` and `podseidon restore crd` on real API servers, as docs/check.md has them. */
import assert from "node:assert/strict";
import path from "node:path";
import { type PodProtector } from "../../../../src/api/v1alpha1/pod-protector.ts";
import { type KubeObject, type ObjectList } from "../../clusters/admin-client.ts";
import {
  bindCheckRoles,
  type CommandOutcome,
  findingsIn,
  kubeconfigOf,
  runCommand,
  type SeenFinding,
  wrongIn,
} from "../../installed/check-command.ts";
import { type Cluster } from "../../clusters/cluster.ts";
import { startKubelet } from "../../objects/kubelet.ts";
import { installFleet, type ManifestInstallation } from "../../installed/manifest-installation.ts";
import { componentOf } from "../../installed/manifest-pods.ts";
import { type FaultStage, type PlantedFault, plantedFaults } from "../../installed/planted-faults.ts";
import { createNamespace, createPods } from "../../objects/pods.ts";
import { systemNamespace } from "../../clusters/role-accounts.ts";
import { type CaseContext, e2eCases, type Figures } from "../../runner/runner.ts";
import { startStranger } from "../../installed/stranger-webhook.ts";
import { GiveUp, second, waitFor } from "../../clusters/wait.ts";

/** Pods have to be Ready, and an aggregator counts and beats. */
const soundLimitMs = 60 * second;
/** API servers learn of a configuration through a watch, usually within a second. */
const foundLimitMs = 20 * second;
/** An aggregator looks once a minute, and beats; then the generator writes. */
const toldLimitMs = 150 * second;
/** What the command promises for three clusters. */
const checkLimitMs = 5 * second;

const protectors = "/apis/podseidon.kubewharf.io/v1alpha1/podprotectors";
const definition = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/podprotectors.podseidon.kubewharf.io";

/** Has the rights of manifests/base/check alone. */
const onCall = "on-call";

export const checkCases = e2eCases({
  "check: nothing is said of a sound installation, each planted fault is found, and a lost CRD is restored": [
    420 * second,
    run,
    { hasOwnClusters: true },
  ],
});

async function run(context: CaseContext): Promise<Figures> {
  const [core, worker, bare] = [
    await context.cluster("core"),
    await context.cluster("worker-1"),
    await context.cluster("worker-2"),
  ];
  const installation = await installFleet(context, core, worker);
  for (const { admin } of [core, worker]) {
    const kubelet = startKubelet({ admin, namespace: systemNamespace, bindTo: "node-0" });
    context.cleanup(() => kubelet.stop());
  }
  for (const { admin } of [core, worker]) await createNamespace(admin, context.namespace);
  await createPods(worker.admin, { namespace: context.namespace, count: 2, namePrefix: "web", labels });
  for (const cluster of [core, worker, bare]) await bindCheckRoles(context, cluster, onCall);
  const ofOnCall = kubeconfigOf(context, [core, worker, bare], onCall);
  const kubeconfig = kubeconfigOf(context, [core]);
  const check = (...more: readonly string[]): Promise<CommandOutcome> =>
    runCommand(ofOnCall, ["check", "--core=core", "--worker=worker-1=worker-1", ...more]);

  let lastWrong = "";
  const sound = await waitFor("nothing is said of a sound installation", soundLimitMs, async () => {
    const outcome = await check("--output=json");
    const wrong = wrongIn(findingsIn(outcome));
    lastWrong = wrong.join(", ");
    return outcome.exitCode === 0 && wrong.length === 0 && outcome;
  }).catch((error: unknown) => {
    throw new Error(`${String(error)}: ${lastWrong}`);
  });
  assert.deepEqual(
    findingsIn(sound).filter(({ level }) => level !== "ok"),
    [],
  );
  const printed = await check();
  assert.ok(
    printed.stdout.split("\n").every((line) => line.length <= 80),
    printed.stdout,
  );
  context.say(`what people see:\n${printed.stdout}`);

  const stage = await stageOf(context, { core, worker, bare });
  const durations: number[] = [];
  for (const one of plantedFaults) durations.push(await find(stage, one, check));
  const longestMs = Math.round(Math.max(...durations));
  assert.ok(longestMs < checkLimitMs, `a check of three clusters took ${longestMs} ms`);
  const restored = await lose(context, installation, kubeconfig, check);
  await installation.remove(context);
  return { faults: plantedFaults.length + 2, soundMs: Math.round(sound.durationMs), longestMs, restored };
}

async function stageOf(
  context: CaseContext,
  clusters: Record<"core" | "worker" | "bare", Cluster>,
): Promise<FaultStage> {
  const [good, expired, ending] = [
    await startStranger(context, 365, 0),
    await startStranger(context, 10, 20),
    await startStranger(context, 100, 90),
  ];
  return { ...clusters, namespace: context.namespace, strangers: { good, expired, ending } };
}

type Check = (...more: readonly string[]) => Promise<CommandOutcome>;

/** Resolves to the time that a check of three clusters took. */
async function find(
  stage: FaultStage,
  { fault, finds, says, isTold, plant, plantAgain }: PlantedFault,
  check: Check,
): Promise<number> {
  // In the third cluster nothing is, which is found as well.
  const all = [
    ...finds,
    ...(finds.includes("fail cell-shared") ? [] : ["fail webhook-configuration", "fail aggregator"]),
  ];
  const undo = await plant(stage);
  let seen: readonly SeenFinding[] = [];
  try {
    const { durationMs, exitCode } = await waitFor(`${fault} is found`, foundLimitMs, async () => {
      const outcome = await check("--worker=worker-2=worker-2", "--output=json");
      seen = findingsIn(outcome);
      if (all.every((one) => wrongIn(seen).includes(one))) return outcome;
      await plantAgain?.(stage);
      return false;
    });
    assert.equal(exitCode, 1);
    assert.ok(says === undefined || seen.some(({ text }) => says.test(text)), `${fault}: ${JSON.stringify(seen)}`);
    if (isTold !== undefined) await waitFor(`the roles tell of ${fault}`, toldLimitMs, () => isTold(stage));
    for (const { level, text, cure = "", page = "" } of seen)
      if (level === "fail" || level === "warn") assert.ok(cure !== "" && page.startsWith("docs/"), text);
    return durationMs;
  } catch (error) {
    throw error instanceof GiveUp ? error : new Error(`${fault}: ${String(error)}: ${wrongIn(seen).join(", ")}`);
  } finally {
    await undo();
  }
}

/** The generator goes, the CRD is lost, and the command brings it back with all objects and their status. */
async function lose(
  context: CaseContext,
  { core: { admin }, pods }: ManifestInstallation,
  kubeconfig: string,
  check: Check,
): Promise<number> {
  await admin.create(`/apis/apps/v1/namespaces/${context.namespace}/deployments`, deployment);
  const stored = `/apis/podseidon.kubewharf.io/v1alpha1/namespaces/${context.namespace}/podprotectors/deployment-web`;
  const counted = async (): Promise<PodProtector | false> => {
    const { code, body } = await admin.request<PodProtector>("GET", stored);
    return code === 200 && body.status?.cells.some(({ aggregation }) => aggregation !== undefined) === true && body;
  };
  const before = await waitFor("the workload is protected and counted", soundLimitMs, counted);
  for (const pod of pods.filter(({ deployment: of }) => componentOf(of) === "generator")) await pod.stop();
  const says = async (finding: string): Promise<void> => {
    await waitFor(`check says ${finding}`, foundLimitMs, async () => {
      return wrongIn(findingsIn(await check("--output=json"))).includes(finding);
    });
  };
  await says("fail generator");
  await admin.remove(definition);
  await says("fail crd");
  const file = path.join(context.directory, "podprotectors.json");
  const restore = ["restore", "crd", "--core=core", `--file=${file}`];
  const dry = await runCommand(kubeconfig, [...restore, "--dry-run"]);
  assert.equal(dry.exitCode, 0, dry.stderr);
  const count = (await admin.get<ObjectList<KubeObject>>(protectors)).items.length;
  const done = await runCommand(kubeconfig, restore);
  assert.equal(done.exitCode, 0, done.stdout + done.stderr);
  context.say(`what people see:\n${dry.stdout}\n${done.stdout}`);
  const after = await admin.get<PodProtector>(stored);
  assert.notEqual(after.metadata.uid, before.metadata.uid);
  assert.deepEqual(after.spec, before.spec);
  assert.ok(after.status?.cells.some(({ aggregation }) => aggregation !== undefined));
  const again = await runCommand(kubeconfig, restore);
  assert.equal(again.exitCode, 0);
  assert.match(again.stdout, /nothing to do/);
  await admin.mergePatch(`/apis/apps/v1/namespaces/${context.namespace}/deployments/web`, {
    metadata: { finalizers: null },
  });
  await admin.remove(`/apis/apps/v1/namespaces/${context.namespace}/deployments/web`);
  await admin.mergePatch(stored, { metadata: { finalizers: null } });
  await admin.remove(stored);
  return count;
}

const labels = { app: "web" };
const deployment = {
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "web" },
  spec: {
    replicas: 2,
    selector: { matchLabels: labels },
    template: { metadata: { labels }, spec: { containers: [{ name: "main", image: "x" }] } },
  },
};
