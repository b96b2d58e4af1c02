import assert from "node:assert/strict";
import { test } from "node:test";
import { KubeError } from "../../../src/kube/kube-client.ts";
import { connectCore } from "../../../src/roles/runtime.ts";
import { createProtectorInformer, syncCheck, whenSynced } from "../../../src/roles/informers.ts";
import { silentLogger } from "../../../src/util/logger.ts";
import { withRig } from "../aggregator/rig.ts";
import { createEngineRuntime } from "./engine-runtime.ts";

test("watches PodProtectors of all namespaces, and counts invalid ones instead of stopping at them", () =>
  withRig(async (rig) => {
    await rig.protect("web");
    await rig.coreEngine.create(rig.protectorType, "kube-system", {
      apiVersion: "podseidon.kubewharf.io/v1alpha1",
      kind: "PodProtector",
      metadata: { name: "broken" },
      spec: { selector: "none" },
    });
    const runtime = createEngineRuntime(rig, ["--role=aggregator"]);
    const informer = createProtectorInformer(runtime, await connectCore(runtime, "core"), silentLogger);
    const life = new AbortController();
    const check = syncCheck("PodProtectors", informer);
    assert.equal(check(), "PodProtectors have not been listed yet");
    let isSynced = false;
    void whenSynced(informer, life.signal).then(() => (isSynced = true));
    const done = informer.run(life.signal);
    await rig.clock.advance(0);
    assert.equal(isSynced, true);
    assert.equal(check(), undefined);
    assert.deepEqual(
      [...informer.values()].map(({ key }) => key),
      ["default/web"],
    );
    assert.equal(runtime.metrics.value("ppr_index_error", { error: "Invalid" }), 1);
    life.abort();
    await done;
  }));

test("a target namespace restricts the watch", () =>
  withRig(async (rig) => {
    await rig.protect("web");
    const runtime = createEngineRuntime(rig, ["--role=aggregator", "--core-kube-target-namespace=kube-system"]);
    const informer = createProtectorInformer(runtime, await connectCore(runtime, "core"), silentLogger);
    const life = new AbortController();
    const done = informer.run(life.signal);
    await rig.clock.advance(0);
    assert.equal(informer.hasSynced(), true);
    assert.equal(informer.size, 0);
    life.abort();
    await done;
  }));

test("while the list fails, the check says why, and the end of the process ends the wait", () =>
  withRig(async (rig) => {
    const runtime = createEngineRuntime(rig, ["--role=aggregator"]);
    runtime.core.onRequest = () => new KubeError("forbidden", "403 Forbidden");
    const informer = createProtectorInformer(runtime, await connectCore(runtime, "core"), silentLogger);
    const life = new AbortController();
    const synced = whenSynced(informer, life.signal);
    const done = informer.run(life.signal);
    await rig.clock.advance(0);
    assert.match(syncCheck("PodProtectors", informer)() ?? "", /have not been listed yet: .*403 Forbidden/);
    life.abort();
    await synced;
    await done;
    await whenSynced(createProtectorInformer(runtime, await connectCore(runtime, "core"), silentLogger), life.signal);
  }));
