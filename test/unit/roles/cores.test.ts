import assert from "node:assert/strict";
import { test } from "node:test";
import { connectCores, coreMetrics, coreSuffix } from "../../../src/roles/cores.ts";
import { EngineClient } from "../../support/engine-client.ts";
import { withRig } from "../aggregator/rig.ts";
import { createEngineRuntime } from "./engine-runtime.ts";

const two = [
  "--podprotector-source-provider=map",
  "--podprotector-source-provider.map-configs=core=,east=/east",
  "--core-kube-target-namespace=ns",
];

test("a role connects to every core that is configured, by its name", () =>
  withRig(async (rig) => {
    const east = new EngineClient("core/east", rig.coreEngine);
    const runtime = createEngineRuntime(rig, ["--role=aggregator", ...two], 1, new Map([["east", east]]));
    const cores = await connectCores(runtime);
    assert.deepEqual(
      cores.map(({ name, client, namespace }) => [name, client.cluster, namespace]),
      [
        ["core", "core", "ns"],
        ["east", "core/east", "ns"],
      ],
    );
    assert.equal(coreSuffix(runtime.config, "east"), "-east");
  }));

test("names of health checks and labels of metrics are upstream's while there is one core", () =>
  withRig(async (rig) => {
    const one = createEngineRuntime(rig, ["--role=aggregator"]);
    assert.equal(coreSuffix(one.config, "core"), "");
    assert.equal(coreMetrics(one, "core"), one.metrics);
    const several = createEngineRuntime(rig, ["--role=aggregator", ...two]);
    coreMetrics(several, "east").counter("writes", "help").inc();
    assert.equal(several.metrics.value("writes", { core: "east" }), 1);
  }));
