/** PodDisruptionBudgets as sources when many of the workloads that they select change at once. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { builtInResources, type JsonObject } from "../../../double/index.ts";
import { controlledBy } from "../../scale/owners.ts";
import { isInForce } from "../core-cluster.ts";
import { namesOf, startHolding } from "./bursts.ts";

const secondMs = 1_000;
const { deployments, podDisruptionBudgets } = builtInResources;
const alone = { sources: ["poddisruptionbudgets.policy"] } as const;
const beside = { sources: ["deployments.apps", "poddisruptionbudgets.policy"] } as const;

async function start(options: Parameters<typeof startHolding>[0]) {
  const world = await startHolding(options);
  const { engine, clock, protectorType } = world;
  return {
    world,
    settle: (ms = 10 * secondMs) => clock.advance(ms),
    budget: async (name: string, selector: JsonObject) => {
      await engine.create(podDisruptionBudgets, "default", {
        apiVersion: "policy/v1",
        kind: "PodDisruptionBudget",
        metadata: { name, namespace: "default" },
        spec: { maxUnavailable: "25%", selector },
      });
    },
    /** Of budgets; each once. */
    floors: (...names: readonly string[]) => {
      const floors = names.map((name) => {
        const protector = engine.find(protectorType, "default", `poddisruptionbudget-${name}`);
        return isInForce(protector) ? protector?.spec?.["minAvailable"] : undefined;
      });
      return [...new Set(floors)];
    },
  };
}

for (const [what, options] of [
  ["beside generated ones", beside],
  ["alone", alone],
] as const)
  test(`a budget over sixty Deployments does not sink with them step by step, ${what}`, async () => {
    const { world, budget, settle, floors } = await start(options);
    const names = namesOf("shop", 60);
    await world.run(names, { replicas: 4 });
    await budget("all", {});
    await settle();
    assert.deepEqual(floors("all"), [180]);
    for (const name of names) {
      await world.scale([name], 0);
      await world.clock.advance(10);
    }
    await settle(60 * secondMs);
    assert.deepEqual(floors("all"), [180]);
    await world.scale(names, 4);
    await settle(60 * secondMs);
    await world.scale(names.slice(0, 3), 3);
    await settle();
    assert.deepEqual(floors("all"), [177], "what is undone is held no longer");
    await world.generator.stop();
  });

test("an autoscaler that touches another workload of a budget last excuses nothing", async () => {
  const { world, budget, settle, floors } = await start(alone);
  const names = namesOf("shop", 30);
  const others = namesOf("other", 30);
  await world.run([...names, ...others], { replicas: 8 });
  for (const [index, name] of names.entries())
    await budget(name, { matchExpressions: [{ key: "app", operator: "In", values: [name, others[index]!] }] });
  await settle();
  assert.deepEqual(floors(...names), [12]);
  await world.edit(names, { replicas: 0 }, "sync-tool");
  await world.clock.advance(1_000);
  await world.scale(others, 7, "autoscaler");
  await settle(60 * secondMs);
  assert.deepEqual(floors(...names), [12]);
  assert.match(JSON.stringify(world.configMap()), /manager\/sync-tool/);
});

test("what holds the releases of deleted workloads holds the budgets over them, and is approved once", async () => {
  const { world, budget, settle, floors } = await start(beside);
  const owner = await world.engine.create(builtInResources.configMaps, "default", {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "app", namespace: "default" },
  });
  const names = namesOf("shop", 40);
  await world.run(names, { replicas: 8, metadata: { ownerReferences: controlledBy(owner) } });
  await world.run(["rest"], { replicas: 8 });
  for (const name of names) await budget(name, { matchLabels: { app: name } });
  await budget("all", {});
  await settle();
  assert.deepEqual([floors(...names), floors("all")], [[6], [246]]);
  for (const name of names) await world.engine.delete(deployments, "default", name);
  await settle(60 * secondMs);
  assert.deepEqual([floors(...names), floors("all")], [[6], [246]]);
  await world.approve(world.approval("*"));
  await settle(120 * secondMs);
  assert.deepEqual([floors(...names), floors("all")], [[0], [6]]);
});
