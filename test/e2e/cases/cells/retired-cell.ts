/**
 * A cell that is to be retired while its cluster comes back (docs/cells.md#retire-a-cell). The generator is stopped at
 * the worst moment: the retirement has begun, the cell's entry has stood unchanged for a settle window by its clock,
 * and it goes on before it has heard the cell.
 */
import assert from "node:assert/strict";
import { setTimeout as delay } from "node:timers/promises";
import { cellLeaseAnnotations, cellLeaseName } from "../../../../src/api/cell-lease.ts";
import { ghostWindowMs } from "../../../../src/generator/cells/leaving-cells.ts";
import { cellLease, cellLeasePath, scaledMs, silenceArgs, waitBeats, waitCellState } from "../../fleet/cell-states.ts";
import { startProtectedPods, webLabels } from "../../loads/protected-pods.ts";
import { useAllQuota } from "../../loads/patient-caller.ts";
import { deleteNow } from "../../objects/deletions.ts";
import { eventMessage } from "../../objects/events.ts";
import { createPods } from "../../objects/pods.ts";
import { type CaseContext, e2eCases, type Figures } from "../../runner/runner.ts";
import { present, second, waitFor } from "../../clusters/wait.ts";

const silentAfterMs = 12 * second;
const soonMs = 60 * second;
/** Ends a wait for what happens when a cell is silent. */
const silenceLimitMs = scaledMs(240 * second, silentAfterMs) + soonMs;
const podsPerCell = 4;
const floor = 4;

export const retiredCellCases = e2eCases({
  "retiring: a cell that is back while it leaves the PodProtectors is kept, with all that is admitted in it": [
    300 * second,
    backWhileRetired,
    // Other cases leave PodProtectors that nobody changes any more.
    { isLong: true, hasOwnClusters: true },
  ],
});

async function backWhileRetired(context: CaseContext): Promise<Figures> {
  const { fleet, available, names } = await startProtectedPods(context, {
    podsPerCell,
    floor,
    commonArgs: silenceArgs(silentAfterMs),
    // It stops for longer than its Lease lasts.
    generatorArgs: ["--generator-leader-elector-enable=false"],
  });
  const { core, namespace } = fleet;
  const [back, other] = fleet.workers;
  const aggregator = present(fleet.aggregators[0]);
  const generator = present(fleet.generator);
  assert.ok(back !== undefined && other !== undefined);
  const observers = [...fleet.webhooks, generator];
  const told = (reason: string): Promise<string> => {
    const query = { namespace, reason, about: { kind: "Lease", name: cellLeaseName(back.cell) } };
    return waitFor(`the Event ${reason}`, silenceLimitMs, () => eventMessage(core.admin, query));
  };
  await waitBeats(fleet, back.cell, 2, soonMs);
  await waitCellState(observers, back.cell, "beating", soonMs);
  await aggregator.kill();
  await waitCellState(observers, back.cell, "silent", silenceLimitMs);

  const forget = { metadata: { annotations: { [cellLeaseAnnotations.forget]: "true" } } };
  await core.admin.mergePatch(cellLeasePath(fleet, back.cell), forget);
  context.say(await told("CellRetiring"));
  const retiringMs = performance.now();
  generator.process.signal("SIGSTOP");
  context.cleanup(() => generator.process.signal("SIGCONT"));
  fleet.aggregators[0] = await aggregator.startAgain();
  await waitCellState(fleet.webhooks, back.cell, "beating", soonMs);
  const refused = await deleteNow(back.cluster.admin, namespace, names[0] ?? "");
  assert.equal(refused.code, 429, "admitted in a cell that is leaving");
  assert.match(refused.message, /is being retired/);
  context.say(refused.message);
  await createPods(back.cluster.admin, { namespace, count: 1, namePrefix: "more", labels: webLabels });
  await fleet.waitCounted("web", 2 * podsPerCell + 1);

  await delay(ghostWindowMs + second - (performance.now() - retiringMs), undefined, { signal: context.signal });
  generator.process.signal("SIGCONT");
  context.say(await told("CellNotRetired"));
  await waitFor("the mark is taken off", soonMs, async () => {
    return (await cellLease(fleet, back.cell)).metadata.annotations?.[cellLeaseAnnotations.forget] === undefined;
  });
  const attempts = await waitFor("a deletion in the cell is admitted", soonMs, async () => {
    const attempt = await deleteNow(back.cluster.admin, namespace, names[0] ?? "");
    return attempt.code === 200 && [attempt];
  });
  await useAllQuota(fleet, available, { protector: "web", names: [...names, "more-0"], attempts, floor });
  await fleet.waitCounted("web", floor);
  await fleet.waitSettled("web", soonMs);
  assert.equal(available.serving, floor);
  assert.equal(available.minimum, floor);
  const removed = (await generator.metrics()).value("generator_cells_removed_total") ?? 0;
  assert.equal(removed, 0, "a cell that is alive has left a PodProtector");
  const { status } = await fleet.protector("web");
  assert.deepEqual(status?.cells.map(({ cellID }) => cellID).toSorted(), [back.cell, other.cell].toSorted());
  return { left: available.serving };
}
