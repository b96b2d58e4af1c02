import assert from "node:assert/strict";
import { test } from "node:test";
import { builtInResources as types } from "../../../double/index.ts";
import { forbid, systemNamespace } from "../support/fleet.ts";
import { installed, type InstalledCluster, installedWorker } from "./installed-cluster.ts";

function definitionIn({ fleet }: InstalledCluster): unknown {
  return fleet.core.engine.find(types.customResourceDefinitions, undefined, "podprotectors.podseidon.kubewharf.io");
}

test("single takes everything of Podseidon away, and leaves everything else as it was", async () => {
  const { cluster, before } = await installed();
  const { exitCode, stdout, problem } = await cluster.uninstall("single", "--yes");
  assert.equal(exitCode, 0, problem ?? "");
  assert.match(stdout, /^step 3: done, 3 changed$/m);
  assert.match(stdout, /^Podseidon is gone$/m);
  assert.deepEqual(cluster.inventory(), before);
});

test("worker takes everything away where no core is", async () => {
  const { cluster, before } = await installedWorker();
  const { exitCode, problem, stdout } = await cluster.uninstall("worker", "--worker=w1=core", "--yes");
  assert.equal(exitCode, 0, problem ?? "");
  assert.match(stdout.replaceAll(/\s+/g, " "), /To retire it there: podseidon cells forget w1 $/);
  assert.deepEqual(cluster.inventory(), before);
});

test("core takes everything away once no worker asks it", async () => {
  const { cluster, before } = await installed({ overlay: "core" });
  await cluster.fleet.clock.advance(196_000);
  const { exitCode, problem } = await cluster.uninstall("core", "--yes");
  assert.equal(exitCode, 0, problem ?? "");
  assert.deepEqual(cluster.inventory(), before);
});

test("after a deletion of all manifests, which waits for ever, one run ends it", async () => {
  const { cluster, before } = await installed();
  await cluster.deleteAll();
  assert.notEqual(definitionIn(cluster), undefined);
  const { exitCode, problem, stdout } = await cluster.uninstall("single", "--yes");
  assert.equal(exitCode, 0, problem ?? "");
  assert.match(stdout, /^3\. Take the finalizer.*\n.*\n {3}Deployment shop\/web$/m);
  assert.deepEqual(cluster.inventory(), before);
});

test("without --yes, and with --dry-run, the plan is printed in 80 columns and nothing is changed", async () => {
  const { cluster } = await installed();
  const { client } = cluster.fleet.core;
  const before = cluster.inventory();
  const asked = await cluster.uninstall("single");
  assert.deepEqual(
    [asked.exitCode, asked.problem],
    [2, "uninstall: nothing was changed. To carry this out, add --yes"],
  );
  const dry = await cluster.uninstall("single", "--dry-run", "--yes");
  assert.equal(dry.exitCode, 0);
  assert.equal(dry.stdout, asked.stdout);
  assert.deepEqual(
    dry.stdout.split("\n").filter((line) => line.length > 80),
    [],
  );
  assert.deepEqual([...dry.stdout.matchAll(/^\d/gm)].join(""), "12345678");
  assert.deepEqual(client.writes, []);
  assert.deepEqual(cluster.inventory(), before);
});

test("a missing right is named, nothing after that step is begun, and the next run ends it", async () => {
  const { cluster, before } = await installed();
  forbid(cluster.fleet.core, /^PATCH .*statefulsets/);
  const { exitCode, stdout, problem } = await cluster.uninstall("single", "--yes");
  assert.equal(exitCode, 1);
  assert.match(problem ?? "", /^uninstall: step 3 is not done, and none after it was begun/);
  const said = stdout.replaceAll(/\s+/g, " ");
  assert.match(
    said,
    /step 3: not done, 2 changed left: core: you may not patch statefulsets\.apps db in namespace shop/,
  );
  assert.match(said, /ask for the role cluster-admin/);
  assert.notEqual(definitionIn(cluster), undefined);
  cluster.fleet.core.client.onRequest = () => undefined;
  assert.equal((await cluster.uninstall("single", "--yes")).exitCode, 0);
  assert.deepEqual(cluster.inventory(), before);
});

test("what may not be read is named in the plan", async () => {
  const { cluster } = await installed();
  forbid(cluster.fleet.core, /^GET .*\/secrets/);
  const { exitCode, stdout } = await cluster.uninstall("single", "--dry-run");
  assert.equal(exitCode, 1);
  assert.match(stdout.replaceAll(/\s+/g, " "), /cannot be seen: core: you may not list secrets/);
});

test("where nothing of Podseidon is left there is nothing to do", async () => {
  const { cluster } = await installed();
  await cluster.uninstall("single", "--yes");
  const { writes } = cluster.fleet.core.client;
  const count = writes.length;
  const again = await cluster.uninstall("single", "--yes");
  assert.equal(again.exitCode, 0);
  assert.match(again.stdout, /^Nothing of Podseidon is left to take away$/m);
  assert.equal(writes.length, count);
});

test("for programs there are the steps with all objects, and what came of each", async () => {
  const { cluster } = await installed();
  const { stdout } = await cluster.uninstall("single", "--yes", "-o", "json");
  const { part, isRefused, steps, results } = JSON.parse(stdout) as {
    part: string;
    isRefused: boolean;
    steps: readonly { objects: readonly object[] }[];
    results: readonly { changed: number; left: readonly string[] }[];
  };
  assert.deepEqual([part, isRefused, steps.length, results.length], ["single", false, 8, 8]);
  assert.deepEqual(steps[2]?.objects[0], { kind: "Deployment", namespace: "shop", name: "web" });
  assert.deepEqual(steps[4]?.objects, [
    { kind: "CustomResourceDefinition", name: "podprotectors.podseidon.kubewharf.io" },
  ]);
  assert.deepEqual(results[2], { changed: 3, left: [], kept: [] });
});

test("while others still ask the core nothing is changed, unless by force", async () => {
  const { cluster, before } = await installed({ overlay: "core" });
  const refused = await cluster.uninstall("core", "--yes");
  assert.equal(refused.exitCode, 1);
  assert.match(refused.problem ?? "", /^uninstall: nothing was changed, for the reasons above/);
  assert.match(refused.stdout, /^not now: cell default was heard 2\.0 s ago: its worker asks this core\. First/m);
  assert.deepEqual(cluster.fleet.core.client.writes, []);
  const forced = await cluster.uninstall("core", "--yes", "--force");
  assert.equal(forced.exitCode, 0, forced.problem ?? "");
  assert.match(forced.stdout, /^by force, although cell default was heard 2\.5 s ago: its worker asks this core$/m);
  assert.deepEqual(cluster.inventory(), before);
});

test("other parts, several clusters, and a worker without its name are wrong usage", async () => {
  const { cluster } = await installed({ isSmall: true });
  const calls = [
    ["everything"],
    ["worker", "--yes"],
    ["worker", "--worker=a=core", "--worker=b=w1"],
    ["worker", "--worker=a=core", "--core=w1"],
    ["core", "--core=a=core", "--core=b=w1"],
    ["core", "--output=xml"],
  ];
  for (const call of calls) assert.equal((await cluster.uninstall(...call)).exitCode, 2, call.join(" "));
  assert.notEqual(cluster.fleet.core.engine.find(types.namespaces, undefined, systemNamespace), undefined);
});
