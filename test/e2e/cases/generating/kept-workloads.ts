/**
 * One workload alone is overwritten, as by the manifest of another cluster: what its owner keeps is held for a person
 * (docs/mass-changes.md#keep). And an allowed scaler that goes to 0 through the subresource scale, where a real API
 * server keeps nobody's name (docs/mass-changes.md#scaled-to-0).
 */
import assert from "node:assert/strict";
import { type KubeObject } from "../../clusters/admin-client.ts";
import { eventMessage } from "../../objects/events.ts";
import { OnCall } from "../../installed/on-call.ts";
import { type CaseContext, e2eCases, type Figures } from "../../runner/runner.ts";
import { second, waitFor } from "../../clusters/wait.ts";
import { deploymentsPath, floorOf, protectorOf, scale, startWorkloads, waitFloor } from "../../loads/workloads.ts";

const keep = "podseidon.kubewharf.io/keep";
const replicas = 8;
/** Two seconds for what counts, the watch, and a busy machine. */
const everydayLimitMs = 20 * second;
/** So long nothing falls: far longer than what is not held takes. */
const watchedMs = 30 * second;
const night = { count: 40, replicas: 2, manager: "keda-operator" } as const;

export const keptWorkloadCases = e2eCases({
  "keep: one Deployment is overwritten with 0, and its annotation with it: held until a person approves": [
    300 * second,
    overwritten,
  ],
  "mass: an allowed scaler goes to 0 through the subresource scale: not held; another one's: held": [
    300 * second,
    scaledAtNight,
  ],
});

async function overwritten(context: CaseContext): Promise<Figures> {
  const { fleet, available } = await startWorkloads(context, {
    count: 2,
    replicas,
    metadata: (name) => (name === "web-0" ? { annotations: { [keep]: "5" } } : {}),
  });
  const { admin } = fleet.core;
  const path = deploymentsPath(fleet);
  await waitFor("the PodProtector has the number", everydayLimitMs, async () => {
    return (await fleet.protector(protectorOf("web-0"))).metadata.annotations?.[keep] === "5";
  });
  const overwrite = { metadata: { annotations: { [keep]: null } }, spec: { replicas: 0 } };
  await Promise.all(["web-0", "web-1"].map((name) => admin.mergePatch(`${path}/${name}`, overwrite)));
  await waitFloor(fleet, "web-1", 0, everydayLimitMs);
  const query = { namespace: fleet.namespace, reason: "ChangeHeld", about: { kind: "Deployment", name: "web-0" } };
  context.say(await waitFor("an Event tells of it", everydayLimitMs, () => eventMessage(admin, query)));
  const untilMs = performance.now() + watchedMs;
  await waitFor("the watched time is over", 2 * watchedMs, () => performance.now() > untilMs);
  const { spec } = await fleet.protector(protectorOf("web-0"));
  assert.equal(spec.minAvailable, floorOf(replicas));
  await waitFor("what the floors allow is gone", 60 * second, () => available.serving === floorOf(replicas));
  assert.equal(available.minimum, floorOf(replicas));
  const left = available.serving;
  const cause = `keep/${fleet.namespace}/${protectorOf("web-0")}`;
  const lease = `--cell-lease-namespace=${fleet.namespace}`;
  const person = OnCall.administrator(context, fleet.core);
  const listed = await person.run("approve", lease);
  assert.ok(listed.stdout.includes(cause), listed.stdout + listed.stderr);
  const approved = await person.run("approve", cause, "--reason=planned", lease);
  assert.equal(approved.exitCode, 0, approved.stdout + approved.stderr);
  await waitFloor(fleet, "web-0", 0, 2 * everydayLimitMs);
  return { left };
}

async function scaledAtNight(context: CaseContext): Promise<Figures> {
  const { fleet, names } = await startWorkloads(context, {
    ...night,
    fleet: { generatorArgs: [`--generator-mass-change-allow=${night.manager}`] },
  });
  const { admin } = fleet.core;
  const path = deploymentsPath(fleet);
  const scaleAll = (count: number, manager: string) =>
    Promise.all(names.map((name) => scale(admin, `${path}/${name}/scale`, { replicas: count, manager })));
  await scaleAll(night.replicas + 1, night.manager);
  for (const name of names) await waitFloor(fleet, name, floorOf(night.replicas + 1), everydayLimitMs);
  const startMs = performance.now();
  await scaleAll(0, night.manager);
  const { metadata } = await admin.get<
    KubeObject & { metadata: { managedFields: readonly { fieldsV1: { "f:spec"?: object } }[] } }
  >(`${path}/${names[0]}`);
  const owners = metadata.managedFields.filter(({ fieldsV1 }) => "f:replicas" in (fieldsV1["f:spec"] ?? {}));
  assert.deepEqual(owners, [], "nobody owns replicas after a scale to 0");
  for (const name of names) await waitFloor(fleet, name, 0, everydayLimitMs);
  const passedMs = Math.round(performance.now() - startMs);
  // What a person has scaled up is that person's: its scale to 0 has no name either, and is presumed of nobody.
  await scaleAll(night.replicas + 1, "kubectl");
  for (const name of names) await waitFloor(fleet, name, floorOf(night.replicas + 1), everydayLimitMs);
  // Who scaled last is known when the generator has seen its own write of the floor.
  const seenMs = performance.now() + everydayLimitMs / 2;
  await waitFor("the generator has seen that they agree", everydayLimitMs, () => performance.now() > seenMs);
  await scaleAll(0, night.manager);
  const query = { namespace: fleet.namespace, reason: "ChangeHeld" };
  context.say(await waitFor("an Event tells that they are held", everydayLimitMs, () => eventMessage(admin, query)));
  // Undone, or the generators of later cases hold it as well.
  await scaleAll(night.replicas + 1, "kubectl");
  return { passedMs };
}
