/** Webhook replicas are replaced one after the other under load, behind a balancer that does what a Service does. */
import assert from "node:assert/strict";
import { setTimeout as delay } from "node:timers/promises";
import { deletePods } from "../../objects/deletions.ts";
import { type Fleet } from "../../fleet/fleet.ts";
import { createPods, listPods } from "../../objects/pods.ts";
import { startProtectedPods } from "../../loads/protected-pods.ts";
import { followReadiness } from "../../fleet/ready-endpoints.ts";
import { startReviewLoad } from "../../objects/review-load.ts";
import { type CaseContext, e2eCases, type Figures } from "../../runner/runner.ts";

const second = 1_000;
const replicas = 3;
/** Every fifth of them needs quota and is recorded. */
const postedPerSecond = 400;
const reservingShare = 5;
/** Deletions in flight through the API server, which asks for reviews over connections of its own. */
const throughApiServer = 4;
/** The default of --webhook-drain-delay. */
const drainDelayMs = 3 * second;
const pauseMs = 500;

export const rollingRestartCases = e2eCases({
  "rolling restart: three webhook replicas one after the other under 500 reviews/s: every review is answered": [
    150 * second,
    restarted,
    { isAlone: true },
  ],
});

async function restarted(context: CaseContext): Promise<Figures> {
  const options = { workers: ["worker-1"], webhookReplicas: replicas, generator: false, podsPerCell: 60, floor: 10 };
  const { fleet } = await startProtectedPods(context, options);
  const { namespace, balancer, caPem } = fleet;
  const { admin } = await context.cluster("worker-1");
  assert.ok(balancer !== undefined);
  await createPods(admin, { namespace, count: 1, namePrefix: "plain", labels: { app: "plain" } });
  const [web] = await listPods(admin, namespace, "app=web");
  const [plain] = await listPods(admin, namespace, "app=plain");
  assert.ok(web !== undefined && plain !== undefined);

  const service = followReadiness(context, fleet);
  const posted = startReviewLoad({
    url: `https://127.0.0.1:${balancer.port}/worker-1`,
    caPem,
    perSecond: postedPerSecond,
    podOf: (n) => (n % reservingShare === 0 ? web : plain),
  });
  const asked = startDryRuns(context, fleet);
  const startMs = performance.now();
  await delay(pauseMs);
  const stopsMs: number[] = [];
  for (const [index, webhook] of fleet.webhooks.entries()) {
    const stopMs = performance.now();
    const { code } = await webhook.terminate();
    stopsMs.push(Math.round(performance.now() - stopMs));
    assert.equal(code, 0, webhook.process.log().slice(-1_000));
    assert.ok(service.leftOutMs(index) < performance.now() - drainDelayMs / 2, "it was unready long before it ended");
    fleet.webhooks[index] = await webhook.startAgain();
    await delay(pauseMs);
  }
  const elapsedMs = performance.now() - startMs;
  const direct = await posted.stop();
  const through = await asked.stop();
  service.stop();
  assert.deepEqual([...direct.failures, ...through.failures].slice(0, 20), []);
  const allowed = direct.answers.get("allowed") ?? 0;
  const forQuota = ["TooFewReplicas", "UnconfirmedAdmissions", "FullBuffer"];
  const refused = forQuota.reduce((sum, reason) => sum + (direct.answers.get(reason) ?? 0), 0);
  assert.equal(allowed + refused, direct.answered, JSON.stringify([...direct.answers]));
  assert.ok(allowed > direct.answered * (1 - 1 / reservingShare), "some deletions that need quota are admitted");
  for (const ms of stopsMs) assert.ok(ms >= drainDelayMs, `a replica stopped after ${ms} ms`);
  const perSecond = Math.round((1_000 * (direct.answered + through.answered)) / elapsedMs);
  return { reviews: direct.answered + through.answered, perSecond, failed: 0, refused, stopsMs: stopsMs.join("/") };
}

/** Deletions with dry-run, over and over: one that nobody protects, and one that needs quota. */
function startDryRuns(
  context: CaseContext,
  { namespace }: Fleet,
): { stop(): Promise<{ readonly answered: number; readonly failures: readonly string[] }> } {
  const end = new AbortController();
  context.cleanup(() => end.abort());
  const failures: string[] = [];
  let answered = 0;
  const ask = async (): Promise<void> => {
    const { admin } = await context.cluster("worker-1");
    while (!end.signal.aborted) {
      const how = { namespace, names: ["plain-0", "web-0"], concurrency: 2, how: "delete", dryRun: true } as const;
      for (const { code, message } of await deletePods(admin, how)) {
        if (code === 200 || code === 429) answered++;
        else failures.push(`through the API server: ${code} ${message}`);
      }
    }
  };
  const running = Promise.all(Array.from({ length: throughApiServer }, ask));
  return {
    async stop() {
      end.abort();
      await running;
      return { answered, failures };
    },
  };
}
