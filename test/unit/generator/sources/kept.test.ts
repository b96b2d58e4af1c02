/** The word of an owner: `podseidon.kubewharf.io/keep` on a workload or its namespace (docs/mass-changes.md#keep). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { annotations, labels } from "../../../../src/api/v1alpha1/names.ts";
import { builtInResources, type JsonObject } from "../../../double/index.ts";
import { namesOf, startHolding } from "../mass-changes/bursts.ts";

const secondMs = 1_000;
const minuteMs = 60_000;
const { deployments, namespaces } = builtInResources;
const merge = (body: JsonObject) => ({ contentType: "application/merge-patch+json", body });
const cause = "keep/default/deployment-web";

/** Deployment web of 8, whose floor is 6, with this word. */
async function startKept(keep?: string, options: Parameters<typeof startHolding>[0] = {}) {
  const bench = await startHolding(options);
  const { engine, clock } = bench;
  const metadata = keep === undefined ? {} : { annotations: { [annotations.keep]: keep } };
  await bench.run(["web"], { metadata });
  await clock.advance(minuteMs);
  return {
    ...bench,
    floor: () => bench.floors(["web"])[0],
    kept: () => bench.protectorOf("web")?.metadata.annotations?.[annotations.keep],
    /** Writes of the owner, and what comes of them. */
    async say(body: JsonObject, waitMs = 10 * secondMs) {
      await engine.patch(deployments, "default", "web", merge(body), { fieldManager: "kubectl" });
      await clock.advance(waitMs);
      return bench.floors(["web"])[0];
    },
    async scaled(replicas: number) {
      await bench.scale(["web"], replicas, "hpa");
      await clock.advance(10 * secondMs);
      return bench.floors(["web"])[0];
    },
    async label(keep: string | null, waitMs = 10 * secondMs) {
      const body = merge({ metadata: { labels: { [labels.keep]: keep } } });
      await engine.patch(namespaces, undefined, "default", body);
      await clock.advance(waitMs);
      return bench.floors(["web"])[0];
    },
    async pass(text = cause) {
      await bench.approve(bench.approval(text, `planned ${clock.monotonicMs()}`));
      await clock.advance(10 * secondMs);
      return bench.floors(["web"])[0];
    },
    messages: (reason: string) =>
      bench.events().flatMap((event) => (event["reason"] === reason ? [String(event["message"])] : [])),
  };
}

const replicasOf = (replicas: number): JsonObject => ({ spec: { replicas } });
const wordOf = (keep: string | null): JsonObject => ({ metadata: { annotations: { [annotations.keep]: keep } } });

test("one fall to 0 of a workload with keep is held until a person approves it by its own name", async () => {
  const bench = await startKept("5");
  assert.equal(bench.kept(), "5");
  assert.equal(await bench.say(replicasOf(0)), 6);
  await bench.clock.advance(30 * minuteMs);
  assert.equal(bench.floor(), 6);
  assert.match(
    bench.messages("ChangeHeld")[0] ?? "",
    /floor of 0 instead of 6, and podseidon.kubewharf.io\/keep is 5 \(cause keep\/default\/deployment-web\)/,
  );
  assert.match(JSON.stringify(bench.configMap()), /keep\/default\/deployment-web/);
  bench.generator.metrics.scrape();
  assert.equal(bench.generator.metrics.value("generator_held_changes", { cause: "keep" }), 1);
  assert.equal(await bench.pass("core"), 6, "that is not what holds it");
  assert.equal(await bench.pass(), 0);
});

test("what falls no lower than the number passes, by an edit or an autoscaler, and below it nothing does", async () => {
  const bench = await startKept("4");
  assert.equal(await bench.scaled(6), 5);
  assert.equal(await bench.scaled(5), 4);
  assert.equal(await bench.scaled(4), 4, "its floor would be 3");
  assert.equal(await bench.scaled(0), 4);
  assert.equal(await bench.scaled(8), 6, "what is undone is held no longer");
  assert.equal(await bench.say(replicasOf(3)), 6);
});

test("a deletion and an opt-out of one workload with keep are held, and its deletion can be approved", async () => {
  const bench = await startKept("1");
  const optedOut = { metadata: { annotations: { "podseidon.kubewharf.io/protect": "false" } } };
  assert.equal(await bench.say(optedOut), 6);
  assert.equal(await bench.say({ metadata: { annotations: { "podseidon.kubewharf.io/protect": null } } }), 6);
  await bench.delete(["web"]);
  await bench.clock.advance(30 * minuteMs);
  assert.equal(bench.floor(), 6);
  assert.notEqual(bench.deployment("web"), undefined);
  assert.match(bench.messages("ChangeHeld").at(-1) ?? "", /asks to release its floor of 6/);
  assert.equal(await bench.pass("*"), undefined);
  assert.equal(bench.deployment("web"), undefined);
});

test("a write that takes keep away and the replicas is judged with keep, also by a new leader", async () => {
  const bench = await startKept("5");
  assert.equal(await bench.say({ ...replicasOf(0), ...wordOf(null) }), 6);
  await bench.clock.advance(30 * minuteMs);
  assert.equal(bench.floor(), 6);
  await bench.generator.stop();
  await bench.start();
  await bench.clock.advance(30 * minuteMs);
  assert.equal(bench.floor(), 6);
  assert.equal(bench.kept(), "5");
  assert.equal(await bench.pass(), 0);
  assert.equal(bench.kept(), undefined);
});

test("a write that sets keep and takes the replicas is judged with keep", async () => {
  const bench = await startKept();
  assert.equal(await bench.say({ ...replicasOf(0), ...wordOf("5") }), 6);
  assert.equal(bench.kept(), "5");
});

test("a deletion right after keep was set is held", async () => {
  const bench = await startKept();
  await bench.say(wordOf("true"), 0);
  await bench.delete(["web"]);
  await bench.clock.advance(minuteMs);
  assert.equal(bench.floor(), 6);
});

test("taking keep away alone is held for ten minutes, loudly, and then it is over", async () => {
  const bench = await startKept("5");
  await bench.say(wordOf(null), 9 * minuteMs);
  assert.equal(bench.kept(), "5");
  assert.match(bench.messages("ChangeHeld")[0] ?? "", /is no longer to be kept at 5: .*ten minutes/);
  await bench.clock.advance(2 * minuteMs);
  assert.equal(bench.kept(), undefined);
  assert.equal(await bench.say(replicasOf(0)), 0);
});

test("taking keep away can be approved at once, and undone", async () => {
  const bench = await startKept("5");
  await bench.say(wordOf(null));
  await bench.say(wordOf("5"), 11 * minuteMs);
  assert.equal(bench.kept(), "5");
  await bench.say(wordOf(null));
  await bench.pass();
  assert.equal(bench.kept(), undefined);
});

test("a fall while the ten minutes run is held until it is approved or undone, and they begin anew", async () => {
  const bench = await startKept("5");
  await bench.say(wordOf(null), 5 * minuteMs);
  await bench.say(replicasOf(0), 30 * minuteMs);
  assert.equal(bench.floor(), 6);
  await bench.say(replicasOf(10), 9 * minuteMs);
  assert.deepEqual([bench.floor(), bench.kept()], [8, "5"]);
  await bench.clock.advance(2 * minuteMs);
  assert.equal(bench.kept(), undefined);
});

test("a greater number holds at once, and a smaller one is taken away like the word itself", async () => {
  const bench = await startKept("2");
  await bench.say(wordOf("6"));
  assert.equal(bench.kept(), "6");
  await bench.say(wordOf("3"));
  assert.equal(bench.kept(), "6");
  assert.equal(await bench.scaled(4), 6);
  await bench.scaled(8);
  await bench.clock.advance(11 * minuteMs);
  assert.equal(bench.kept(), "3");
  assert.equal(await bench.scaled(4), 3);
});

test("true keeps half of the last approved floor, which an autoscaler's peak does not raise", async () => {
  const bench = await startKept("true");
  assert.equal(bench.kept(), "3");
  assert.equal(await bench.scaled(40), 30);
  assert.equal(bench.kept(), "3");
  assert.equal(await bench.scaled(4), 3);
  assert.equal(await bench.scaled(2), 3);
  assert.equal(await bench.say(replicasOf(16)), 12);
  assert.equal(bench.kept(), "6", "who writes the manifest approves it");
  assert.equal(await bench.say(replicasOf(4)), 12);
  assert.equal(await bench.pass(), 3);
  assert.equal(bench.kept(), "2", "of what was approved last");
});

test("an approved fall to 0 is the new floor, and the next one that rises is kept again", async () => {
  const bench = await startKept("true");
  assert.equal(await bench.say(replicasOf(0)), 6);
  assert.equal(await bench.pass(), 0);
  assert.equal(bench.kept(), "1");
  assert.equal(await bench.say(replicasOf(8)), 6);
  assert.equal(bench.kept(), "3");
  assert.equal(await bench.say(replicasOf(2)), 6);
});

for (const bad of ["-1", "0", "five", " 5", "5 ", "99999999999", "5.5", "True", "false", "50%", ""]) {
  test(`keep=${JSON.stringify(bad)} is ignored loudly, and takes away nothing that was kept`, async () => {
    const bench = await startKept(bad);
    assert.equal(bench.kept(), undefined);
    assert.match(
      JSON.stringify(bench.protectorOf("web")?.status ?? {}) + bench.messages("AnnotationIgnored").join(),
      /Ignoring the annotation podseidon.kubewharf.io\/keep/,
    );
    await bench.say(wordOf("5"));
    await bench.say(wordOf(bad), 30 * minuteMs);
    assert.equal(bench.kept(), "5");
    assert.equal(await bench.say(replicasOf(0)), 6);
  });
}

test("the label of the namespace keeps what no manifest of a workload takes away", async () => {
  const bench = await startKept("2");
  await bench.label("5");
  assert.equal(bench.kept(), "5", "the stricter word holds");
  assert.equal(await bench.say({ ...replicasOf(4), ...wordOf(null) }, 30 * minuteMs), 6);
  await bench.say(replicasOf(8));
  await bench.label("many", 30 * minuteMs);
  assert.equal(bench.kept(), "5", "what cannot be read changes nothing");
  assert.match(bench.messages("LabelIgnored").at(-1) ?? "", /keep="many": it must be true, or a whole number from 1/);
  await bench.label(null, 5 * minuteMs);
  assert.equal(bench.kept(), "5");
  await bench.clock.advance(6 * minuteMs);
  assert.equal(bench.kept(), undefined);
});

test("with min-available the floor is held above the replicas", async () => {
  const bench = await startKept("5");
  const both = { metadata: { annotations: { "podseidon.kubewharf.io/min-available": "5" } } };
  assert.equal(await bench.say(both), 5);
  assert.equal(await bench.say(replicasOf(2)), 5);
  assert.equal(await bench.say({ metadata: { annotations: { "podseidon.kubewharf.io/min-available": "1" } } }), 5);
});

test("no policy, allowed manager, exempt namespace or approval of another cause lets go what is kept", async () => {
  for (const policy of ["allow", "trickle", "hold"] as const) {
    const bench = await startKept("5", { massChanges: { policy, allow: ["kubectl"] } });
    const body = merge({ metadata: { labels: { [labels.massChanges]: "allow" } } });
    await bench.engine.patch(namespaces, undefined, "default", body);
    assert.equal(await bench.say(replicasOf(0), 2 * minuteMs), 6, policy);
    assert.equal(await bench.pass("manager/kubectl"), 6, policy);
    assert.equal(await bench.pass(), 0, policy);
  }
});

test("a namespace that is put in shadow keeps in force what is kept there", async () => {
  const bench = await startKept("5");
  await bench.engine.patch(
    namespaces,
    undefined,
    "default",
    merge({ metadata: { labels: { [labels.mode]: "shadow" } } }),
  );
  await bench.clock.advance(minuteMs);
  assert.equal(bench.protectorOf("web")?.metadata.annotations?.[annotations.mode], undefined);
  await bench.pass();
  assert.equal(bench.protectorOf("web")?.metadata.annotations?.[annotations.mode], "shadow");
});

test("falls that are kept count towards a mass change, and hold the others with it", async () => {
  const bench = await startHolding();
  const names = namesOf("shop", 12);
  await bench.run(names, { metadata: { annotations: { [annotations.keep]: "1" } } });
  const others = namesOf("other", 12);
  await bench.run(others);
  await bench.clock.advance(minuteMs);
  await bench.edit([...names, ...others], { replicas: 0 }, "sync-tool");
  await bench.clock.advance(10 * secondMs);
  assert.ok(bench.floors([...names, ...others]).every((floor) => floor === 6));
});

test("a mass of workloads that lose keep and most replicas in one write is held as that for longer", async () => {
  const bench = await startHolding();
  const names = namesOf("shop", 24);
  await bench.run(names, { metadata: { annotations: { [annotations.keep]: "1" } } });
  await bench.clock.advance(minuteMs);
  const body = { metadata: { annotations: { [annotations.keep]: null } }, spec: { replicas: 2 } };
  for (const name of names)
    await bench.engine.patch(deployments, "default", name, merge(body), { fieldManager: "sync-tool" });
  await bench.clock.advance(30 * minuteMs);
  assert.ok(bench.floors(names).every((floor) => floor === 6));
});

test("an approval of what holds the many lets go these, and not what an owner keeps among them", async () => {
  const bench = await startHolding();
  const names = namesOf("shop", 24);
  await bench.run(names);
  await bench.run(["web"], { metadata: { annotations: { [annotations.keep]: "1" } } });
  await bench.clock.advance(minuteMs);
  await bench.edit([...names, "web"], { replicas: 0 }, "sync-tool");
  await bench.clock.advance(10 * secondMs);
  await bench.approve(bench.approval("manager/sync-tool"));
  await bench.clock.advance(20 * secondMs);
  assert.ok(bench.floors(names).every((floor) => floor === 0));
  assert.deepEqual(bench.floors(["web"]), [6]);
});

test("a namespace that is switched off, and then a flag that selects others, hold what is kept", async () => {
  const off = await startKept("5");
  await off.engine.patch(namespaces, undefined, "default", merge({ metadata: { labels: { [labels.mode]: "off" } } }));
  await off.clock.advance(20 * minuteMs);
  assert.equal(off.floor(), 6);
  await off.generator.stop();
  const selector = { protectionSelector: { matchLabels: { other: "yes" } } };
  await off.startGenerator(selector, { massChanges: { policy: "hold", allow: [] } }).ready();
  await off.clock.advance(20 * minuteMs);
  assert.equal(off.floor(), 6);
});

test("a Deployment that vanishes and is made again without keep and with 0 replicas is judged with keep", async () => {
  const bench = await startKept("5");
  bench.engine.wipe(deployments);
  await bench.clock.advance(minuteMs);
  await bench.run(["web"], { replicas: 0 });
  await bench.clock.advance(20 * minuteMs);
  assert.equal(bench.floor(), 6);
  assert.equal(bench.kept(), "5");
});

test("a PodProtector that is lost while a fall is held is made again with its floor and its number", async () => {
  const bench = await startKept("5");
  await bench.say({ ...replicasOf(0), ...wordOf(null) });
  bench.engine.wipe(bench.protectorType);
  await bench.clock.advance(minuteMs);
  assert.deepEqual([bench.floor(), bench.kept()], [6, "5"]);
  await bench.clock.advance(20 * minuteMs);
  assert.deepEqual([bench.floor(), bench.kept()], [6, "5"]);
});

test("an approval covers one fall, and not the next", async () => {
  const bench = await startKept("5");
  await bench.say(replicasOf(4));
  assert.equal(await bench.pass(), 3);
  assert.equal(await bench.say(replicasOf(0), minuteMs), 3);
  await bench.say(replicasOf(8));
  assert.equal(await bench.say(replicasOf(4), minuteMs), 6);
});

test("a number that somebody has edited on the PodProtector is put back", async () => {
  const bench = await startKept("5");
  const body = { metadata: { annotations: { [annotations.keep]: "1" } } };
  await bench.engine.patch(bench.protectorType, "default", "deployment-web", merge(body));
  await bench.clock.advance(minuteMs);
  assert.equal(bench.kept(), "5");
});

test("a deletion that keep holds is let go when its namespace ends in a core that runs the pods", async () => {
  const bench = await startHolding();
  await bench.runPodsInCore();
  await bench.namespace("team", { [labels.keep]: "true" });
  await bench.run(["web"], { namespace: "team" });
  await bench.clock.advance(minuteMs);
  await bench.delete(["web"], "team");
  await bench.clock.advance(minuteMs);
  assert.deepEqual(bench.floors(["web"], "team"), [6]);
  await bench.terminate("team");
  await bench.clock.advance(minuteMs);
  assert.deepEqual(bench.floors(["web"], "team"), [undefined]);
});
