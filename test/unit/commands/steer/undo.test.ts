import assert from "node:assert/strict";
import { test } from "node:test";
import { finalizer } from "../../../../src/api/v1alpha1/names.ts";
import { errorOfResponse } from "../../../../src/kube/kube-errors.ts";
import { builtInResources, type JsonObject, type KubeObject, startControllers } from "../../../double/index.ts";
import { createFleet, type Fleet, forbid } from "../support/fleet.ts";
import { goldenOf } from "../support/golden.ts";

const shown = goldenOf(import.meta.filename);

const { deployments, replicaSets, pods } = builtInResources;

function deployment(name: string): JsonObject {
  const labels = { app: name };
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name, labels, finalizers: [finalizer] },
    spec: {
      replicas: 2,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: "main", image: "web:1" }] } },
    },
  };
}

/** A core that runs its pods, with a Deployment whose deletion is held. */
async function heldDeletion(): Promise<Fleet & { readonly podsBefore: readonly string[] }> {
  const fleet = await createFleet();
  const { core, clock } = fleet;
  await startControllers(core.engine);
  await core.create(deployments, "shop", deployment("web"));
  await clock.advance(20_000);
  const podsBefore = uidsOf(fleet);
  assert.equal(podsBefore.length, 2);
  await core.engine.delete(deployments, "shop", "web");
  await clock.advance(5_000);
  return Object.assign(fleet, { podsBefore });
}

function uidsOf({ core }: Fleet): readonly string[] {
  return core.engine.list(pods, "shop").items.map(({ metadata }) => metadata.uid);
}

function ownersOf({ core }: Fleet): readonly unknown[] {
  return core.engine
    .list(replicaSets, "shop")
    .items.map(({ metadata }: KubeObject) => metadata.ownerReferences?.[0]?.uid);
}

/** Runs a command while time passes. */
async function runInTime(fleet: Fleet, ...argv: readonly string[]) {
  const running = fleet.run(...argv);
  const ended = new AbortController();
  void running.finally(() => ended.abort());
  for (let seconds = 0; seconds < 200 && !ended.signal.aborted; seconds++) await fleet.clock.advance(1_000);
  return await running;
}

test("approve --undo makes a held, deleted Deployment again, and its pods stay", async () => {
  const fleet = await heldDeletion();
  const { exitCode, problem, stdout } = await runInTime(fleet, "approve", "--undo", "deployment/web", "-n", "shop");
  assert.deepEqual([exitCode, problem], [0, undefined]);
  assert.match(
    stdout,
    /^Deployment shop\/web is made again, with its pods as they are\. Its manifest:\n\{"apiVersion"/,
  );
  assert.match(stdout, /\n1\. .*\n2\. .*\n3\. .*\n4\. it is made again, and adopts what the former one owned\n$/);
  const { metadata } = fleet.core.engine.get(deployments, "shop", "web");
  assert.equal(metadata.deletionTimestamp, undefined);
  // The double's controllers adopt nothing; what matters is that nothing collects them.
  assert.deepEqual(ownersOf(fleet), [undefined]);
  assert.deepEqual(uidsOf(fleet), fleet.podsBefore);
});

test("approve --undo --dry-run prints the manifest and changes nothing", async (t) => {
  const fleet = await heldDeletion();
  const { stdout } = await shown(t, fleet, "approve", "--undo", "deploy/web", "-n", "shop", "--dry-run");
  const manifest = JSON.parse(stdout.split("\n")[1] ?? "") as JsonObject;
  const { name, labels, uid, finalizers, deletionTimestamp } = manifest["metadata"] as JsonObject;
  assert.deepEqual([name, labels], ["web", { app: "web" }]);
  assert.deepEqual([uid, finalizers, deletionTimestamp], [undefined, undefined, undefined]);
  assert.deepEqual(fleet.core.client.writes, []);
});

test("approve --undo refuses what cannot be undone", async () => {
  const fleet = await createFleet();
  const { core } = fleet;
  await core.create(deployments, "shop", deployment("alive"));
  await core.create(deployments, "shop", deployment("front"));
  await core.engine.delete(deployments, "shop", "front", { propagationPolicy: "Foreground" });
  const cases: readonly (readonly [string, number, RegExp])[] = [
    ["alive", 2, /^option --undo: say KIND\/NAME, such as deployment\/web, with -n NAMESPACE$/],
    ["pod/web", 2, /^option --undo: say KIND\/NAME/],
    ["clonesets/web", 2, /^option --undo: (only for|say KIND)/],
    ["deployment/alive", 1, /^Deployment shop\/alive is not being deleted: there is nothing to undo$/],
    ["deployment/front", 1, /^Deployment shop\/front is deleted in the foreground, .*: it cannot be undone$/],
    ["deployment/none", 1, /^core: cannot get deployments\.apps none in namespace shop: /],
  ];
  for (const [workload, code, expected] of cases) {
    const { exitCode, problem = "" } = await fleet.run("approve", "--undo", workload, "-n", "shop");
    assert.match(problem, expected);
    assert.equal(exitCode, code, problem);
  }
  assert.deepEqual(core.client.writes, []);
});

test("approve --undo that is stopped half-way says how far it has come", async () => {
  const fleet = await heldDeletion();
  forbid(fleet.core, /^PATCH/);
  const { exitCode, problem, stdout } = await runInTime(fleet, "approve", "--undo", "deployment/web", "-n", "shop");
  assert.equal(exitCode, 1);
  assert.match(stdout, /\n2\. nothing is owned by it any more\n$/);
  assert.match(
    problem ?? "",
    /^core: you may not patch deployments\.apps web .*; ask for the role edit\. The manifest is/,
  );
});

test("approve --undo tries again when somebody else has written the object", async () => {
  const fleet = await heldDeletion();
  const { client } = fleet.core;
  let conflicts = 0;
  client.onRequest = (request, what) => {
    if (request.method !== "PATCH" || conflicts >= 2) return undefined;
    conflicts += 1;
    return errorOfResponse(what, 409, JSON.stringify({ kind: "Status", reason: "Conflict" }), "");
  };
  const { exitCode, problem } = await runInTime(fleet, "approve", "--undo", "deployment/web", "-n", "shop");
  assert.deepEqual([exitCode, problem, conflicts], [0, undefined, 2]);
});
