/**
 * The Helm chart on a real API server: installed, upgraded to guard, and uninstalled. The Job of its hook is played
 * here, with the rights of its account: nothing is left, and nothing else has changed.
 */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import path from "node:path";
import { promisify } from "node:util";
import { resolveGoTool } from "../../../../scripts/go/go-tool.ts";
import { helm } from "../../../../scripts/go/helm.ts";
import { manifestsFolder } from "../../../manifests/manifest-files.ts";
import { type KubeObject } from "../../clusters/admin-client.ts";
import { type Cluster } from "../../clusters/cluster.ts";
import { kubectl } from "../../clusters/kubectl.ts";
import { difference, takeSnapshot } from "../../objects/object-snapshot.ts";
import { OnCall } from "../../installed/on-call.ts";
import { program } from "../../fleet/process.ts";
import { type CaseContext, e2eCases, type Figures } from "../../runner/runner.ts";
import { second, waitFor } from "../../clusters/wait.ts";

const namespace = "kube-system";
const chart = path.join(manifestsFolder, "chart");
const configurationPath = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/podseidon";
const jobPath = `/apis/batch/v1/namespaces/${namespace}/jobs/uninstall-podseidon`;
const release = ["podseidon", "--namespace", namespace] as const;

interface Job extends KubeObject {
  readonly spec: { readonly template: { readonly spec: { readonly containers: readonly [{ args: string[] }] } } };
}

export const chartCases = e2eCases({
  "chart: helm installs, guards in a second step, and uninstalls with nothing left behind": [
    240 * second,
    run,
    { isLong: true },
  ],
});

async function run(context: CaseContext): Promise<Figures> {
  const cluster = await context.cluster("uninstalled");
  const administrator = OnCall.administrator(context, cluster);
  // The accounts and policies that each cluster of these tests has from the beginning.
  const blank = await administrator.run("uninstall", "single", "--yes");
  assert.equal(blank.exitCode, 0, blank.stderr);
  const before = await takeSnapshot(cluster.admin);
  const file = await resolveGoTool(helm, (line) => context.say(line));
  const run = async (...args: readonly string[]): Promise<void> => {
    const options = { kubectl: file, processes: context.processes, cluster };
    const { code, stdout, stderr } = await kubectl(options, ...args);
    assert.equal(code, 0, `helm ${args.join(" ")}: ${stdout}${stderr}`);
  };
  await run("install", release[0], chart, ...release.slice(1));
  const isGuarded = async (): Promise<boolean> => (await cluster.admin.request("GET", configurationPath)).code === 200;
  assert.equal(await isGuarded(), false);
  const guard = ["--set", "admission.enabled=true,admission.caBundle=Y2E="];
  await run("upgrade", release[0], chart, ...release.slice(1), "--reuse-values", ...guard);
  assert.equal(await isGuarded(), true);
  const installed = difference(before, await takeSnapshot(cluster.admin)).length;
  await Promise.all([run("uninstall", ...release, "--timeout=3m"), playJob(cluster)]);
  let left: readonly string[] = [];
  await waitFor("nothing is left, and nothing else has changed", 30 * second, async () => {
    left = difference(before, await takeSnapshot(cluster.admin));
    return left.length === 0;
  }).catch((error: unknown) => assert.deepEqual(left, [], String(error)));
  return { installed };
}

/** As a kubelet and the controller of Jobs do. */
async function playJob(cluster: Cluster): Promise<void> {
  const { admin } = cluster;
  await waitFor("the hook has its Job", 60 * second, async () => (await admin.request("GET", jobPath)).code === 200);
  const { spec } = await admin.get<Job>(jobPath);
  const token = await cluster.serviceAccountToken(namespace, "uninstall-podseidon");
  // In the pod the context is of the file in the ConfigMap; here the file has another one.
  const args = spec.template.spec.containers[0].args;
  const { command, args: first } = program();
  const env = { ...process.env, KUBECONFIG: cluster.kubeconfigForToken("uninstall-podseidon", token) };
  await promisify(execFile)(command, [...first, ...args], { env, timeout: 150 * second });
  const now = new Date().toISOString();
  const condition = (type: string) => ({ type, status: "True", lastTransitionTime: now });
  const conditions = ["SuccessCriteriaMet", "Complete"].map(condition);
  const status = { startTime: now, completionTime: now, succeeded: 1, conditions };
  await admin.mergePatch(`${jobPath}/status`, { status });
}
