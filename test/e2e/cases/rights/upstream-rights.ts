/**
 * The accounts of the original's chart, unchanged: all roles do what the original does, and each says once what it may
 * not do.
 */
import assert from "node:assert/strict";
import { silenceArgs, waitCellState } from "../../fleet/cell-states.ts";
import { type Fleet, startFleet } from "../../fleet/fleet.ts";
import { createNamespace } from "../../objects/pods.ts";
import { type PodseidonProcess } from "../../fleet/process.ts";
import { ProtectionProof } from "../../installed/protection-proof.ts";
import { type CaseContext, e2eCases, type Figures } from "../../runner/runner.ts";
import { createUpstreamAccounts, type UpstreamPlace } from "../../rights/upstream-rights.ts";
import { present, second, waitFor } from "../../clusters/wait.ts";

/** The least, so that what is refused is tried again many times in the case. */
const silentAfterMs = 10 * second;

export const upstreamRightsCases = e2eCases({
  "upstream's RBAC: one release in one cluster protects a Deployment and says once what it may not do": [
    180 * second,
    (context) => protects(context, "core"),
  ],
  "upstream's RBAC: a core and a worker protect a Deployment and say once what they may not do": [
    180 * second,
    (context) => protects(context, "worker-1"),
  ],
});

async function protects(context: CaseContext, workerName: string): Promise<Figures> {
  const core = await context.cluster("core");
  const worker = await context.cluster(workerName);
  const accounts = `${context.namespace}-accounts`;
  const placesOf = (name: string): readonly UpstreamPlace[] =>
    (["core", "worker"] as const).filter((place) => name === (place === "core" ? "core" : workerName));
  const kubeconfigs = new Map(
    await Promise.all(
      [...new Set([core, worker])].map(async (cluster) => {
        await createNamespace(cluster.admin, accounts);
        const places = placesOf(cluster.name);
        return [cluster, await createUpstreamAccounts({ cluster, places }, accounts)] as const;
      }),
    ),
  );
  const fleet = await startFleet(context, {
    workers: [workerName],
    webhookReplicas: 1,
    kubeconfig: (cluster, role) => kubeconfigs.get(cluster)?.(role) ?? "",
    commonArgs: silenceArgs(silentAfterMs),
  });
  const proof = new ProtectionProof(context, { core, worker, namespace: context.namespace });
  const begun = await proof.begin();
  await fleet.waitIntercepted();
  const figures = { ...begun, ...(await proof.deletions()), ...(await proof.eviction()) };
  await proof.end();
  await proof.lostSource();
  // In one cluster the aggregator may create and update Leases, but not patch them: its cell must not seem to be dead.
  if (core === worker && fleet.generator !== undefined)
    await waitCellState([fleet.generator], core.name, "beating", 60 * second);
  const said = await saysWhatIsMissing(context, fleet);
  return { ...figures, said };
}

/** Resolves to the number of different lines. */
async function saysWhatIsMissing(context: CaseContext, fleet: Fleet): Promise<number> {
  const webhook = present(fleet.webhooks[0]);
  const aggregator = present(fleet.aggregators[0]);
  const { generator } = fleet;
  assert.ok(generator !== undefined);
  await waitFor("the webhook has asked several times for what it may not see", 30 * second, async () => {
    const metrics = await webhook.metrics();
    return (metrics.value("cell_lease_list_total", { result: "forbidden" }) ?? 0) >= 3;
  });
  const patches = (await generator.metrics()).value("kube_client_update_instead_of_patch_total");
  assert.ok((patches ?? 0) > 0, "the generator counts what it may not patch");
  const lines = [webhook, aggregator, generator].flatMap((role) => linesOnRights(role));
  for (const line of lines) context.say(line);
  const repeated = lines.filter((line, index) => lines.indexOf(line) !== index);
  assert.deepEqual(repeated, [], "each role says once what it may not do");
  for (const role of [webhook, aggregator, generator]) {
    const own = lines.filter((line) => line.startsWith(`${role.process.name}:`));
    assert.ok(own.length > 0, `${role.process.name} does not say what it may not do`);
  }
  return lines.length;
}

interface LogLine {
  readonly level: string;
  readonly msg: string;
  readonly resource?: string;
  /** Of what may not be listed. */
  readonly informer?: string;
  readonly err?: { readonly kind?: string; readonly message?: string };
}

/** Lines about answers of 403. */
function linesOnRights({ process }: PodseidonProcess): readonly string[] {
  const lines = process.log().trimEnd().split("\n");
  return lines
    .map((line) => JSON.parse(line) as LogLine)
    .filter((line) => line.err?.kind === "forbidden")
    .map(({ msg, resource, informer }) => `${process.name}: ${msg} ${resource ?? informer ?? ""}`.trimEnd());
}
