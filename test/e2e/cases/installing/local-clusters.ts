/**
 * What docs/local-clusters.md says of a webhook beside its cluster, as far as it takes no container: the arguments
 * behind `docker run`, the patches of the webhook configuration, and the certificate under the name that the container
 * gets.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { copyFileSync, mkdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { connect } from "node:tls";
import { fileURLToPath } from "node:url";
import { readDockerfile } from "../../../../scripts/image/image-root.ts";
import { allCommandBlocks } from "../../../pages/command-blocks.ts";
import { roleRuns } from "../../../pages/docker-runs.ts";
import { type KubeObject } from "../../clusters/admin-client.ts";
import { type Cluster } from "../../clusters/cluster.ts";
import { componentOf, dockerfile, startManifestPods, storedDeployments } from "../../installed/manifest-pods.ts";
import { allButAdmission, kubectlOrFail, removeOverlay, writeKustomization } from "../../overlay.ts";
import { freePorts } from "../../clusters/ports.ts";
import { type CaseContext, e2eCases, type Figures } from "../../runner/runner.ts";
import { GiveUp, second, waitFor } from "../../clusters/wait.ts";

const executable = fileURLToPath(new URL("../../../../dist/podseidon", import.meta.url));
const page = "docs/local-clusters.md";
const limitMs = 100 * second;
const configurations = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";

interface Configuration extends KubeObject {
  readonly webhooks: readonly {
    readonly clientConfig: { readonly url?: string; readonly service?: object; readonly caBundle?: string };
  }[];
}

export const localClusterCases = e2eCases({
  "packaging: the webhook that docs/local-clusters.md starts shows the issued certificate by its name there": [
    150 * second,
    run,
  ],
});

async function run(context: CaseContext): Promise<Figures> {
  const core = await context.cluster("core");
  const folder = path.join(context.directory, "my-cluster");
  const components = ["components/certificates/single"];
  writeKustomization(folder, { bases: ["overlays/single-cluster"], components });
  await kubectlOrFail(context, core, "apply", "-k", folder, "-l", allButAdmission);
  for (const deployment of await storedDeployments(core))
    if (componentOf(deployment) !== "webhook") await startManifestPods(context, core, deployment);
  const port = await startWebhook(context, core);

  await kubectlOrFail(context, core, "apply", "-k", folder);
  await runPatches(context, core);
  const url = new URL(await patchedUrl(core));
  const ca = await waitFor("the API server has an authority to trust", limitMs, () => trusted(core));
  assert.equal(await verifiedName({ port, ca, servername: url.hostname }), url.hostname);
  await kubectlOrFail(context, core, "delete", "validatingwebhookconfiguration", "podseidon");
  await removeOverlay(context, core, folder);
  return { url: url.href };
}

/** By the arguments of the page, with an administrator's kubeconfig as there. Resolves to its port once it is ready. */
async function startWebhook(context: CaseContext, core: Cluster): Promise<number> {
  const found = roleRuns().find(({ file }) => file === page);
  assert.ok(found !== undefined, `${page} has no docker run of a role`);
  const mounted = path.join(context.directory, "guard");
  mkdirSync(mounted);
  copyFileSync(core.kubeconfigPath("admin"), path.join(mounted, "core.kubeconfig"));
  const [port = 0, health = 0, metrics = 0] = await freePorts(3);
  const { env } = readDockerfile(readFileSync(dockerfile, "utf8"));
  const args = found.argv.map((arg) =>
    arg.replace("/etc/podseidon", mounted).replace(/^--webhook-https-port=.*/, `--webhook-https-port=${port}`),
  );
  const webhook = context.processes.start({
    name: "webhook",
    command: executable,
    args: [...args, `--healthz-port=${health}`, `--prometheus-http-port=${metrics}`],
    env: { ...process.env, ...env },
    logFile: path.join(context.directory, "webhook.log"),
  });
  await waitFor("the webhook of the page is ready", limitMs, async () => {
    if (webhook.exit() !== undefined) throw new GiveUp(`it ended:\n${webhook.log()}`);
    const answers = await Promise.allSettled([fetch(`http://127.0.0.1:${health}/readyz`)]);
    return answers.some((answer) => answer.status === "fulfilled" && answer.value.status === 200);
  });
  return port;
}

/** The loop of the page, by bash, with the real kubectl. */
async function runPatches(context: CaseContext, core: Cluster): Promise<void> {
  const [loop] = allCommandBlocks().flatMap(({ file, text }) =>
    file === page ? (/^for entry in[\s\S]*?^done$/m.exec(text)?.[0] ?? []) : [],
  );
  assert.ok(loop !== undefined, `${page} has no loop over the entries`);
  const patching = context.processes.start({
    name: "patches",
    command: "bash",
    args: ["-euc", `kubectl() { "${context.assets.kubectl}" "$@"; }\n${loop}`],
    env: { ...process.env, KUBECONFIG: core.kubeconfigPath("admin"), HOME: context.directory },
    logFile: path.join(context.directory, "patches.log"),
  });
  assert.deepEqual(await patching.exited, { code: 0, signal: null }, patching.log());
}

/** The one address in all entries of the webhook configuration. */
async function patchedUrl(core: Cluster): Promise<string> {
  const { webhooks } = await core.admin.get<Configuration>(`${configurations}/podseidon`);
  for (const { clientConfig } of webhooks) assert.equal(clientConfig.service, undefined);
  const [url, ...others] = new Set(webhooks.map(({ clientConfig }) => clientConfig.url));
  assert.deepEqual(others, [], "every entry has the same address");
  assert.ok(url !== undefined);
  return url;
}

/** The authorities in the webhook configuration, which the aggregator keeps there; undefined = none yet. */
async function trusted(core: Cluster): Promise<string | undefined> {
  const { webhooks } = await core.admin.get<Configuration>(`${configurations}/podseidon`);
  const [bundle, ...others] = new Set(webhooks.map(({ clientConfig }) => clientConfig.caBundle));
  return bundle === undefined || others.length > 0 ? undefined : Buffer.from(bundle, "base64").toString();
}

/** The name by which a client that trusts `ca` accepts the webhook's certificate. Throws where it does not. */
async function verifiedName(to: { port: number; ca: string; servername: string }): Promise<string> {
  const socket = connect({ host: "127.0.0.1", ...to });
  try {
    await once(socket, "secureConnect", { signal: AbortSignal.timeout(limitMs) });
    assert.ok(socket.authorized, String(socket.authorizationError));
    return to.servername;
  } finally {
    socket.destroy();
  }
}
