import assert from "node:assert/strict";
import { test } from "node:test";
import { annotations, labels } from "../../../../src/api/v1alpha1/names.ts";
import { builtInResources } from "../../../double/index.ts";
import { KubeError } from "../../../../src/kube/kube-client.ts";
import { hasFinalizer } from "../core-cluster.ts";
import { namesOf, startHolding, tally } from "./bursts.ts";

const secondMs = 1_000;
const minuteMs = 60_000;
const shop = namesOf("shop", 60);

test("a deletion of one workload passes two seconds after it was seen", async () => {
  const bench = await startHolding();
  await bench.run(["web"]);
  await bench.delete(["web"]);
  await bench.clock.advance(1_900);
  assert.deepEqual(bench.floors(["web"]), [6]);
  await bench.clock.advance(300);
  assert.deepEqual(bench.floors(["web"]), [undefined]);
  assert.equal(bench.deployment("web"), undefined);
});

test("a floor that falls to no less than half, or rises, is not delayed", async () => {
  const bench = await startHolding();
  await bench.run(["web"]);
  await bench.edit(["web"], { replicas: 4 });
  await bench.clock.advance(500);
  assert.deepEqual(bench.floors(["web"]), [3]);
  assert.match(bench.protectorOf("web")?.metadata.annotations?.[annotations.floorBefore] ?? "", /^6@/);
  await bench.edit(["web"], { replicas: 8 });
  await bench.clock.advance(500);
  assert.deepEqual(bench.floors(["web"]), [6]);
});

test("60 Deployments deleted at once in one namespace are held whole, and people are told", async () => {
  const bench = await startHolding();
  await bench.run(shop);
  await bench.generator.stop();
  const generator = await bench.start();
  generator.writeConditions();
  await bench.clock.advance(secondMs);
  await bench.delete(shop);
  await bench.clock.advance(minuteMs);
  assert.deepEqual(tally(bench.floors(shop)), { 6: 60 });
  assert.ok(shop.every((name) => hasFinalizer(bench.deployment(name))));
  generator.metrics.scrape();
  assert.equal(generator.metrics.value("generator_held_changes", { cause: "namespace/default" }), 60);
  assert.equal(generator.metrics.value("generator_changes_held_total"), 60);
  assert.ok(bench.reasons().includes("ChangeHeld"));
  assert.match(
    bench.configMap()?.["data"] === undefined ? "" : JSON.stringify(bench.configMap()),
    /namespace\/default/,
  );
  const conditions = bench.protectorOf("shop-3")?.status?.["conditions"] as { type: string; message: string }[];
  assert.match(conditions.find(({ type }) => type === "ChangeHeld")?.message ?? "", /release its floor of 6/);
});

test("other causes go on while one is held", async () => {
  const bench = await startHolding();
  await bench.namespace("other");
  await bench.run(shop);
  await bench.run(["web"], { namespace: "other" });
  await bench.delete(shop);
  await bench.clock.advance(5 * secondMs);
  await bench.delete(["web"], "other");
  await bench.scale([shop[0]!], 0);
  await bench.clock.advance(5 * secondMs);
  assert.deepEqual(bench.floors(["web"], "other"), [undefined]);
  assert.deepEqual(tally(bench.floors(shop)), { 6: 60 });
});

test("an approval lets what is held pass, once, and what comes later counts anew", async () => {
  const bench = await startHolding();
  const more = namesOf("more", 60);
  await bench.run([...shop, ...more]);
  await bench.clock.advance(minuteMs);
  await bench.delete(shop);
  await bench.clock.advance(10 * secondMs);
  await bench.approve(bench.approval("namespace/default"));
  await bench.clock.advance(10 * secondMs);
  assert.deepEqual(tally(bench.floors(shop)), { undefined: 60 });
  await bench.delete(more);
  await bench.clock.advance(2 * minuteMs);
  assert.ok(bench.reasons().includes("ChangesApproved"));
  assert.deepEqual(tally(bench.floors(more)), { 6: 60 });
});

test("an approval that cannot be read, or names nothing that is held, is an Event and changes nothing", async () => {
  const bench = await startHolding();
  await bench.run(shop);
  await bench.clock.advance(minuteMs);
  await bench.delete(shop);
  await bench.clock.advance(10 * secondMs);
  for (const text of ["yes", bench.approval("namespace/other"), bench.approval("namespace/default", " ")]) {
    await bench.approve(text);
    await bench.clock.advance(10 * secondMs);
  }
  assert.deepEqual(tally(bench.floors(shop)), { 6: 60 });
  const ignored = bench.events().find((event) => event["reason"] === "AnnotationIgnored");
  assert.equal(ignored?.["count"], 3);
});

test("a ConfigMap that a person deletes while changes are held is made again, and they can be approved", async () => {
  const bench = await startHolding();
  await bench.run(shop);
  await bench.delete(shop);
  await bench.clock.advance(minuteMs);
  await bench.engine.delete(builtInResources.configMaps, "default", "podseidon-generator-state");
  await bench.clock.advance(10 * secondMs);
  await bench.approve(bench.approval("namespace/default"));
  await bench.clock.advance(10 * secondMs);
  assert.deepEqual(tally(bench.floors(shop)), { undefined: 60 });
});

test("replicas overwritten from 8 to 0 are held by manager, and undone changes end the latch", async () => {
  const bench = await startHolding();
  await bench.run(shop);
  await bench.clock.advance(minuteMs);
  await bench.edit(shop, { replicas: 0 }, "sync-tool");
  await bench.clock.advance(10 * secondMs);
  assert.deepEqual(tally(bench.floors(shop)), { 6: 60 });
  await bench.edit(shop, { replicas: 8 }, "sync-tool");
  await bench.clock.advance(minuteMs);
  const { metrics } = bench.generator;
  metrics.scrape();
  assert.equal(metrics.value("generator_held_changes", { cause: "manager/sync-tool" }), 0);
  assert.partialDeepStrictEqual(bench.configMap(), { data: { latches: '{"latched":[],"approvals":[]}' } });
  await bench.scale(["shop-0"], 0);
  await bench.clock.advance(3 * secondMs);
  assert.deepEqual(bench.floors(["shop-0"]), [0]);
});

test("a fall in several steps counts from the highest floor", async () => {
  const bench = await startHolding();
  await bench.run(shop);
  await bench.edit(shop, { replicas: 5 }, "sync-tool");
  await bench.clock.advance(10 * secondMs);
  assert.deepEqual(tally(bench.floors(shop)), { 4: 60 });
  await bench.edit(shop, { replicas: 3 }, "sync-tool");
  await bench.clock.advance(10 * secondMs);
  assert.deepEqual(tally(bench.floors(shop)), { 4: 60 });
});

test("more than half of at least six PodProtectors are too many for a cascade or for scaling", async () => {
  const bench = await startHolding();
  const [six, four] = [namesOf("six", 6), ["six-0", "six-1", "six-2", "six-3"]];
  await bench.run(six);
  await bench.scale(four, 0);
  await bench.clock.advance(10 * secondMs);
  assert.deepEqual(bench.floors(six), [6, 6, 6, 6, 6, 6]);
  assert.ok(bench.generator.metrics.value("generator_changes_held_total") === 4);
});

test("a single release by a cascade is held when the kind of its owner is no longer served", async () => {
  const bench = await startHolding();
  const ownerReferences = [{ apiVersion: "gone.example.com/v1", kind: "App", name: "a", uid: "u" }];
  await bench.run(["web"], { metadata: { ownerReferences } });
  await bench.delete(["web"]);
  await bench.clock.advance(10 * secondMs);
  assert.deepEqual(bench.floors(["web"]), [6]);
  await bench.approve(bench.approval("owner/App.gone.example.com"));
  await bench.clock.advance(minuteMs);
  assert.deepEqual(bench.floors(["web"]), [undefined]);
});

test("a new leader holds what the former one held, and counts what it let pass", async () => {
  const bench = await startHolding();
  const others = namesOf("other", 30);
  await bench.run([...shop, ...others]);
  await bench.edit(others.slice(0, 15), { replicas: 0 }, "sync-tool");
  await bench.delete(shop);
  await bench.clock.advance(10 * secondMs);
  assert.deepEqual(tally(bench.floors(others.slice(0, 15))), { 0: 15 });
  await bench.generator.stop();
  await bench.start();
  await bench.clock.advance(minuteMs);
  assert.deepEqual(tally(bench.floors(shop)), { 6: 60 });
  await bench.edit(others.slice(15), { replicas: 0 }, "sync-tool");
  await bench.clock.advance(10 * secondMs);
  assert.deepEqual(tally(bench.floors(others.slice(15))), { 6: 15 });
});

test("without the rights to the ConfigMap changes are held from memory, and that is said once", async () => {
  const bench = await startHolding();
  bench.generator.client.onRequest = (_, what) => {
    if (!what.includes("/configmaps")) return undefined;
    return new KubeError("forbidden", "configmaps is forbidden", { code: 403 });
  };
  await bench.run(shop);
  await bench.delete(shop);
  await bench.clock.advance(minuteMs);
  assert.deepEqual(tally(bench.floors(shop)), { 6: 60 });
  assert.equal(bench.generator.errors().filter(({ message }) => /ConfigMap/.test(message)).length, 1);
});

test("nothing is released while the ConfigMap cannot be read for another reason", async () => {
  const bench = await startHolding();
  let isDown = true;
  bench.generator.client.onRequest = (_, what) => (isDown && what.includes("/configmaps") ? "before" : undefined);
  await bench.run(["web"]);
  await bench.delete(["web"]);
  await bench.clock.advance(minuteMs);
  assert.deepEqual(bench.floors(["web"]), [6]);
  isDown = false;
  await bench.clock.advance(2 * minuteMs);
  assert.deepEqual(bench.floors(["web"]), [undefined]);
});

test("the policy trickle lets one held change pass a second, and raises the same alarm", async () => {
  const bench = await startHolding({ massChanges: { policy: "trickle", allow: [] } });
  await bench.run(shop);
  await bench.delete(shop);
  await bench.clock.advance(12 * secondMs);
  const { undefined: gone = 0 } = tally(bench.floors(shop));
  assert.ok(gone >= 8 && gone <= 12, `${gone} are gone`);
  assert.equal(bench.generator.metrics.value("generator_changes_held_total"), 60);
  await bench.clock.advance(minuteMs);
  assert.deepEqual(tally(bench.floors(shop)), { undefined: 60 });
});

test("everyday life: 60 workloads of an exempt namespace to 0 are not delayed", async () => {
  const bench = await startHolding();
  await bench.namespace("preview", { [labels.massChanges]: "allow" });
  await bench.run(shop, { namespace: "preview" });
  await bench.edit(shop, { replicas: 0 }, "sync-tool", "preview");
  await bench.clock.advance(secondMs);
  assert.deepEqual(tally(bench.floors(shop, "preview")), { 0: 60 });
});

test("everyday life: 40 workloads halved or more by autoscalers are not delayed", async () => {
  const bench = await startHolding();
  await bench.run(namesOf("hpa", 40), { replicas: 20 });
  await bench.scale(namesOf("hpa", 40), 2, "kube-controller-manager");
  await bench.clock.advance(secondMs);
  assert.deepEqual(tally(bench.floors(namesOf("hpa", 40))), { 1: 40 });
});

test("everyday life: the uninstallation of 15 workloads passes after two seconds", async () => {
  const bench = await startHolding();
  await bench.run(shop);
  await bench.delete(shop.slice(0, 15));
  await bench.clock.advance(4 * secondMs);
  assert.deepEqual(tally(bench.floors(shop)), { undefined: 15, 6: 45 });
});

test("everyday life: the deletion of a namespace with 60 workloads is one change", async () => {
  const bench = await startHolding();
  await bench.namespace("team");
  await bench.run(shop, { namespace: "team" });
  await bench.terminate("team");
  await bench.delete(shop, "team");
  await bench.clock.advance(5 * secondMs);
  assert.deepEqual(tally(bench.floors(shop, "team")), { undefined: 60 });
});

test("everyday life: a namespace that is deleted right after some of its workloads takes all with it", async () => {
  const bench = await startHolding();
  await bench.namespace("team");
  await bench.run(shop, { namespace: "team" });
  await bench.delete(shop.slice(0, 30), "team");
  await bench.clock.advance(300);
  await bench.terminate("team");
  await bench.delete(shop.slice(30), "team");
  await bench.clock.advance(15 * secondMs);
  assert.deepEqual(tally(bench.floors(shop, "team")), { undefined: 60 });
});

test("the deletion of too many namespaces is held, with Events on them, where pods run elsewhere", async () => {
  const bench = await startHolding();
  const teams = namesOf("team", 25);
  for (const team of teams) {
    await bench.namespace(team);
    await bench.run(["web"], { namespace: team });
  }
  for (const team of teams) await bench.terminate(team);
  for (const team of teams) await bench.delete(["web"], team);
  await bench.clock.advance(minuteMs);
  assert.deepEqual(tally(teams.flatMap((team) => bench.floors(["web"], team))), { 6: 25 });
  const event = bench.events().find((one) => one["reason"] === "ChangeHeld");
  assert.partialDeepStrictEqual(event, { involvedObject: { kind: "Namespace" } });
});

test("where the core runs the pods itself, terminating namespaces are released at once, with an alarm", async () => {
  const bench = await startHolding();
  await bench.runPodsInCore();
  const teams = namesOf("team", 25);
  for (const team of teams) {
    await bench.namespace(team);
    await bench.run(["web"], { namespace: team });
  }
  await bench.clock.advance(minuteMs);
  for (const team of teams) await bench.terminate(team);
  for (const team of teams) await bench.delete(["web"], team);
  await bench.clock.advance(secondMs);
  assert.deepEqual(tally(teams.flatMap((team) => bench.floors(["web"], team))), { undefined: 25 });
  assert.equal(bench.generator.metrics.value("generator_namespace_deletion_alarms_total"), 1);
});

test("a new leader counts what the former one released, by the list of releases", async () => {
  const bench = await startHolding();
  await bench.run(shop);
  await bench.delete(shop.slice(0, 15));
  await bench.clock.advance(10 * secondMs);
  assert.deepEqual(tally(bench.floors(shop)), { undefined: 15, 6: 45 });
  await bench.generator.stop();
  await bench.start();
  await bench.delete(shop.slice(15, 25));
  await bench.clock.advance(minuteMs);
  assert.deepEqual(tally(bench.floors(shop)), { undefined: 15, 6: 45 });
});

test("200 Deployments with one replica whose floor falls by a new rule are lowered one by one, not held", async () => {
  const bench = await startHolding({ rule: { singleReplica: "protected" } });
  const single = namesOf("single", 200);
  await bench.run(single, { replicas: 1 });
  await bench.clock.advance(minuteMs);
  assert.deepEqual(tally(bench.floors(single)), { 1: 200 });
  await bench.generator.stop();
  const upgraded = await bench.start({ rule: { singleReplica: "drainable" } });
  await bench.clock.advance(5 * secondMs);
  const { 0: lowered = 0 } = tally(bench.floors(single));
  assert.ok(lowered > 10 && lowered < 50, `${lowered} were lowered in 6 s`);
  assert.ok(bench.reasons().includes("FloorsLowered"));
  await bench.clock.advance(minuteMs);
  assert.deepEqual(tally(bench.floors(single)), { 0: 200 });
  assert.equal(upgraded.metrics.value("generator_changes_held_total"), 0);
  await upgraded.stop();
});

test("a manager that is allowed scales everything to zero at night", async () => {
  const bench = await startHolding({ massChanges: { policy: "hold", allow: ["night-shift"] } });
  await bench.run(shop);
  await bench.edit(shop, { replicas: 0 }, "night-shift");
  await bench.clock.advance(secondMs);
  assert.deepEqual(tally(bench.floors(shop)), { 0: 60 });
});

test("while a lower floor is held, what else differs is repaired, and a person may lower one by hand", async () => {
  const bench = await startHolding();
  await bench.run(shop);
  await bench.edit(shop, { replicas: 0 }, "sync-tool");
  await bench.clock.advance(10 * secondMs);
  await bench.patchProtector("deployment-shop-0", { metadata: { finalizers: null } });
  await bench.patchProtector("deployment-shop-1", { spec: { minAvailable: 0 } });
  await bench.clock.advance(10 * secondMs);
  assert.ok(hasFinalizer(bench.protector("deployment-shop-0")));
  assert.deepEqual(bench.floors(["shop-0", "shop-1"]), [6, 0]);
});

test("marks of release by mistake let no lower floors pass", async () => {
  const bench = await startHolding();
  await bench.run(shop);
  const metadata = { annotations: { [annotations.released]: "true" } };
  for (const name of shop) await bench.patchProtector(`deployment-${name}`, { metadata });
  await bench.edit(shop, { replicas: 0 }, "sync-tool");
  await bench.clock.advance(10 * secondMs);
  assert.deepEqual(tally(bench.floors(shop)), { 6: 60 });
});
