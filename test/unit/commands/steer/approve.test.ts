import assert from "node:assert/strict";
import { test } from "node:test";
import { annotations } from "../../../../src/api/v1alpha1/names.ts";
import { readApproval } from "../../../../src/generator/mass-changes/approval.ts";
import { encodeLatches, latchesKey } from "../../../../src/generator/mass-changes/latches.ts";
import { generatorStateName } from "../../../../src/kube/generator-state.ts";
import { type EpochMicros } from "../../../../src/util/clock.ts";
import { builtInResources } from "../../../double/index.ts";
import { createFleet, createProtector, type Fleet, systemNamespace } from "../support/fleet.ts";
import { goldenOf } from "../support/golden.ts";

const shown = goldenOf(import.meta.filename);

const held = (cause: string): string =>
  `Deployment web asks to release its floor of 3, and too many others do so at once (cause ${cause}). Until a person`;

/** Two causes hold changes for a minute, one of them two changes. */
async function heldFleet(): Promise<Fleet> {
  const fleet = await createFleet();
  const { core, clock } = fleet;
  const since = (clock.epochMicros() - 60_000_000) as EpochMicros;
  const latched = new Map([
    ["namespace/shop", since],
    ["kind/Rollout.argoproj.io", since],
  ]);
  await core.create(builtInResources.configMaps, systemNamespace, {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: generatorStateName },
    data: { [latchesKey]: encodeLatches({ latched, approvals: [] }) },
  });
  for (const name of ["web", "api"]) {
    await createProtector(core, name, { conditions: [{ type: "ChangeHeld", message: held("namespace/shop") }] });
  }
  return fleet;
}

function approvalIn({ core }: Fleet): string | undefined {
  const { metadata } = core.engine.get(builtInResources.configMaps, systemNamespace, generatorStateName);
  return metadata.annotations?.[annotations.approve];
}

test("approve lists what is held, by which cause, and how to let it pass", async (t) => {
  const fleet = await heldFleet();
  const { stdout } = await shown(t, fleet, "approve");
  for (const line of stdout.split("\n")) assert(line.length <= 80, line);
  const json = JSON.parse((await fleet.run("approve", "-o", "json")).stdout) as {
    cores: { held: { cause: string; protectors: string[] }[] }[];
  };
  assert.deepEqual(json.cores[0]?.held[0]?.protectors, ["shop/api", "shop/web"]);
});

test("approve with nothing held says so and exits with 0", async () => {
  const fleet = await createFleet();
  assert.deepEqual(await fleet.run("approve"), {
    exitCode: 0,
    problem: undefined,
    stdout: "nothing is held\n",
    stderr: [],
  });
});

test("approve writes an approval that the generator accepts, for an hour unless --for says else", async (t) => {
  const fleet = await heldFleet();
  await shown(t, fleet, "approve", "namespace/shop", "--reason", "moved away");
  const now = fleet.clock.epochMicros();
  const read = readApproval(approvalIn(fleet) ?? "", now);
  assert(read.ok);
  assert.deepEqual(
    [read.approval.cause, read.approval.reason, (read.approval.until - now) / 3_600_000_000],
    ["namespace/shop", "moved away", 1],
  );
  await fleet.run("approve", "*", "--reason", "all of it", "--for=24h");
  const all = readApproval(approvalIn(fleet) ?? "", now);
  assert(all.ok);
  assert.deepEqual([all.approval.cause, (all.approval.until - now) / 3_600_000_000], ["*", 24]);
});

test("approve refuses what would not work, and writes nothing", async () => {
  const fleet = await heldFleet();
  const cases: readonly (readonly [readonly string[], number, RegExp])[] = [
    [["namespace/shop"], 2, /^approve: say why they may pass: --reason TEXT$/],
    [["namespace/shop", "--reason", " "], 2, /^approve: say why/],
    [["namespace/shop", "--reason", "x", "--for=25h"], 2, /^option --for: "25h" is out of range; .* up to 24h$/],
    [
      ["namespace/shp", "--reason", "x"],
      1,
      /^the cause "namespace\/shp" holds nothing; .*; did you mean namespace\/shop/,
    ],
    [["namespace/shop", "--undo", "deployment/web"], 2, /^approve: either a cause or --undo, not both$/],
  ];
  for (const [argv, code, expected] of cases) {
    const { exitCode, problem = "" } = await fleet.run("approve", ...argv);
    assert.match(problem, expected);
    assert.equal(exitCode, code, problem);
  }
  await fleet.run("approve", "namespace/shop", "--reason", "x", "--dry-run");
  assert.equal(approvalIn(fleet), undefined);
});

test("approve foreign-pods leaves out what a person was shown, where it was shown, and nothing else", async (t) => {
  const fleet = await createFleet();
  const told = { type: "ForeignPods", reason: "Counted", message: "3 of the pods that match belong to other owners" };
  await createProtector(fleet.core, "web", { conditions: [told] });
  await createProtector(fleet.core, "api", { conditions: [{ ...told, reason: "LeftOut" }] });
  await shown(t, fleet, "approve");
  await shown(t, fleet, "approve", "foreign-pods");
  const listOf = (name: string) =>
    fleet.core.engine.get(fleet.core.protectors, "shop", name)["spec"]?.["foreignOwners"];
  assert.deepEqual([listOf("web"), listOf("api")], [["DaemonSet.apps", "Job.batch", "Node"], undefined]);
});

test("approve foreign-pods where none are counted says so, and changes nothing", async () => {
  const fleet = await createFleet();
  await createProtector(fleet.core, "web");
  const { exitCode, problem } = await fleet.run("approve", "foreign-pods");
  assert.deepEqual([exitCode, problem], [1, "no PodProtector counts pods of other owners"]);
});
