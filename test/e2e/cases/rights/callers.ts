/** The webhook of a fleet knows its callers by their certificates, as docs/install.md says. */
import assert from "node:assert/strict";
import path from "node:path";
import { type KubeObject, type ObjectList } from "../../clusters/admin-client.ts";
import {
  identifyApiServer,
  makeClientFiles,
  makeEndingAuthority,
  placeClientFiles,
  trustClients,
} from "../../caller-identity.ts";
import { type Cluster } from "../../clusters/cluster.ts";
import { deletePods } from "../../objects/deletions.ts";
import { reviewsAtOnce, startDryReviews } from "../../installed/dry-reviews.ts";
import { installFleet, type ManifestInstallation } from "../../installed/manifest-installation.ts";
import { kubectlOrFail } from "../../overlay.ts";
import { systemNamespace } from "../../clusters/role-accounts.ts";
import { createNamespace, createPods } from "../../objects/pods.ts";
import { type CaseContext, e2eCases, type Figures } from "../../runner/runner.ts";
import { present, second, waitFor } from "../../clusters/wait.ts";

/** The webhook reads its files every 10 s, and the API server learns of a configuration within a second or so. */
const changeLimitMs = 30 * second;
/**
 * When client-go finds a new certificate in the file it closes all of its connections (transport/cert_rotation.go), and
 * reviews that are under way on them fail: once, whatever the webhook does.
 */
const isCutByApiServer = /use of closed network connection/;
const isUnknown =
  /failed calling webhook "podseidon\.kubewharf\.io": .*a client certificate of an accepted CA is required/;

export const callerCases = e2eCases({
  "callers: an API server speaks for its own cell alone; its certificate is replaced while reviews run, and withdrawn":
    [180 * second, run],
});

async function run(context: CaseContext): Promise<Figures> {
  const [core, worker] = [await context.cluster("core"), await context.cluster("worker-1")];
  const installation = await installFleet(context, core, worker, {
    components: ["webhook"],
    corePatches: [furtherArgument("--webhook-client-cells=worker-2=worker-2")],
    isIdentified: false,
  });
  const { balancer, webhooks, client, workerFolder } = installation;
  for (const { admin } of [core, worker]) await createNamespace(admin, context.namespace);
  await createPods(worker.admin, { namespace: context.namespace, count: 1, namePrefix: "any", labels: { app: "any" } });
  const ask = () => dryDeletion(context, worker);

  const messages = [await refused("without a certificate the deletion is refused", ask, isUnknown)];
  await identifyApiServer(context, worker, `127.0.0.1:${balancer.port}`);
  await admitted("with one it is reviewed", ask);

  const reviews = await startDryReviews(context, { core, worker });
  const startMs = performance.now();
  const renewed = path.join(workerFolder, "client-renewed");
  makeClientFiles(renewed);
  await trust(context, installation, [client, renewed]);
  placeClientFiles(worker, renewed);
  await trust(context, installation, [renewed]);
  const rotationMs = Math.round(performance.now() - startMs);
  const { admitted: passed, refused: kept, failed } = await reviews.stop();
  const cut = failed.filter((one) => isCutByApiServer.test(one));
  assert.deepEqual(
    failed.filter((one) => !isCutByApiServer.test(one)),
    [],
  );
  assert.ok(passed > 0 && kept > 0 && cut.length <= reviewsAtOnce);
  reconnect(installation);
  await admitted("new connections show the new certificate", ask);

  await callCell(context, worker, balancer.port, "worker-2");
  const isForeign = /the client "worker-1" may not speak for the cell "worker-2" .*; allowed: "worker-1"/;
  messages.push(await refused("a review in the name of another cell is refused", ask, isForeign));
  const counts = await Promise.all(
    webhooks.map(async (pod) => (await pod.metrics()).value("webhook_http_error", { error: "CellNotOfClient" }) ?? 0),
  );
  assert.ok(counts.some((count) => count > 0));
  await callCell(context, worker, balancer.port, "worker-1");
  await admitted("its own cell is reviewed as before", ask);

  const other = path.join(workerFolder, "client-other");
  await makeEndingAuthority(other);
  await trust(context, installation, [other]);
  reconnect(installation);
  messages.push(await refused("a withdrawn certificate opens no connection", ask, isUnknown));

  await toldOfEnd(installation);

  for (const message of messages) context.say(`what kubectl shows: ${message}`);
  const guarded = `/apis/podseidon.kubewharf.io/v1alpha1/namespaces/${context.namespace}/podprotectors/guarded`;
  await core.admin.remove(guarded);
  await installation.remove(context);
  return {
    replicas: webhooks.length,
    reviewsAdmitted: passed,
    reviewsRefused: kept,
    cutByApiServer: cut.length,
    rotationMs,
  };
}

function furtherArgument(value: string): unknown {
  return {
    target: { kind: "Deployment", name: "podseidon-webhook" },
    patch: JSON.stringify([{ op: "add", path: "/spec/template/spec/containers/0/args/-", value }]),
  };
}

async function dryDeletion(context: CaseContext, { admin }: Cluster): Promise<{ code: number; message: string }> {
  const how = { namespace: context.namespace, names: ["any-0"], concurrency: 1, how: "delete", dryRun: true } as const;
  const [attempt] = await deletePods(admin, how);
  return attempt ?? { code: 0, message: "no attempt" };
}

type Ask = () => Promise<{ readonly code: number; readonly message: string }>;

/** Resolves to the message of the refusal. */
async function refused(what: string, ask: Ask, message: RegExp): Promise<string> {
  return waitFor(what, changeLimitMs, async () => {
    const answer = await ask();
    return answer.code === 500 && message.test(answer.message) && answer.message;
  });
}

async function admitted(what: string, ask: Ask): Promise<void> {
  await waitFor(what, changeLimitMs, async () => (await ask()).code === 200);
}

/** Resolves when every webhook has read the authorities of these folders. */
async function trust(
  context: CaseContext,
  { core, webhooks, volumes }: ManifestInstallation,
  folders: readonly string[],
): Promise<void> {
  const reloads = (log: string): number => log.split("Certificate reloaded").length - 1;
  const before = webhooks.map(({ process }) => reloads(process.log()));
  await trustClients(context, core, folders);
  for (const volume of volumes) await volume.sync();
  for (const [index, { process }] of webhooks.entries()) {
    const what = `${process.name} reads the authorities`;
    await waitFor(what, changeLimitMs, async () => reloads(process.log()) > (before[index] ?? 0));
  }
}

/** Resolves when the Deployment shows that a certificate is about to end, as `kubectl describe` finds it. */
async function toldOfEnd({ core, webhooks }: ManifestInstallation): Promise<void> {
  for (const pod of webhooks) {
    const metrics = await pod.metrics();
    const end = (use: string) => metrics.value("certificate_expiry_timestamp_seconds", { use }) ?? 0;
    assert.ok(end("webhook client authorities") < end("webhook https"), pod.process.name);
  }
  const uid = present(webhooks[0]?.deployment.metadata.uid);
  await waitFor("the Deployment has an Event", changeLimitMs, async () => {
    const all = await core.admin.get<ObjectList<Event>>(`/api/v1/namespaces/${systemNamespace}/events`);
    return all.items.some(({ reason, involvedObject }) => {
      return reason === "CertificateExpiresSoon" && involvedObject.uid === uid;
    });
  });
}

interface Event extends KubeObject {
  readonly reason: string;
  readonly involvedObject: { readonly uid?: string };
}

/** The next calls need connections of their own. */
function reconnect({ balancer }: ManifestInstallation): void {
  balancer.cut();
  balancer.heal();
}

async function callCell(context: CaseContext, worker: Cluster, port: number, cell: string): Promise<void> {
  const value = `https://127.0.0.1:${port}/${cell}`;
  const patch = [0, 1].map((at) => ({ op: "replace", path: `/webhooks/${at}/clientConfig/url`, value }));
  const which = ["patch", "validatingwebhookconfiguration", "podseidon", "--type=json"];
  await kubectlOrFail(context, worker, ...which, "-p", JSON.stringify(patch));
}
