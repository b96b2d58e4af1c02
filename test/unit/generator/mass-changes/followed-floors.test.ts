/** Hand-made PodProtectors that follow workloads when many of these change at once. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { builtInResources, type JsonObject } from "../../../double/index.ts";
import { namesOf, startHolding } from "./bursts.ts";

const secondMs = 1_000;
const target = (name: string): JsonObject => ({ apiVersion: "apps/v1", kind: "Deployment", name });

async function start(options: Parameters<typeof startHolding>[0] = {}) {
  const world = await startHolding(options);
  return {
    ...world,
    run: (...args: Parameters<typeof world.run>) => world.run(...args),
    writeCells: (...args: Parameters<typeof world.writeCells>) => world.writeCells(...args),
    scale: (...args: Parameters<typeof world.scale>) => world.scale(...args),
    approve: (text: string) => world.approve(text),
    follow: async (name: string, targets: readonly JsonObject[], more: JsonObject = {}) => {
      await world.createProtector(name, { spec: { minAvailable: 0, maxUnavailable: "25%", targets, ...more } });
    },
    floorOf: (name: string) => Number(world.protector(name)?.spec?.["minAvailable"]),
    settle: (ms = 10 * secondMs) => world.clock.advance(ms),
  };
}

/** The generator works for none of the Deployments. */
const aloneAre = { sources: ["replicationcontrollers"] } as const;

for (const [what, options] of [
  ["beside generated ones", {}],
  ["alone", aloneAre],
] as const)
  test(`sixty Deployments at 0: hand-made PodProtectors that follow one each are held, ${what}`, async () => {
    const { run, scale, settle, follow, floorOf, generator, configMap, approve, clock } = await start(options);
    const names = namesOf("shop", 60);
    await run(names);
    for (const name of names) await follow(`mine-${name}`, [target(name)]);
    await settle();
    assert.deepEqual([...new Set(names.map((name) => floorOf(`mine-${name}`)))], [6]);
    await scale(names, 0);
    await settle(60 * secondMs);
    assert.deepEqual([...new Set(names.map((name) => floorOf(`mine-${name}`)))], [6], "held");
    assert.match(JSON.stringify(configMap()), /manager\/unknown/);
    const until = new Date(clock.epochMicros() / 1_000 + 3_600_000).toISOString();
    await approve(JSON.stringify({ cause: "manager/unknown", until, reason: "closing down" }));
    await settle(60 * secondMs);
    assert.deepEqual([...new Set(names.map((name) => floorOf(`mine-${name}`)))], [0], "approved");
    await generator.stop();
  });

for (const [what, options] of [
  ["beside generated ones", {}],
  ["alone", aloneAre],
] as const)
  test(`a shared floor of sixty Deployments does not sink with them step by step, ${what}`, async () => {
    const { run, scale, settle, follow, floorOf, writeCells, generator, clock } = await start(options);
    const names = namesOf("shop", 60);
    await run(names, { replicas: 4 });
    await follow("shared", names.map(target));
    await settle();
    assert.equal(floorOf("shared"), 180);
    for (const name of names) {
      await scale([name], 0);
      await clock.advance(10);
    }
    await settle(60 * secondMs);
    assert.equal(floorOf("shared"), 180);
    const before = generator.client.count(/GET .*podprotectors\/shared/);
    await writeCells("shared", [{ cellID: "a" }]);
    await settle();
    assert.equal(generator.client.count(/GET .*podprotectors\/shared/), before, "what is held costs no request");
    await scale(names, 4);
    await settle(60 * secondMs);
    await scale(names.slice(0, 3), 3);
    await settle();
    assert.equal(floorOf("shared"), 178, "what is undone is held no longer");
    await generator.stop();
  });

test("a few workloads go as on every day, after two seconds, and an autoscaler's steps at once", async () => {
  const { run, scale, settle, follow, floorOf, clock } = await start(aloneAre);
  const names = namesOf("shop", 5);
  await run(names, { replicas: 8 });
  await follow("shared", names.map(target));
  await settle();
  assert.equal(floorOf("shared"), 30);
  await scale(names.slice(0, 1), 0);
  await clock.advance(secondMs);
  assert.equal(floorOf("shared"), 30);
  await settle();
  assert.equal(floorOf("shared"), 24);
  await scale(names.slice(1), 2, "autoscaler");
  await clock.advance(secondMs);
  assert.equal(floorOf("shared"), 6);
});

test("fields that somebody edits on many hand-made PodProtectors count, too", async () => {
  const { run, settle, follow, floorOf, generator, engine, protectorType, patchProtector } = await start(aloneAre);
  const names = namesOf("shop", 30);
  await run(names);
  for (const name of names) await follow(`mine-${name}`, [target(name)]);
  await settle();
  for (const name of names) await patchProtector(`mine-${name}`, { spec: { maxUnavailable: "100%" } });
  await settle(30 * secondMs);
  assert.deepEqual([...new Set(names.map((name) => floorOf(`mine-${name}`)))], [6], "held");
  generator.writeConditions();
  await settle(60 * secondMs);
  assert.match(JSON.stringify(engine.list(protectorType, "default").items), /floor of 0 instead of 6, .*cause manager/);
});

test("a new leader counts the floors that the former one lowered, and holds the rest", async () => {
  const { run, scale, settle, follow, floorOf, generator, start: startAnother } = await start(aloneAre);
  const names = namesOf("shop", 30);
  await run(names);
  for (const name of names) await follow(`mine-${name}`, [target(name)]);
  await settle();
  await scale(names.slice(0, 15), 0);
  await settle();
  assert.equal(names.filter((name) => floorOf(`mine-${name}`) === 0).length, 15);
  generator.kill();
  await startAnother();
  await settle();
  await scale(names.slice(15), 0);
  await settle(60 * secondMs);
  assert.equal(names.filter((name) => floorOf(`mine-${name}`) === 0).length, 15);
});

test("a shared floor does not sink with workloads that are deleted or relabelled one after the other", async () => {
  for (const how of ["deleted", "relabelled"] as const) {
    const { run, settle, follow, floorOf, engine, generator, configMap } = await start(aloneAre);
    const names = namesOf("shop", 60);
    const metadata = { labels: { team: "shop" }, finalizers: ["example.com/wait"] };
    await run(names, { replicas: 4, metadata });
    const selector = { matchLabels: { team: "shop" } };
    await follow("shared", [{ apiVersion: "apps/v1", kind: "Deployment", selector }]);
    await settle();
    assert.equal(floorOf("shared"), 180);
    const body = { metadata: { labels: { team: "none" } } };
    const contentType = "application/merge-patch+json";
    for (const name of names.slice(0, 50)) {
      if (how === "deleted") await engine.delete(builtInResources.deployments, "default", name);
      else await engine.patch(builtInResources.deployments, "default", name, { contentType, body });
    }
    await settle(60 * secondMs);
    assert.equal(floorOf("shared"), 180, how);
    assert.match(JSON.stringify(configMap()), /manager\/unknown/);
    await generator.stop();
  }
});
