/**
 * The generator when something fails at any point: lost requests and answers, conflicts, dead processes, lost
 * leadership, two leaders. What must hold each time: no protector is lost while its Deployment is there and not
 * terminating, nothing is left behind in the end.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { KubeError } from "../../../../src/kube/kube-client.ts";
import { type Core, createCore, hasFinalizer, isInForce, startLeading } from "../core-cluster.ts";
import { type Fault } from "../../../support/engine-client.ts";

const secondMs = 1_000;
const conflict = new KubeError("conflict", "scripted conflict");
const serverError = new KubeError("serverError", "scripted 503");

/**
 * What happens to a Deployment, from its creation to its end, in steps; the state after each must be the wanted one.
 */
interface Step {
  readonly name: string;
  readonly act: (core: Core) => Promise<unknown>;
  /** minAvailable of the protector afterwards; undefined = no protector, no finalizer. */
  readonly minAvailable: number | undefined;
}
const life: readonly Step[] = [
  { name: "created", act: (core) => core.createDeployment("web", { replicas: 4 }), minAvailable: 3 },
  { name: "scaled", act: (core) => core.patchDeployment("web", { spec: { replicas: 8 } }), minAvailable: 6 },
  {
    name: "opted out",
    act: (core) => core.patchDeployment("web", { metadata: { labels: { protect: "no" } } }),
    minAvailable: undefined,
  },
  {
    name: "opted in",
    act: (core) => core.patchDeployment("web", { metadata: { labels: { protect: null } } }),
    minAvailable: 6,
  },
  { name: "deleted", act: (core) => core.deleteDeployment("web"), minAvailable: undefined },
];
const config = { protectionSelector: { matchExpressions: [{ key: "protect", operator: "DoesNotExist" }] } } as const;
/** More writes than the whole life takes, so that the loops below reach its end. */
const writesOfLife = 18;

function check(core: Core, step: Step, context: string): void {
  const protector = core.protector("deployment-web");
  const at = `${step.name}, ${context}`;
  if (step.minAvailable === undefined) {
    assert.equal(protector, undefined, `no protector is left: ${at}`);
    assert.ok(!hasFinalizer(core.deployment("web")), `no finalizer is left: ${at}`);
    if (step.name === "deleted") assert.equal(core.deployment("web"), undefined, at);
  } else {
    assert.ok(isInForce(protector) && hasFinalizer(protector), `in force: ${at}`);
    assert.ok(hasFinalizer(core.deployment("web")), `source finalizer: ${at}`);
    assert.equal(protector?.spec?.["minAvailable"], step.minAvailable, at);
  }
}

/** From the first sight of a protector in force to the next step that ends it, it must be in force at every moment. */
function watchProtection(core: Core): { expect: (isWanted: boolean) => void; broken: () => string | undefined } {
  let seen = false;
  let wanted = false;
  let broken: string | undefined;
  core.engine.watch(
    core.protectorType,
    "default",
    { resourceVersion: "" },
    {
      onEvent({ type, object }) {
        if (type === "BOOKMARK" || type === "ERROR") return;
        const inForce = type !== "DELETED" && isInForce(object);
        if (wanted && seen && !inForce) broken = `${type} at ${object.metadata.resourceVersion}`;
        seen = inForce;
      },
      onEnd() {},
    },
  );
  return {
    expect(isWanted) {
      wanted = isWanted;
      seen &&= isWanted;
    },
    broken: () => broken,
  };
}

const faults: readonly (readonly [what: string, fault: Fault])[] = [
  ["never arrives", "before"],
  ["is carried out without an answer", "after"],
  ["meets a conflict", conflict],
  ["meets a 503", serverError],
];

for (const [what, fault] of faults) {
  test(`whichever write ${what}, the state is right soon after each step`, async () => {
    for (let failing = 1; failing <= writesOfLife; failing++) {
      const core = await createCore();
      const protection = watchProtection(core);
      const generator = core.startGenerator(config);
      generator.client.onWrite = (index) => (index === failing ? fault : undefined);
      await generator.ready();
      for (const step of life) {
        protection.expect(step.minAvailable !== undefined);
        await step.act(core);
        await core.clock.advance(2 * secondMs);
        check(core, step, `write ${failing}`);
      }
      assert.equal(protection.broken(), undefined);
      await generator.stop();
    }
  });
}

test("a process that dies before or after the effect of any write is followed by one that repairs all", async () => {
  for (const fault of ["before", "after"] as const) {
    for (let fatal = 1; fatal <= writesOfLife; fatal++) {
      const core = await createCore();
      const protection = watchProtection(core);
      let generator = core.startGenerator(config);
      let writes = 0;
      const arm = (): void => {
        const process = generator;
        process.client.onWrite = () => {
          writes += 1;
          if (writes !== fatal) return undefined;
          if (fault === "before") process.kill();
          else void Promise.resolve().then(() => process.kill());
          return fault;
        };
      };
      arm();
      await generator.ready();
      for (const step of life) {
        protection.expect(step.minAvailable !== undefined);
        await step.act(core);
        await core.clock.advance(secondMs);
        if (generator.client.isDead) {
          generator = core.startGenerator(config);
          arm();
          await generator.ready();
        }
        check(core, step, `death ${fault} write ${fatal}`);
      }
      assert.equal(protection.broken(), undefined);
      await generator.stop();
    }
  }
});

test("what happens to a Deployment while no generator runs is handled by the next one just as well", async () => {
  for (let fatal = 1; fatal <= 3; fatal++) {
    for (const end of ["deleted", "vanished"]) {
      const core = await createCore();
      const first = core.startGenerator();
      first.client.onWrite = (index) => {
        if (index === fatal) first.kill();
        return index === fatal ? "before" : undefined;
      };
      await first.ready();
      await core.createDeployment("web");
      await core.clock.advance(secondMs);
      const existed = core.protector("deployment-web") !== undefined;
      if (end === "deleted") await core.deleteDeployment("web");
      else core.eraseDeployments();
      const next = core.startGenerator();
      await next.ready();
      assert.equal(core.deployment("web"), undefined);
      assert.equal(isInForce(core.protector("deployment-web")), existed && end === "vanished");
      await next.stop();
      if (!first.client.isDead) await first.stop();
    }
  }
});

test("a server that always fails is asked with growing pauses, and normally again when it recovers", async () => {
  const core = await createCore();
  const generator = core.startGenerator();
  const times: number[] = [];
  let isBroken = true;
  generator.client.onWrite = () => {
    times.push(core.clock.monotonicMs());
    return isBroken ? serverError : undefined;
  };
  await generator.ready();
  await core.createDeployment("web");
  await core.clock.advance(600 * secondMs);
  const pauses = times.slice(1).map((time, index) => time - times[index]!);
  assert.deepEqual(pauses.slice(0, 5), [100, 200, 400, 800, 1_600]);
  assert.equal(pauses.at(-1), 60_000);
  isBroken = false;
  await core.clock.advance(60 * secondMs);
  assert.ok(isInForce(core.protector("deployment-web")));
});

test("nothing is written after leadership was lost, also in the middle of a reconciliation", async () => {
  for (let last = 2; last <= 5; last++) {
    const core = await createCore();
    const generator = core.startGenerator();
    generator.client.onWrite = (index) => {
      assert.ok(index <= last, "a write after the loss");
      if (index === last) void Promise.resolve().then(() => generator.loseLeadership());
      return undefined;
    };
    await generator.ready();
    await core.createDeployment("web");
    await core.clock.advance(secondMs);
    await core.deleteDeployment("web");
    await core.clock.advance(60 * secondMs);
    assert.ok(generator.client.writes.length <= last);
    assert.notEqual(core.deployment("web"), undefined, "somebody else has to finish");
    const next = core.startGenerator();
    await next.ready();
    assert.equal(core.deployment("web"), undefined);
    assert.equal(core.protector("deployment-web"), undefined);
    await next.stop();
    await generator.stop();
  }
});

test("a standby writes nothing, and takes over at once with what it has seen", async () => {
  const core = await createCore();
  const standby = core.startGenerator({}, { standby: true });
  await standby.ready();
  await core.createDeployment("web");
  await core.clock.advance(10 * secondMs);
  assert.deepEqual(standby.client.writes, []);
  await standby.lead();
  await core.clock.advance(0);
  assert.ok(isInForce(core.protector("deployment-web")));
});

test("a new leader whose watch of Deployments lags calls no protector dangling whose Deployment is there", async () => {
  const core = await createCore();
  const first = core.startGenerator();
  const next = core.startGenerator({}, { standby: true });
  await first.ready();
  await next.ready();
  next.client.lagMs = (path) => (path.includes("deployments") ? 30 * secondMs : 0);
  await core.createDeployment("web");
  await core.clock.advance(secondMs);
  first.loseLeadership();
  await next.lead();
  await core.clock.advance(10 * secondMs);
  assert.equal(next.actions("Dangling"), 0);
  assert.deepEqual(core.events(), []);
});

test("a PodProtector that came and went while its watch was away is made again after the next list", async () => {
  const { core, generator } = await startLeading();
  generator.client.lagMs = (path) => (path.includes("podprotectors") ? 30 * secondMs : 0);
  await core.createDeployment("web");
  await core.clock.advance(secondMs);
  assert.ok(isInForce(core.protector("deployment-web")));
  core.engine.erase(core.protectorType, "default", "deployment-web");
  // The watch cannot go on where it was, and the list shows nothing of what was meanwhile.
  generator.client.onRequest = (request) =>
    request.query?.["resourceVersion"] === undefined ? undefined : new KubeError("gone", "scripted 410");
  generator.client.dropWatches();
  await core.clock.advance(secondMs);
  generator.client.onRequest = () => undefined;
  await core.clock.advance(10 * secondMs);
  assert.ok(isInForce(core.protector("deployment-web")));
});

test("two generators at once do everything right together", async () => {
  const core = await createCore();
  const protection = watchProtection(core);
  const generators = [core.startGenerator(config), core.startGenerator(config)];
  for (const generator of generators) await generator.ready();
  for (const step of life) {
    protection.expect(step.minAvailable !== undefined);
    await step.act(core);
    await core.clock.advance(60 * secondMs);
    check(core, step, "two generators");
  }
  assert.equal(protection.broken(), undefined);
  for (const generator of generators) await generator.stop();
});

/** Resources whose watch lags, of the generator that was deposed but does not know it yet. */
const lags: readonly (readonly [what: string, lags: (path: string) => boolean])[] = [
  ["Deployments", (path) => path.includes("deployments")],
  ["PodProtectors", (path) => path.includes("podprotectors")],
  ["everything", () => true],
];
for (const [what, isLagging] of lags) {
  test(`a second generator whose watch of ${what} lags never undoes what the first one decided`, async () => {
    for (const pauseMs of [0, 1, 5_000, 35_000]) {
      const core = await createCore();
      const current = core.startGenerator();
      const late = core.startGenerator();
      await current.ready();
      await late.ready();
      late.client.lagMs = (path) => (isLagging(path) ? 30 * secondMs : 0);
      await core.createDeployment("web");
      await core.clock.advance(60 * secondMs);
      await core.deleteDeployment("web");
      await core.clock.advance(pauseMs);
      await core.clock.advance(0);
      assert.equal(core.deployment("web"), undefined);
      const reborn = await core.createDeployment("web");
      await core.clock.advance(0);
      const protection = watchProtection(core);
      protection.expect(true);
      const protector = core.protector("deployment-web");
      await core.clock.advance(120 * secondMs);
      assert.equal(protection.broken(), undefined, "never taken away");
      assert.equal(core.protector("deployment-web")?.metadata.uid, protector?.metadata.uid);
      assert.equal(core.protector("deployment-web")?.metadata.ownerReferences?.[0]?.uid, reborn.metadata.uid);
      await core.deleteDeployment("web");
      await core.clock.advance(120 * secondMs);
      assert.equal(core.deployment("web"), undefined);
      assert.equal(core.protector("deployment-web"), undefined, "not brought back");
      await late.stop();
      await current.stop();
    }
  });
}

test("a source that is recreated between any two writes of the release keeps the protector in force", async () => {
  for (let at = 1; at <= 3; at++) {
    const core = await createCore();
    const releasing = core.startGenerator();
    await releasing.ready();
    await core.createDeployment("web");
    await core.clock.advance(secondMs);
    const first = releasing.client.writes.length;
    const adopter = core.startGenerator({}, { standby: true });
    await adopter.ready();
    let index = 0;
    releasing.client.onWrite = async () => {
      index += 1;
      if (index !== at) return undefined;
      // Somebody takes the finalizer from the old one by hand, and a new one comes.
      await core.patchDeployment("web", { metadata: { finalizers: null } });
      await core.createDeployment("web", { replicas: 100 });
      await adopter.lead();
      await core.clock.advance(0);
      releasing.loseLeadership();
      return undefined;
    };
    // A process that has not noticed its loss: its requests go on.
    releasing.client.ignoresSignals = true;
    await core.deleteDeployment("web");
    await core.clock.advance(60 * secondMs);
    const protector = core.protector("deployment-web");
    assert.ok(releasing.client.writes.length >= first);
    assert.ok(isInForce(protector) && hasFinalizer(protector), `before write ${at}`);
    assert.equal(protector?.spec?.["minAvailable"], 75);
    await adopter.stop();
    await releasing.stop();
  }
});
