/**
 * Random histories: two generators that both believe to lead, with slow requests, lost requests and answers, lagging
 * watches, deaths and restarts, while people create, scale, delete, erase and tamper. A seed fixes everything.
 */
import assert from "node:assert/strict";
import { sleep } from "../../../../src/util/clock.ts";
import { uniform } from "../../../../src/util/rng.ts";
import { createSeededRng } from "../../../support/seeded-rng.ts";
import { createCore, type Core, type GeneratorProcess, hasFinalizer, isInForce } from "../core-cluster.ts";
import { type Fault } from "../../../support/engine-client.ts";

const config = { protectionSelector: { matchExpressions: [{ key: "protect", operator: "DoesNotExist" }] } } as const;
const actsPerHistory = 40;
/** A release that was right when it was decided may take this long: four requests of at most 100 ms. */
const releaseMsMax = 1_000;

/** The Deployment that exists may be let go: it is being deleted, or not selected. */
function isUnwanted(core: Core): boolean {
  const deployment = core.deployment("web");
  if (deployment === undefined) return false;
  return deployment.metadata.deletionTimestamp !== undefined || deployment.metadata.labels?.["protect"] !== undefined;
}

/** Remembers each loss of a protector in force that no deletion or opt-out justifies. */
function watchForLosses(core: Core): { sawUnwanted: () => void; readonly losses: string[] } {
  const losses: string[] = [];
  let inForceBefore = false;
  let lastUnwantedMs = Number.NEGATIVE_INFINITY;
  const sawUnwanted = (): void => {
    if (isUnwanted(core)) lastUnwantedMs = core.clock.monotonicMs();
  };
  core.engine.watch(
    core.protectorType,
    "default",
    {},
    {
      onEvent({ type, object }) {
        if (type === "BOOKMARK" || type === "ERROR") return;
        sawUnwanted();
        const inForce = type !== "DELETED" && isInForce(object);
        const ageMs = core.clock.monotonicMs() - lastUnwantedMs;
        if (inForceBefore && !inForce && ageMs > releaseMsMax)
          losses.push(`${type} ${object.metadata.resourceVersion}`);
        inForceBefore = inForce;
      },
      onEnd() {},
    },
  );
  return { sawUnwanted, losses };
}

export async function runHistory(seed: number): Promise<void> {
  const rng = createSeededRng(seed);
  const chance = (probability: number): boolean => rng.next() < probability;
  const pick = <T>(choices: readonly T[]): T => choices[Math.floor(rng.next() * choices.length)]!;
  const core = await createCore();
  const { losses, sawUnwanted } = watchForLosses(core);
  let replicas = 10;
  let isHealed = false;

  function launch(): GeneratorProcess {
    const process = core.startGenerator(config);
    const { client } = process;
    const lagMs = chance(0.5) ? uniform(rng, 0, 20_000) : 0;
    client.lagMs = () => (isHealed ? 0 : lagMs);
    client.onRequest = async () => {
      if (!isHealed) await sleep(core.clock, uniform(rng, 0, 100));
    };
    client.onWrite = (): Fault => {
      if (isHealed || !chance(0.2)) return undefined;
      if (chance(0.2)) process.kill();
      return pick(["before", "after"]);
    };
    return process;
  }

  const acts: readonly (() => unknown)[] = [
    () => core.deployment("web") ?? core.createDeployment("web", { replicas }),
    () => core.deployment("web") ?? core.createDeployment("web", { replicas }),
    () => core.deployment("web") && core.patchDeployment("web", { spec: { replicas: (replicas = pick([1, 4, 40])) } }),
    () => core.deployment("web") && core.deleteDeployment("web"),
    () => chance(0.5) && core.eraseDeployments(),
    () => core.deployment("web") && core.patchDeployment("web", { metadata: { labels: { protect: "no" } } }),
    () => core.deployment("web") && core.patchDeployment("web", { metadata: { labels: { protect: null } } }),
    () => core.protector("deployment-web") && core.deleteProtector("deployment-web"),
    () => core.protector("deployment-web") && core.patchProtector("deployment-web", { metadata: { labels: null } }),
    () => core.protector("deployment-web") && core.patchProtector("deployment-web", { spec: { minAvailable: 0 } }),
  ];
  const generators = [launch(), launch()];
  for (const generator of generators) await generator.ready();
  for (let act = 0; act < actsPerHistory; act++) {
    await pick(acts)();
    sawUnwanted();
    await core.clock.advance(pick([0, 10, 200, 5_000, 40_000]));
    sawUnwanted();
    for (const [index, generator] of generators.entries()) {
      if (!generator.client.isDead) continue;
      generators[index] = launch();
      await core.clock.advance(2_000);
      await generators[index].ready();
    }
  }
  isHealed = true;
  await core.clock.advance(180_000);
  assert.deepEqual(losses, [], `seed ${seed}`);
  const deployment = core.deployment("web");
  const protector = core.protector("deployment-web");
  if (deployment !== undefined) {
    const isSelected = deployment.metadata.labels?.["protect"] === undefined;
    assert.equal(deployment.metadata.deletionTimestamp, undefined, `seed ${seed}: a deleted Deployment is gone`);
    assert.equal(hasFinalizer(deployment), isSelected, `seed ${seed}: source finalizer`);
    assert.equal(isInForce(protector) && hasFinalizer(protector), isSelected, `seed ${seed}: protector`);
    if (isSelected) {
      assert.equal(protector?.metadata.ownerReferences?.[0]?.uid, deployment.metadata.uid, `seed ${seed}: owner`);
      assert.equal(protector?.spec?.["minAvailable"], { 1: 0, 4: 3, 10: 8, 40: 30 }[replicas], `seed ${seed}`);
    }
  }
  assert.ok(protector === undefined || isInForce(protector), `seed ${seed}: no released protector is left`);
  for (const generator of generators) await generator.stop();
}
