/** The webhook's certificate is renewed as docs/install.md says, while the API server asks for reviews. */
import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { connect } from "node:tls";
import { deletePods } from "../deletions.ts";
import { installSingleCluster } from "../manifest-installation.ts";
import { type ManifestPod } from "../manifest-pods.ts";
import { kubectlOrFail, makeTlsFiles } from "../overlay.ts";
import { createNamespace, createPods } from "../pods.ts";
import { type CaseContext, type E2eCase, type Figures } from "../runner.ts";
import { waitFor } from "../wait.ts";

const second = 1_000;
const handshakeLimitMs = 5 * second;
/** The webhook reads its files every 10 s. */
const rotationLimitMs = 30 * second;
/** Reviews with the new certificate and the new authority alone. */
const afterwardsMs = 2 * second;
const reviewers = 4;

export const certificateRotationCases: readonly E2eCase[] = [
  {
    name: "certificate: the Secret is replaced while reviews run: none fails, and every replica shows the new one",
    timeLimitMs: 120 * second,
    run,
  },
];

async function run(context: CaseContext): Promise<Figures> {
  const { namespace } = context;
  const core = await context.cluster("core");
  const installation = await installSingleCluster(context, core, ["webhook"]);
  const { folder, webhooks } = installation;
  const reviews = await startReviews(context);
  const tls = path.join(folder, "tls");
  const old = certificateIn(tls);
  for (const webhook of webhooks) assert.equal(await shownBy(webhook), old.fingerprint256);

  const startMs = performance.now();
  const oldAuthority = readFileSync(path.join(tls, "ca.crt"));
  makeTlsFiles(tls);
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

interface Reviews {
  /** So far. */
  answered(): number;
  stop(): Promise<{ readonly admitted: number; readonly refused: number; readonly failed: readonly string[] }>;
}

/**
 * Deletes two pods with dry-run, over and over: a plain one, which is admitted, and one that a PodProtector without
 * counts refuses.
 */
async function startReviews(context: CaseContext): Promise<Reviews> {
  const { namespace } = context;
  const { admin } = await context.cluster("core");
  await createNamespace(admin, namespace);
  await admin.create(`/apis/podseidon.kubewharf.io/v1alpha1/namespaces/${namespace}/podprotectors`, {
    apiVersion: "podseidon.kubewharf.io/v1alpha1",
    kind: "PodProtector",
    metadata: { name: "guarded" },
    spec: { minAvailable: 1, minReadySeconds: 0, selector: { matchLabels: { app: "guarded" } } },
  });
  await createPods(admin, { namespace, count: 1, namePrefix: "plain", labels: { app: "plain" } });
  await createPods(admin, { namespace, count: 1, namePrefix: "guarded", labels: { app: "guarded" } });
  const ask = async (name: string): Promise<{ code: number; message: string }> => {
    const [attempt] = await deletePods(admin, {
      namespace,
      names: [name],
      concurrency: 1,
      how: "delete",
      dryRun: true,
    });
    return attempt ?? { code: 0, message: "no attempt" };
  };
  await waitFor("the webhook is asked and knows the PodProtector", rotationLimitMs, async () => {
    return (await ask("guarded-0")).code === 429;
  });
  const counts = { admitted: 0, refused: 0 };
  const failed: string[] = [];
  const end = new AbortController();
  context.cleanup(() => end.abort());
  const review = async (): Promise<void> => {
    while (!end.signal.aborted) {
      const [plain, guarded] = await Promise.all([ask("plain-0"), ask("guarded-0")]);
      if (plain.code === 200) counts.admitted++;
      else failed.push(`plain: ${plain.code} ${plain.message}`);
      if (guarded.code === 429) counts.refused++;
      else failed.push(`guarded: ${guarded.code} ${guarded.message}`);
    }
  };
  const running = Promise.all(Array.from({ length: reviewers }, review));
  return {
    answered: () => counts.admitted + counts.refused,
    async stop() {
      end.abort();
      await running;
      return { ...counts, failed };
    },
  };
}

function certificateIn(folder: string): X509Certificate {
  return new X509Certificate(readFileSync(path.join(folder, "tls.crt")));
}

/** Fingerprint of the certificate that a new connection gets. */
async function shownBy(webhook: ManifestPod): Promise<string> {
  // What is shown matters here; the API server is the one that verifies it.
  const socket = connect({ host: "127.0.0.1", port: webhook.ports["webhook"] ?? 0, rejectUnauthorized: false });
  try {
    await once(socket, "secureConnect", { signal: AbortSignal.timeout(handshakeLimitMs) });
    return socket.getPeerX509Certificate()?.fingerprint256 ?? "";
  } finally {
    socket.destroy();
  }
}
