/** Two aggregators that both believe to lead the same cell. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { builtInResources as types } from "../../double/engine/resources.ts";
import { uniform } from "../../../src/util/rng.ts";
import { createSeededRng } from "../../support/seeded-rng.ts";
import { withRig } from "./rig.ts";

const statusWrite = /^PUT .*\/status$/;
const seconds = 60;

test("neither of two leaders writes older counts than the other did, and they do not chase each other", async () => {
  for (const lags of [
    [0, 0],
    [0, 5000],
    [3000, 200],
  ] as const) {
    await withRig(async (rig) => {
      const rng = createSeededRng(lags[0] + lags[1] + 1);
      await rig.protect("web");
      const first = await rig.start({ trigger: true, seed: 11 });
      const second = await rig.start({ trigger: true, seed: 12 });
      await rig.clock.advance(5000);
      [first.worker.lagMs, second.worker.lagMs] = lags;
      const alive: string[] = [];
      let recorded = 0;
      for (let turn = 0; turn < seconds; turn++) {
        if (alive.length < 5 || rng.next() < 0.5) {
          await rig.pod(`p${turn}`);
          alive.push(`p${turn}`);
        } else {
          const [victim] = alive.splice(Math.floor(uniform(rng, 0, alive.length)), 1);
          await rig.admit("web", victim!);
          await rig.workerEngine.delete(types.pods, "default", victim!, { gracePeriodSeconds: 0 });
        }
        await rig.clock.advance(1000);
        const version = Number(rig.cell("web")?.aggregation?.resourceVersion ?? 0);
        assert.ok(version >= recorded, `second ${turn}: version ${version} after ${recorded}`);
        recorded = version;
      }
      await rig.clock.advance(20_000);
      assert.equal(rig.available("web"), alive.length);
      assert.deepEqual(rig.buckets("web"), []);
      const writes = first.core.count(statusWrite) + second.core.count(statusWrite);
      assert.ok(writes <= 4 * seconds, `${writes} status writes, lags ${lags.join(" and ")}`);
      assert.equal(first.metrics.value("aggregator_worker_history_reset_total"), 0);
      assert.equal(second.metrics.value("aggregator_worker_history_reset_total"), 0);
      first.core.log = [];
      second.core.log = [];
      await rig.clock.advance(60_000);
      assert.deepEqual([...first.core.log, ...second.core.log], [], "at rest none writes");
    });
  }
});
