/** Replicas that all want to write one PodProtector as fast as they can. */
import assert from "node:assert/strict";
import { sleep } from "../../../../../src/util/clock.ts";
import { createVirtualClock } from "../../../../support/virtual-clock.ts";
import { FakeCore } from "../../support/fake-core.ts";
import { cell, deleteReview, pod, protector } from "../../support/objects.ts";
import { createReplica } from "../../support/replica.ts";

const callersOfEach = 4;
const runMs = 2_000;
const aggregateEveryMs = 500;

/** The replicas write one PodProtector in turns: few conflicts, equal shares. */
export async function writeInTurns(replicasCount: number): Promise<void> {
  const clock = createVirtualClock();
  const core = new FakeCore(clock);
  core.put(protector({ minAvailable: 1, cells: [cell("c1", 100_000)] }));
  const replicas = Array.from({ length: replicasCount }, (_, index) => createReplica(clock, core, { seed: index }));
  const admitted = replicas.map(() => 0);
  let pods = 0;
  const isRunning = (): boolean => clock.monotonicMs() < runMs;
  const call = async (index: number): Promise<void> => {
    while (isRunning()) {
      const answer = await replicas[index]?.send(deleteReview(pod(`p${pods++}`)));
      if (answer?.allowed === true) admitted[index] = (admitted[index] ?? 0) + 1;
      await sleep(clock, 1);
    }
  };
  const aggregate = async (): Promise<void> => {
    for (let version = 2_000; isRunning(); version += 1) {
      await sleep(clock, aggregateEveryMs);
      core.update("ns/web", (status) => void (status.cells = [cell("c1", 100_000, { resourceVersion: `${version}` })]));
    }
  };
  const all = [
    aggregate(),
    ...replicas.flatMap((_, index) => Array.from({ length: callersOfEach }, () => call(index))),
  ];
  await clock.advance(2 * runMs);
  await Promise.all(all);
  const conflictShare = core.conflicts / (core.writes + core.conflicts);
  const total = admitted.reduce((sum, one) => sum + one, 0);
  const text = `${core.conflicts} conflicts, ${core.writes} writes, ${admitted.join(" + ")} admitted`;
  assert.ok(conflictShare < 0.1, text);
  for (const one of admitted) assert.ok(one > total / replicasCount / 1.5, text);
  // Ten milliseconds a write, and hardly any time between them.
  assert.ok(core.writes > (0.7 * runMs) / 10, text);
}
