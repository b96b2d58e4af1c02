/**
 * The core has upstream's CRD, which drops Podseidon's extension fields: everything goes on with upstream's guarantee,
 * and says so.
 */
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { applyCrd } from "../../objects/crd.ts";
import { deletionFigures } from "../../objects/deletions.ts";
import { crdFile, type Fleet } from "../../fleet/fleet.ts";
import { deleteEverywhere, startProtectedPods } from "../../loads/protected-pods.ts";
import { type CaseContext, e2eCases, type Figures } from "../../runner/runner.ts";
import { second, waitFor } from "../../clusters/wait.ts";

const upstreamCrd = fileURLToPath(new URL("../../../manifests/crd/upstream-crd.yaml", import.meta.url));

export const upstreamCrdCases = e2eCases({
  "upstream's CRD: extension fields are dropped, the roles say so, and exactly 50 of 2 x 30 pods are left": [
    150 * second,
    pruned,
  ],
});

async function pruned(context: CaseContext): Promise<Figures> {
  const podsPerCell = 30;
  const floor = 50;
  const { admin } = await context.cluster("core");
  context.cleanup(() => applyCrd(admin, crdFile));
  const options = { podsPerCell, floor, crd: upstreamCrd, generator: false };
  const { fleet, available, names } = await startProtectedPods(context, options);

  const attempts = await deleteEverywhere(fleet, { names, inFlightPerCell: 10 });
  const figures = deletionFigures(attempts);
  // What has settled goes on being subtracted for a while, as in a cell that a Go aggregator counts: the counts do not
  // name their snapshot. So the first wave may leave quota, and whoever is refused gets it by trying again.
  await waitFor("the quota is used", 60 * second, async () => {
    if (available.serving > floor) await deleteEverywhere(fleet, { names, inFlightPerCell: 10 });
    return available.serving <= floor;
  });
  await fleet.waitCounted("web", floor);
  await fleet.waitSettled("web", 90 * second);
  const { status } = await fleet.protector("web");
  assert.ok(
    status?.cells.every(({ aggregation }) => aggregation?.countedSpec === undefined),
    "this CRD drops nothing, so the case proves nothing",
  );
  const again = deletionFigures(await deleteEverywhere(fleet, { names: names.slice(10, 30), inFlightPerCell: 10 }));
  assert.equal(again.deleted, 0);
  assert.equal(available.minimum, floor);

  assert.ok((await fleet.webhookCount("extension_fields_pruned_total")) > 0);
  const logs = fleet.webhooks.map((webhook) => webhook.process.log()).join("");
  assert.match(logs, /drops extension fields/);
  for (const aggregator of fleet.aggregators) {
    const metrics = await aggregator.metrics();
    assert.ok((metrics.value("extension_fields_pruned_total") ?? 0) > 0);
    assert.match(aggregator.process.log(), /drops extension fields/);
  }
  // A condition may follow the last refusals late; whoever writes for ever never comes to rest.
  let writesBefore = 0;
  let idleWrites = 0;
  await waitFor("the aggregators write nothing while nothing changes", 60 * second, async () => {
    writesBefore = await aggregatorCount(fleet, "aggregator_status_write_total");
    await waitSpins(fleet, 10);
    idleWrites = (await aggregatorCount(fleet, "aggregator_status_write_total")) - writesBefore;
    return idleWrites === 0;
  });
  return { ...figures, left: available.serving, aggregatorWrites: writesBefore, idleWrites };
}

async function aggregatorCount(fleet: Fleet, name: string): Promise<number> {
  const texts = await Promise.all(fleet.aggregators.map((aggregator) => aggregator.metrics()));
  return texts.reduce((sum, text) => sum + (text.value(name) ?? 0), 0);
}

/**
 * `count` more touches of the dummy pods: each of them makes the aggregators look whether there is something to write.
 */
async function waitSpins(fleet: Fleet, count: number): Promise<void> {
  const spins = "aggregator_update_trigger_spin";
  const before = await aggregatorCount(fleet, spins);
  await waitFor(`${count} touches`, 30 * second, async () => (await aggregatorCount(fleet, spins)) >= before + count);
}
