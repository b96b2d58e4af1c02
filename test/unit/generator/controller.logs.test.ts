/** What the log says of the life of a PodProtector (docs/logs.md#generator): each event once, not each look at it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type GeneratorProcess, startLeading } from "./core-cluster.ts";

const secondMs = 1_000;

/** Without the lines about Leases and caches. */
const told = (generator: GeneratorProcess) =>
  generator
    .infos()
    .filter(({ message }) => message.includes("PodProtector"))
    .map(({ message, fields }) => [message, fields]);

test("the log tells when a PodProtector is made, has another floor, is repaired and released", async () => {
  const { core, generator } = await startLeading();
  const of = { podProtector: "default/deployment-web", deployment: "default/web" };
  await core.createDeployment("web", { replicas: 10 });
  await core.clock.advance(60 * secondMs);
  const created = told(generator);
  const [, fields] = created[0] ?? [];
  const mustStay = core.protector("deployment-web")?.spec?.["minAvailable"];
  assert.deepEqual(created, [["Created a PodProtector", { ...of, mustStay }]]);
  assert.ok(fields !== undefined);

  await core.patchDeployment("web", { spec: { replicas: 20 } });
  await core.clock.advance(60 * secondMs);
  const floor = core.protector("deployment-web")?.spec?.["minAvailable"];
  assert.deepEqual(told(generator).slice(1), [
    ["Changed the floor of a PodProtector", { ...of, mustStay: floor, before: mustStay }],
  ]);

  await core.patchProtector("deployment-web", { metadata: { labels: null } });
  await core.clock.advance(60 * secondMs);
  assert.deepEqual(told(generator).slice(2), [
    ["Updated a PodProtector that differed from its source", { ...of, fields: "metadata.labels" }],
  ]);

  await core.deleteDeployment("web");
  await core.clock.advance(60 * secondMs);
  assert.deepEqual(told(generator).slice(3), [
    ["Released a PodProtector", { podProtector: of.podProtector, before: floor, cause: "deleted in default" }],
  ]);
});

test("an edit that is put back is told as such, with who made it", async () => {
  const { core, generator } = await startLeading();
  await core.createDeployment("web", { replicas: 10 });
  await core.clock.advance(60 * secondMs);
  const mustStay = core.protector("deployment-web")?.spec?.["minAvailable"];
  await core.patchProtector("deployment-web", { spec: { minAvailable: 3, minReadySeconds: 7 } });
  await core.clock.advance(60 * secondMs);
  assert.equal(core.protector("deployment-web")?.spec?.["minAvailable"], mustStay);
  const warning = generator.logger.entries.find(({ message }) => message.startsWith("Put back"));
  assert.equal(
    warning?.message,
    "Put back what somebody had edited in a generated PodProtector: edit its source instead",
  );
  assert.deepEqual(warning.fields, {
    podProtector: "default/deployment-web",
    deployment: "default/web",
    editedBy: "kubectl-edit",
    mustStay,
    before: 3,
    fields: "spec.minReadySeconds",
  });
  const undone = core.events().filter(({ reason }) => reason === "EditUndone");
  assert.deepEqual(
    undone.map((event) => event["message"]),
    ["kubectl-edit has edited what comes from Deployment default/web; it is put back. Edit that instead"],
  );
  await core.patchDeployment("web", { spec: { replicas: 20 } });
  await core.clock.advance(60 * secondMs);
  const floor = core.protector("deployment-web")?.spec?.["minAvailable"];
  assert.equal(told(generator).at(-1)?.[0], "Changed the floor of a PodProtector", `${String(floor)} by its source`);
});
