/** Reviews without an end, for cases that change something beneath them. */
import { type Cluster } from "../clusters/cluster.ts";
import { deletePods } from "../objects/deletions.ts";
import { createPods } from "../objects/pods.ts";
import { type CaseContext } from "../runner/runner.ts";
import { waitFor } from "../clusters/wait.ts";

const knownLimitMs = 30_000;
const reviewers = 4;
/** Under way at any moment: each reviewer asks for both pods. */
export const reviewsAtOnce = 2 * reviewers;

export interface DryReviews {
  /** So far. */
  answered(): number;
  stop(): Promise<{ readonly admitted: number; readonly refused: number; readonly failed: readonly string[] }>;
}

/**
 * Deletes two pods with dry-run, over and over: a plain one, which is admitted, and one that a PodProtector without
 * counts refuses. The namespace is there in
 * both clusters; the PodProtector stays when the case ends.
 */
export async function startDryReviews(
  context: CaseContext,
  { core, worker }: { readonly core: Cluster; readonly worker: Cluster },
): Promise<DryReviews> {
  const { namespace } = context;
  const { admin } = worker;
  await core.admin.create(`/apis/podseidon.kubewharf.io/v1alpha1/namespaces/${namespace}/podprotectors`, {
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
  await waitFor("the webhook is asked and knows the PodProtector", knownLimitMs, async () => {
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
