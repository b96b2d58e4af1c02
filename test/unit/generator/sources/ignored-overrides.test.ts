import assert from "node:assert/strict";
import { test } from "node:test";
import { upstreamPodProtectorCrd } from "../../../double/index.ts";
import { createCore, startLeading, startWithConditions } from "../core-cluster.ts";

const key = (name: string): string => `podseidon.kubewharf.io/${name}`;
const annotated = (values: Readonly<Record<string, string>>) => ({ metadata: { annotations: values } });
const ignored = (core: Awaited<ReturnType<typeof createCore>>): string[] =>
  core
    .events()
    .filter((event) => event["reason"] === "AnnotationIgnored")
    .map((event) => `${(event["involvedObject"] as { name: string }).name}: ${String(event["message"])}`);

test("an annotation that is ignored is told once, by an Event and a gauge, and again when it changes", async () => {
  const { core, generator } = await startLeading();
  await core.createDeployment("web", annotated({ [key("min-available")]: "x" }));
  await core.createDeployment("api");
  await core.clock.advance(120_000);
  const events = core.events().filter((event) => event["reason"] === "AnnotationIgnored");
  assert.deepEqual([events.length, events[0]?.["count"], events[0]?.["type"]], [1, 1, "Warning"]);
  assert.match(ignored(core).join(), /^web: Ignoring the annotation .*min-available="x": it must be a whole number/);
  assert.equal(generator.gauge("generator_ignored_override_sources"), 1);
  await core.patchDeployment("web", annotated({ [key("min-available")]: "y" }));
  await core.clock.advance(10_000);
  assert.match(ignored(core).join(), /min-available="y"/);
  generator.loseLeadership();
  await core.clock.advance(10_000);
  assert.equal(generator.gauge("generator_ignored_override_sources"), 0);
});

test("a source that wants no PodProtector is not told of", async () => {
  const { core } = await startLeading();
  await core.createDeployment("web", annotated({ [key("protect")]: "false", [key("min-available")]: "x" }));
  await core.clock.advance(10_000);
  assert.deepEqual(ignored(core), []);
});

test("the PodProtector has the condition OverrideIgnored until the annotation is right", async () => {
  const { core } = await startWithConditions();
  const conditions = (): string => JSON.stringify(core.protector("deployment-web")?.status);
  await core.createDeployment("web", annotated({ [key("max-unavailable")]: "150%" }));
  await core.clock.advance(40_000);
  assert.match(conditions(), /"OverrideIgnored","status":"True","reason":"InvalidAnnotation"/);
  await core.patchDeployment("web", annotated({ [key("max-unavailable")]: "50%" }));
  await core.clock.advance(40_000);
  assert.match(conditions(), /"OverrideIgnored","status":"False","reason":"AllUnderstood"/);
});

test("a CRD that drops the criterion costs no endless repair", async () => {
  const core = await createCore(upstreamPodProtectorCrd());
  const generator = core.startGenerator();
  await generator.ready();
  await core.createDeployment("web", annotated({ [key("health-criterion")]: "Running" }));
  await core.clock.advance(60_000);
  const writes = generator.client.writes.length;
  await core.clock.advance(600_000);
  assert.equal(generator.client.writes.length, writes);
  assert.equal(core.protector("deployment-web")?.spec?.["healthCriterion"], undefined);
  assert.equal(core.protector("deployment-web")?.spec?.["minAvailable"], 8);
});
