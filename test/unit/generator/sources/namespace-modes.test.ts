/** Modes by namespace (docs/generator.md#modes). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { annotations, labels } from "../../../../src/api/v1alpha1/names.ts";
import { generatorStateName } from "../../../../src/kube/generator-state.ts";
import { KubeError } from "../../../../src/kube/kube-client.ts";
import { builtInResources, type JsonObject } from "../../../double/index.ts";
import { type EngineClient } from "../../../support/engine-client.ts";
import { type Core, hasFinalizer, isInForce, startLeading } from "../core-cluster.ts";

const ofNamespaces = /^\/api\/v1\/namespaces(\?|$)/;
const mode = (value: string | null) => ({ [labels.mode]: value });

async function start(options: Parameters<Core["startGenerator"]>[1] = {}) {
  const { core, generator } = await startLeading({}, options);
  const modeOfWeb = () => core.protector("deployment-web")?.metadata.annotations?.[annotations.mode];
  const label = async (value: string | null) => {
    await core.labelNamespace(mode(value));
    await core.clock.advance(3_000);
  };
  return { core, generator, modeOfWeb, label };
}

test("the label of a namespace takes its PodProtectors into shadow and back, and their spec stays", async () => {
  const { core, modeOfWeb, label } = await start();
  await core.createDeployment("web");
  await core.clock.advance(1_000);
  const { uid, generation } = core.protector("deployment-web")?.metadata ?? {};
  await label("shadow");
  assert.equal(modeOfWeb(), "shadow");
  await label("enforced");
  assert.equal(modeOfWeb(), undefined);
  assert.equal(core.protector("deployment-web")?.metadata.uid, uid);
  assert.equal(core.protector("deployment-web")?.metadata.generation, generation);
});

test("an edit of the annotation on a generated PodProtector is undone", async () => {
  const { core, modeOfWeb } = await start();
  await core.createDeployment("web");
  await core.clock.advance(1_000);
  await core.patchProtector("deployment-web", { metadata: { annotations: { [annotations.mode]: "shadow" } } });
  await core.clock.advance(1_000);
  assert.equal(modeOfWeb(), undefined);
});

test("a namespace that is switched off lets its PodProtectors and finalizers go, and gets them again", async () => {
  const { core, label } = await start();
  await core.createDeployment("web");
  await core.clock.advance(1_000);
  await label("off");
  assert.equal(core.protector("deployment-web"), undefined);
  assert.equal(hasFinalizer(core.deployment("web")), false);
  await core.createDeployment("late");
  await core.clock.advance(1_000);
  assert.equal(hasFinalizer(core.deployment("late")), false);
  await label(null);
  assert.ok(isInForce(core.protector("deployment-web")));
  assert.ok(isInForce(core.protector("deployment-late")));
});

test("system namespaces are off, unless a label says otherwise", async () => {
  const { core } = await start();
  const { engine } = core;
  const body = { ...(await core.createDeployment("web")), metadata: { name: "dns" } };
  const [deployments, protectors] = [builtInResources.deployments, core.protectorType];
  await engine.create(deployments, "kube-system", body);
  await core.clock.advance(1_000);
  assert.equal(engine.find(protectors, "kube-system", "deployment-dns"), undefined);
  assert.equal(hasFinalizer(engine.find(deployments, "kube-system", "dns")), false);
  await core.labelNamespace(mode("enforced"), "kube-system");
  await core.clock.advance(1_000);
  assert.ok(isInForce(engine.find(protectors, "kube-system", "deployment-dns")));
});

test("the default mode is that of namespaces without the label", async () => {
  const { core, modeOfWeb, label } = await start({ defaultMode: "off" });
  await core.createDeployment("web");
  await core.clock.advance(1_000);
  assert.equal(core.protector("deployment-web"), undefined);
  await label("shadow");
  assert.equal(modeOfWeb(), "shadow");
});

test("a label that cannot be read is told by an Event, and the last mode holds, also after a restart", async () => {
  const { core, generator, modeOfWeb, label } = await start();
  await core.createDeployment("web");
  await label("shadow");
  await label("Enforced");
  assert.equal(modeOfWeb(), "shadow");
  const told = core.events().filter((event) => event["reason"] === "LabelIgnored");
  assert.equal(told.length, 1);
  assert.match(String(told[0]?.["message"]), /mode="Enforced": it must be one of enforced, shadow, off/);
  generator.kill();
  const next = core.startGenerator();
  await next.ready();
  await core.clock.advance(5_000);
  assert.equal(modeOfWeb(), "shadow");
});

test("without the right to namespaces the default mode holds, said once, and nothing is let go", async () => {
  const { core, generator } = await start();
  await core.createDeployment("web");
  await core.clock.advance(1_000);
  generator.kill();
  const onRequest: EngineClient["onRequest"] = ({ path }) =>
    ofNamespaces.test(path) ? new KubeError("forbidden", "namespaces is forbidden") : undefined;
  const next = core.startGenerator({}, { defaultMode: "off", onRequest });
  await next.ready();
  await core.clock.advance(120_000);
  assert.ok(isInForce(core.protector("deployment-web")));
  await core.createDeployment("new");
  await core.clock.advance(2_000);
  assert.equal(core.protector("deployment-new"), undefined);
  assert.equal(next.logger.entries.filter(({ message }) => /May not list namespaces/.test(message)).length, 1);
});

const hold = { policy: "hold", allow: [] } as const;

const mergePatch = (body: JsonObject) => ({ contentType: "application/merge-patch+json", body });

async function approveAll({ engine, clock }: Core) {
  const approval = { cause: "*", reason: "a trial", until: new Date(clock.epochMicros() / 1_000 + 60_000) };
  const body = { metadata: { annotations: { [annotations.approve]: JSON.stringify(approval) } } };
  await engine.patch(builtInResources.configMaps, "default", generatorStateName, mergePatch(body));
  await clock.advance(30_000);
}

/** So many Deployments, each in a namespace of its own. */
async function apart(core: Core, count: number) {
  const { engine } = core;
  const template = await core.createDeployment("web");
  const names = Array.from({ length: count }, (_, index) => `team-${index}`);
  for (const name of names) {
    await engine.create(builtInResources.namespaces, undefined, { metadata: { name } });
    await engine.create(builtInResources.deployments, name, { ...template, metadata: { name: "web" } });
  }
  await core.clock.advance(10_000);
  const modeIn = (name: string) => {
    const found = engine.find(core.protectorType, name, "deployment-web");
    assert.ok(isInForce(found));
    return found?.metadata.annotations?.[annotations.mode];
  };
  return {
    labelAll: async (value: string | null) => {
      for (const name of names) await core.labelNamespace(mode(value), name);
      await core.clock.advance(10_000);
    },
    inShadow: () => names.filter((name) => modeIn(name) === "shadow").length,
  };
}

test("many namespaces switched to shadow at once are held, told, and pass when a person approves", async () => {
  const { core } = await start({ massChanges: hold });
  const { labelAll, inShadow } = await apart(core, 24);
  await labelAll("shadow");
  assert.equal(inShadow(), 0);
  const told = core.engine.list(builtInResources.events).items.filter(({ reason }) => reason === "ChangeHeld");
  assert.equal(told.length, 24);
  assert.match(String(told[0]?.["message"]), /asks to refuse nothing any more, with its floor of 8 in shadow/);
  await labelAll("enforced");
  assert.equal(inShadow(), 0);
  await labelAll("shadow");
  assert.equal(inShadow(), 0);
  await approveAll(core);
  assert.equal(inShadow(), 24);
  const bare = mergePatch({ metadata: { annotations: { [annotations.mode]: null } } });
  for (let index = 0; index < 24; index += 1)
    await core.engine.patch(core.protectorType, `team-${index}`, "deployment-web", bare);
  await core.clock.advance(30_000);
  assert.equal(inShadow(), 24, "a repair needs no leave");
  await labelAll("enforced");
  assert.equal(inShadow(), 0, "nothing holds enforcement");
});

test("where most is in shadow already, the few that are enforced are held all the same", async () => {
  const { core, label } = await start({ massChanges: hold });
  await label("shadow");
  for (let index = 0; index < 40; index += 1) await core.createDeployment(`web-${index}`);
  const { labelAll, inShadow } = await apart(core, 8);
  await labelAll("shadow");
  assert.equal(inShadow(), 0);
});

test("what a flag puts in shadow is not held", async () => {
  const { core, generator } = await start({ massChanges: hold });
  const { inShadow } = await apart(core, 24);
  generator.kill();
  const next = core.startGenerator({}, { massChanges: hold, defaultMode: "shadow" });
  await next.ready();
  await core.clock.advance(60_000);
  assert.equal(inShadow(), 24);
});

test("what a former leader has put in shadow counts on", async () => {
  const { core, generator } = await start({ massChanges: hold });
  const first = await apart(core, 16);
  for (let index = 0; index < 6; index += 1) await core.labelNamespace(mode("shadow"), `team-${index}`);
  await core.clock.advance(10_000);
  assert.equal(first.inShadow(), 6);
  generator.kill();
  const next = core.startGenerator({}, { massChanges: hold });
  await next.ready();
  for (let index = 6; index < 12; index += 1) await core.labelNamespace(mode("shadow"), `team-${index}`);
  await core.clock.advance(10_000);
  assert.equal(first.inShadow(), 6);
});

test("a workload waits for its Namespace, and is protected by default where the label cannot be read", async () => {
  let isFailing = false;
  const onRequest: EngineClient["onRequest"] = ({ path }) =>
    isFailing && ofNamespaces.test(path) ? new KubeError("serverError", "try again") : undefined;
  const { core, generator } = await start({ onRequest });
  const template = await core.createDeployment("web");
  isFailing = true;
  generator.client.dropWatches();
  await core.clock.advance(1_000);
  await core.engine.create(builtInResources.namespaces, undefined, { metadata: { name: "early", labels: mode("on") } });
  await core.engine.create(builtInResources.deployments, "early", { ...template, metadata: { name: "web" } });
  await core.clock.advance(10_000);
  const found = () => core.engine.find(core.protectorType, "early", "deployment-web");
  assert.equal(found(), undefined);
  isFailing = false;
  await core.clock.advance(60_000);
  assert.ok(isInForce(found()));
});

test("when the right to namespaces is lost, known modes hold, new ones get the default, and it is said", async () => {
  let isForbidden = false;
  const onRequest: EngineClient["onRequest"] = ({ path }) =>
    isForbidden && ofNamespaces.test(path) ? new KubeError("forbidden", "namespaces is forbidden") : undefined;
  const { core, generator, label, modeOfWeb } = await start({ onRequest });
  const template = await core.createDeployment("web");
  await label("shadow");
  isForbidden = true;
  generator.client.dropWatches();
  await core.clock.advance(30_000);
  await core.engine.create(builtInResources.namespaces, undefined, { metadata: { name: "late" } });
  await core.engine.create(builtInResources.deployments, "late", { ...template, metadata: { name: "web" } });
  await core.clock.advance(10_000);
  assert.ok(isInForce(core.engine.find(core.protectorType, "late", "deployment-web")));
  assert.equal(modeOfWeb(), "shadow");
  assert.equal(generator.logger.entries.filter(({ message }) => /any more: the modes/.test(message)).length, 1);
});

test("many that are switched off at once by their labels are held like deletions; a flag is not", async () => {
  const massChanges = hold;
  const { core, generator, label } = await start({ massChanges });
  const names = Array.from({ length: 24 }, (_, index) => `web-${index}`);
  for (const name of names) await core.createDeployment(name);
  await core.clock.advance(5_000);
  const left = () => names.filter((name) => isInForce(core.protector(`deployment-${name}`))).length;
  assert.equal(left(), 24);
  await label("off");
  await core.clock.advance(10_000);
  assert.equal(left(), 24);
  await label(null);
  await core.clock.advance(10_000);
  assert.equal(left(), 24);
  generator.kill();
  const next = core.startGenerator({}, { massChanges, defaultMode: "off" });
  await next.ready();
  await core.clock.advance(60_000);
  assert.equal(left(), 0);
});

for (const value of ["off", "shadow"]) {
  test(`a label ${value} that the watch shows late, after it was taken off, takes nothing away`, async () => {
    const { core, generator, modeOfWeb } = await start();
    await core.createDeployment("web");
    await core.clock.advance(1_000);
    const { uid } = core.protector("deployment-web")?.metadata ?? {};
    generator.client.lagMs = (path) => (ofNamespaces.test(path) ? 20_000 : 0);
    await core.labelNamespace(mode(value));
    await core.clock.advance(10_000);
    await core.labelNamespace(mode(null));
    for (let second = 0; second < 40; second += 1) {
      await core.clock.advance(1_000);
      assert.equal(core.protector("deployment-web")?.metadata.uid, uid, `after ${second} s`);
      assert.equal(modeOfWeb(), undefined, `after ${second} s`);
    }
  });
}

test("where a Namespace may not be read, the label that was watched holds", async () => {
  const { core, generator, modeOfWeb, label } = await start();
  await core.createDeployment("web");
  await core.clock.advance(1_000);
  generator.client.onRequest = async ({ method, path }) => {
    if (method === "GET" && path.endsWith("/namespaces/default")) throw new KubeError("forbidden", "scripted");
    return undefined;
  };
  await label("shadow");
  await core.clock.advance(5_000);
  assert.equal(modeOfWeb(), "shadow");
});

test("while a Namespace cannot be read, its mode takes nothing away", async () => {
  const { core, generator, modeOfWeb, label } = await start();
  await core.createDeployment("web");
  await core.clock.advance(1_000);
  let fails: "serverError" | "notFound" | undefined = "serverError";
  generator.client.onRequest = async ({ method, path }) => {
    if (fails !== undefined && method === "GET" && path.endsWith("/namespaces/default"))
      throw new KubeError(fails, "scripted");
    return undefined;
  };
  await label("shadow");
  await core.clock.advance(10_000);
  assert.equal(modeOfWeb(), undefined);
  fails = "notFound";
  await core.clock.advance(10_000);
  assert.equal(modeOfWeb(), undefined);
  fails = undefined;
  await core.clock.advance(60_000);
  assert.equal(modeOfWeb(), "shadow");
});
