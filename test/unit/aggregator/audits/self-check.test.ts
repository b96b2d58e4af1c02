import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { type ObjectKey, objectKey } from "../../../../src/api/object-key.ts";
import { type PodRecord, readPodRecord } from "../../../../src/api/pod.ts";
import { MatchTable } from "../../../../src/aggregator/counting/match-table.ts";
import { SelfCheck } from "../../../../src/aggregator/audits/self-check.ts";
import { type StoredProtector } from "../../../../src/kube/resources.ts";
import { silentLogger } from "../../../../src/util/logger.ts";
import { createSeededRng } from "../../../support/seeded-rng.ts";
import { createVirtualClock } from "../../../support/virtual-clock.ts";
import { createCountingMetrics } from "../../kube/counting-metrics.ts";
import { createAggregatorMetrics } from "../../../../src/aggregator/metrics.ts";
import { selecting } from "../protectors.ts";
import { withRig } from "../rig.ts";

const key = objectKey("default", "web");
const minutes = (count: number): number => count * 75_000;

function pod(name: string, app = "web"): PodRecord {
  const metadata = { name, namespace: "default", uid: `uid-${name}`, resourceVersion: "5", labels: { app } };
  return readPodRecord({ metadata })!;
}

/** A check over these pods, of which the table was told what `tell` does. */
async function check(
  stored: readonly PodRecord[],
  tell: (table: MatchTable) => void,
  checkedTable?: (table: MatchTable) => Pick<MatchTable, "podKeysOf" | "rebuild">,
) {
  const clock = createVirtualClock();
  const metrics = createCountingMetrics();
  const pods = new Map(stored.map((one) => [one.key, one]));
  const protector = selecting({ matchLabels: { app: "web" } });
  const table = new MatchTable();
  table.trackProtector(key, protector);
  tell(table);
  const repaired: ObjectKey[] = [];
  const errors: string[] = [];
  const error = (message: string, fields?: object) => void errors.push(`${message} ${JSON.stringify(fields)}`);
  const logger = { ...silentLogger, error };
  const check = new SelfCheck({
    table: checkedTable?.(table) ?? table,
    pods: { get: (podKey) => pods.get(podKey), values: () => pods.values(), hasSynced: () => true },
    protectors: { values: () => [{ key, protector } as StoredProtector].values() },
    onRepaired: (keys) => repaired.push(...keys),
    clock,
    rng: createSeededRng(1),
    logger,
    metrics: createAggregatorMetrics(metrics),
  });
  const end = new AbortController();
  const running = check.run(end.signal);
  await clock.advance(minutes(1));
  end.abort();
  await running;
  const results = ["same", "wrong", "repaired", "unrepaired"].map((result) =>
    metrics.value("aggregator_self_check_total", { result }),
  );
  return { table, repaired, errors, results };
}

test("a check of what is right says nothing but that it was the same", async () => {
  const pods = [pod("a"), pod("b"), pod("c", "other")];
  const { errors, repaired, results } = await check(pods, (table) => {
    for (const one of pods) table.podChanged(one, undefined);
  });
  assert.deepEqual([errors, repaired, results], [[], [], [1, 0, 0, 0]]);
});

test("a pod that was missed, one that is gone and one with other labels are found, named and repaired", async () => {
  const [kept, missed, moved] = [pod("kept"), pod("missed"), pod("moved", "other")];
  const { table, errors, repaired, results } = await check([kept, missed, moved], (of) => {
    for (const one of [kept, pod("gone"), pod("moved")]) of.podChanged(one, undefined);
  });
  assert.deepEqual([...table.podKeysOf(key)].toSorted(), ["default/kept", "default/missed"]);
  assert.deepEqual([repaired, results], [[key], [0, 1, 1, 0]]);
  assert.match(errors.join("\n"), /^PodProtector counted the wrong pods by a bug, .*"default\/web","pods":2,"wrong":3/);
});

test("what cannot be repaired is told, with the way out", async () => {
  const { errors, results } = await check(
    [pod("a")],
    () => {},
    (table) => ({ podKeysOf: (one) => table.podKeysOf(one), rebuild: () => new Set([key]) }),
  );
  assert.deepEqual(results, [0, 1, 0, 1]);
  assert.match(errors.join("\n"), /restart this process/);
});

test("a leader whose table has missed a pod writes the right count within two minutes", async () => {
  await withRig(async (rig) => {
    await rig.protect("web");
    await rig.pod("a");
    const running = await rig.start();
    const end = new AbortController();
    const checking = running.aggregator.selfCheck.run(end.signal);
    await rig.after(20_000, { available: 1 });
    const deaf = mock.method(MatchTable.prototype, "podChanged", () => []);
    await rig.pod("b");
    await rig.clock.advance(0);
    deaf.mock.restore();
    await rig.after(10_000, { available: 1 }, "the pod was missed");
    await rig.clock.advance(minutes(1));
    assert.equal(rig.available("web"), 2);
    assert.equal(running.metrics.value("aggregator_self_check_total", { result: "repaired" }), 1);
    end.abort();
    await checking;
    assert.ok(running.logs.some(({ message }) => message.startsWith("PodProtector counted the wrong pods")));
  });
});
