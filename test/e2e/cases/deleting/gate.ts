/** The ValidatingWebhookConfiguration is deleted: nothing is judged any more, and somebody must be told. */
import { eventMessage } from "../../objects/events.ts";
import { type CaseContext, e2eCases, type Figures } from "../../runner/runner.ts";
import { startProtectedPods } from "../../loads/protected-pods.ts";
import { present, second, waitFor } from "../../clusters/wait.ts";
import { removeWebhookConfiguration } from "../../objects/webhook-configuration.ts";

export const gateCases = e2eCases({
  "gate: the webhook configuration of a worker is deleted: noticed within 2 minutes, and seen when it is back": [
    400 * second,
    lost,
  ],
});

async function lost(context: CaseContext): Promise<Figures> {
  // Where the dummy pod is.
  const furtherNamespaces = ["default"];
  const { fleet } = await startProtectedPods(context, {
    podsPerCell: 2,
    floor: 1,
    workers: ["worker-1"],
    webhookReplicas: 1,
    furtherNamespaces,
  });
  const worker = present(fleet.workers[0]);
  const aggregator = present(fleet.aggregators[0]);
  const waitState = async (state: string, limitMs: number): Promise<number> => {
    const startMs = performance.now();
    await waitFor(`the gate is ${state}`, limitMs, async () => {
      return (await aggregator.metrics()).value("aggregator_gate", { state }) === 1;
    });
    return Math.round(performance.now() - startMs);
  };
  await waitState("ok", 120 * second);
  await removeWebhookConfiguration(worker.cluster.admin, `${fleet.namespace}-${worker.cell}`);
  const noticedMs = await waitState("missing", 120 * second);
  const query = { namespace: fleet.namespace, reason: "GateMissing" };
  await waitFor("an Event tells of it", 30 * second, () => eventMessage(fleet.core.admin, query));
  await aggregator.waitReady(second);
  await fleet.intercept(context, fleet.caPem, { furtherNamespaces });
  const backMs = await waitState("ok", 120 * second);
  return { noticedMs, backMs };
}
