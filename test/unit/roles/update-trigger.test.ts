import assert from "node:assert/strict";
import { test } from "node:test";
import { createUpdateTrigger } from "../../../src/roles/update-trigger.ts";
import { createAggregator } from "../../../src/roles/aggregator.ts";
import { cellID, withRig } from "../aggregator/rig.ts";
import { builtInResources as types } from "../../double/engine/resources.ts";
import { createEngineRuntime, startAll, stopAll } from "./engine-runtime.ts";

test("touches the dummy pod from the start on, until the stop", () =>
  withRig(async (rig) => {
    const runtime = createEngineRuntime(rig, ["--role=update-trigger"]);
    const components = await createUpdateTrigger(runtime);
    assert.deepEqual(runtime.worker.log, []);
    await startAll(components);
    await rig.clock.advance(3500);
    const { metadata } = rig.workerEngine.get(types.pods, "default", "podseidon-update-trigger");
    assert.deepEqual(metadata.annotations, {
      "podseidon.kubewharf.io/update-trigger-time": "2026-01-01T00:00:03.000000Z",
    });
    assert.deepEqual(runtime.core.log, []);
    await stopAll(rig, components);
    assert.equal(rig.clock.pendingTimers, 0);
  }));

test("the flags decide about the pod", () =>
  withRig(async (rig) => {
    const runtime = createEngineRuntime(rig, [
      "--role=update-trigger",
      "--update-trigger-update-frequency=5s",
      "--update-trigger-dummy-pod-name=dummy",
      "--update-trigger-dummy-pod-namespace=kube-system",
      "--update-trigger-dummy-pod-labels=cell=one",
      "--update-trigger-dummy-pod-annotations=note=dummy",
      "--update-trigger-dummy-pod-image=pause",
      "--update-trigger-dummy-pod-scheduler=nobody",
    ]);
    const components = await createUpdateTrigger(runtime);
    await startAll(components);
    await rig.clock.advance(5500);
    const { metadata, spec } = rig.workerEngine.get(types.pods, "kube-system", "dummy");
    assert.deepEqual(metadata.labels, { cell: "one" });
    assert.deepEqual(metadata.annotations, {
      note: "dummy",
      "podseidon.kubewharf.io/update-trigger-time": "2026-01-01T00:00:05.000000Z",
    });
    assert.equal(spec?.["schedulerName"], "nobody");
    assert.match(JSON.stringify(spec?.["containers"]), /"image":"pause"/);
    await stopAll(rig, components);
  }));

test("beside an aggregator that touches too, both go on touching one pod without an error", () =>
  withRig(async (rig) => {
    const alone = createEngineRuntime(rig, ["--role=update-trigger"], 1);
    const inside = createEngineRuntime(rig, ["--role=aggregator", `--aggregator-cell-id=${cellID}`], 2);
    await rig.protect("web");
    await rig.pod("a");
    const components = [...(await createUpdateTrigger(alone)), ...(await createAggregator(inside))];
    await startAll(components);
    await rig.clock.advance(10_000);
    for (const { metrics } of [alone, inside]) {
      assert.ok(metrics.value("aggregator_update_trigger_spin", { event: "update", error: "nil" }) >= 5);
      for (const event of ["update", "create"]) {
        const spins = (error: string) => metrics.value("aggregator_update_trigger_spin", { event, error });
        assert.equal(spins("conflict") + spins("alreadyExists") + spins("notFound"), 0);
      }
    }
    assert.equal(rig.available("web"), 1);
    await stopAll(rig, components);
  }));
