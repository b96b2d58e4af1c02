/** Modes by namespace (docs/generator.md#modes). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { annotations, labels } from "../../../src/api/v1alpha1/names.ts";
import { KubeError } from "../../../src/kube/kube-client.ts";
import { builtInResources } from "../../double/index.ts";
import { type EngineClient } from "../../support/engine-client.ts";
import { createCore, hasFinalizer, isInForce } from "./core-cluster.ts";

const mode = (value: string | null) => ({ [labels.mode]: value });

async function start(options: Parameters<Awaited<ReturnType<typeof createCore>>["startGenerator"]>[1] = {}) {
  const core = await createCore();
  const generator = core.startGenerator({}, options);
  await generator.ready();
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
    /^\/api\/v1\/namespaces(\?|$)/.test(path) ? new KubeError("forbidden", "namespaces is forbidden") : undefined;
  const next = core.startGenerator({}, { defaultMode: "off", onRequest });
  await next.ready();
  await core.clock.advance(120_000);
  assert.ok(isInForce(core.protector("deployment-web")));
  await core.createDeployment("new");
  await core.clock.advance(2_000);
  assert.equal(core.protector("deployment-new"), undefined);
  assert.equal(next.logger.entries.filter(({ message }) => /May not list namespaces/.test(message)).length, 1);
});

test("many that are switched off at once by their labels are held like deletions; a flag is not", async () => {
  const massChanges = { policy: "hold", allow: [] } as const;
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
