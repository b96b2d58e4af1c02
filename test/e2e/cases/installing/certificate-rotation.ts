/** The webhook's certificate is renewed as docs/install.md says, while the API server asks for reviews. */
import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { startDryReviews } from "../../installed/dry-reviews.ts";
import { installSingleCluster } from "../../installed/manifest-installation.ts";
import { kubectlOrFail, makeTlsFiles } from "../../overlay.ts";
import { createNamespace } from "../../objects/pods.ts";
import { type CaseContext, e2eCases, type Figures } from "../../runner/runner.ts";
import { shownBy } from "../../installed/manifest-pods.ts";
import { second, waitFor } from "../../clusters/wait.ts";

/** The webhook reads its files every 10 s. */
const rotationLimitMs = 30 * second;
/** Reviews with the new certificate and the new authority alone. */
const afterwardsMs = 2 * second;

export const certificateRotationCases = e2eCases({
  "certificate: the Secret is replaced while reviews run: none fails, and every replica shows the new one": [
    120 * second,
    run,
    { isAlone: true },
  ],
});

async function run(context: CaseContext): Promise<Figures> {
  const { namespace } = context;
  const core = await context.cluster("core");
  const installation = await installSingleCluster(context, core, ["webhook"]);
  const { folder, webhooks } = installation;
  await createNamespace(core.admin, namespace);
  const reviews = await startDryReviews(context, { core, worker: core });
  const tls = path.join(folder, "tls");
  const old = certificateIn(tls);
  for (const webhook of webhooks) assert.equal(await shownBy(webhook), old.fingerprint256);

  const startMs = performance.now();
  const oldAuthority = readFileSync(path.join(tls, "ca.crt"));
  await makeTlsFiles(tls);
  const both = Buffer.concat([oldAuthority, readFileSync(path.join(tls, "ca.crt"))]).toString("base64");
  const patch = [0, 1].map((at) => ({ op: "add", path: `/webhooks/${at}/clientConfig/caBundle`, value: both }));
  const configuration = ["validatingwebhookconfiguration", "podseidon"];
  await kubectlOrFail(context, core, "patch", ...configuration, "--type=json", "-p", JSON.stringify(patch));
  await kubectlOrFail(context, core, "apply", "-f", path.join(tls, "secret.yaml"));
  for (const volume of installation.volumes) await volume.sync();
  const renewed = certificateIn(tls);
  assert.notEqual(renewed.fingerprint256, old.fingerprint256);
  for (const webhook of webhooks) {
    const what = `${webhook.process.name} shows the new certificate`;
    await waitFor(what, rotationLimitMs, async () => (await shownBy(webhook)) === renewed.fingerprint256);
  }
  const rotationMs = Math.round(performance.now() - startMs);
  await kubectlOrFail(context, core, "apply", "-k", folder);
  const stored = await kubectlOrFail(
    context,
    core,
    "get",
    ...configuration,
    "-o",
    "jsonpath={.webhooks[0].clientConfig.caBundle}",
  );
  assert.deepEqual(Buffer.from(stored, "base64"), readFileSync(path.join(tls, "ca.crt")));
  const before = reviews.answered();
  await delay(afterwardsMs);
  assert.ok(reviews.answered() > before, "reviews go on");

  const { admitted, refused, failed } = await reviews.stop();
  assert.deepEqual(failed, []);
  assert.ok(admitted > 0 && refused > 0);
  for (const { process } of webhooks) assert.doesNotMatch(process.log(), /Invalid certificate/, process.name);
  await core.admin.remove(`/apis/podseidon.kubewharf.io/v1alpha1/namespaces/${namespace}/podprotectors/guarded`);
  await installation.remove(context);
  return { replicas: webhooks.length, reviewsAdmitted: admitted, reviewsRefused: refused, failed: 0, rotationMs };
}

function certificateIn(folder: string): X509Certificate {
  return new X509Certificate(readFileSync(path.join(folder, "tls.crt")));
}
