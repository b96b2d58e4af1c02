import assert from "node:assert/strict";
import { test } from "node:test";
import { annotations, sourceLabels } from "../../../../src/api/v1alpha1/names.ts";
import { configMaps, generatorStateName } from "../../../../src/kube/generator-state.ts";
import { resourcePath } from "../../../../src/kube/kube-client.ts";
import { cell, deleteReview, evictReview, pod, protector } from "../support/objects.ts";
import { type ReplicaOptions, world } from "../support/replica.ts";

const key = "ns/web";
const counted = { minAvailable: 1, cells: [cell("c1", 3)] };
const byHand = protector(counted);
const generated = protector({ ...counted, annotations: { [annotations.generated]: "" } });
/** For the reads of what decides. */
const lookMs = 50;
const minuteMs = 60_000;

async function vanished(object = generated, options: ReplicaOptions = {}) {
  const { clock, core, replica } = world([object], options);
  const [informer] = replica.informers;
  assert.ok(informer !== undefined);
  informer.list();
  await clock.advance(minuteMs);
  core.watches = false;
  core.remove(key);
  const review = (name = "p") => replica.review(deleteReview(pod(name)));
  /** It is absent in a list. */
  const miss = async (): Promise<void> => {
    informer.miss(key);
    await clock.advance(lookMs);
  };
  /** Its deletion is seen. */
  const drop = async (): Promise<void> => {
    informer.show(key, undefined);
    await clock.advance(lookMs);
  };
  const lines = (text: RegExp): number => replica.log.lines.filter(({ message }) => text.test(message)).length;
  return { clock, core, replica, informer, review, miss, drop, lines };
}

test("a tombstone refuses the pods that contribute, says what to do, and lets the others go", async () => {
  const { replica, review, miss, lines } = await vanished();
  await miss();
  const refused = await review();
  assert.equal(refused.code, 429);
  assert.match(refused.message, /core\/ns\/web is gone from the core cluster without having been released, since 20/);
  assert.match(
    refused.message,
    /add the key uid.uid-of-web to the ConfigMap podseidon-system\/podseidon-generator-state/,
  );
  assert.equal(lines(/is gone without having been released/), 1);
  const answers = await Promise.all([
    replica.review(deleteReview(pod("p", { ready: false }))),
    replica.review(deleteReview(pod("p", { terminating: true }))),
    replica.review(deleteReview(pod("p", { annotations: { [annotations.forceDelete]: "" } }))),
    replica.review(deleteReview(pod("p", { labels: { app: "other" } }))),
  ]);
  assert.deepEqual(
    answers.map(({ allowed }) => allowed),
    [true, true, true, true],
  );
  assert.equal((await replica.review(evictReview("p"))).allowed, false);
});

test("a tombstone without a floor refuses nothing", async () => {
  const { review, miss } = await vanished(protector({ ...counted, minAvailable: 0 }));
  await miss();
  assert.equal((await review()).allowed, true);
});

test("a deletion of a hand-made PodProtector is believed when its CRD is as before", async () => {
  const { review, drop, lines } = await vanished(byHand);
  await drop();
  assert.equal((await review()).allowed, true);
  assert.equal(lines(/gone/), 0);
});

test("a deletion is believed once the mark of ownership is off, for the way back to an earlier release", async () => {
  const { core, review, drop } = await vanished();
  const metadata = {
    ...(generated["metadata"] as object),
    annotations: {},
    labels: { [sourceLabels.kind]: "Deployment" },
  };
  core.watches = true;
  core.put({ ...generated, metadata });
  await drop();
  assert.equal((await review()).allowed, true);
});

test("a deletion with the CRD is not believed, and the CRD is asked again while it cannot be read", async () => {
  const { clock, core, review, drop } = await vanished(byHand);
  core.script = ({ path }) => (path.includes("customresourcedefinitions") ? { refuse: "serverError" } : "none");
  await drop();
  assert.equal((await review()).allowed, false);
  core.definition = { metadata: { uid: "crd-2" } };
  core.script = () => "none";
  await clock.advance(minuteMs);
  assert.equal((await review()).allowed, false);
});

test("a deletion is believed when the CRD was made again a moment before it, after its loss", async () => {
  const { clock, core, informer, review, miss, drop } = await vanished(byHand);
  await miss();
  informer.list(false);
  core.definition = { metadata: { uid: "crd-2" } };
  core.put({ ...byHand, metadata: { ...(byHand["metadata"] as object), uid: "again" } });
  core.deliver();
  informer.list();
  await clock.advance(3_000);
  core.remove(key);
  await drop();
  assert.equal((await review()).allowed, true);
});

test("a PodProtector is gone once its UID is in the generator's ConfigMap, also when a person adds it", async () => {
  const { clock, core, review, miss, lines } = await vanished();
  await miss();
  assert.equal((await review()).allowed, false);
  core.generatorState = { "uid.uid-of-web": "the shop is closed" };
  await clock.advance(minuteMs);
  assert.equal((await review()).allowed, true);
  assert.equal(lines(/is let go/), 1);
});

test("without the right to read the generator's ConfigMap a PodProtector stays, and one line says so", async () => {
  const { clock, core, replica, review, miss, lines } = await vanished();
  const place = resourcePath(configMaps, { namespace: "podseidon-system", name: generatorStateName });
  core.script = ({ path }) => (path === place ? { refuse: "forbidden" } : "none");
  await miss();
  await clock.advance(5 * minuteMs);
  assert.equal((await review()).allowed, false);
  assert.equal(lines(/Not allowed to read which/), 1);
  assert.ok(replica.metrics.count("webhook_tombstone_read_failure_total") > 1);
});

test("a tombstone is let go after its time", async () => {
  const { clock, review, miss, lines } = await vanished(generated, { tombstoneTtlMs: 10 * minuteMs });
  await miss();
  await clock.advance(9 * minuteMs);
  assert.equal((await review()).allowed, false);
  await clock.advance(2 * minuteMs);
  assert.equal((await review()).allowed, true);
  assert.equal(lines(/is let go/), 1);
});

test("a PodProtector that is made again takes counts without a generation after a settle window", async () => {
  const { clock, core, review, miss } = await vanished();
  await miss();
  core.put({ ...generated, metadata: { ...(generated["metadata"] as object), uid: "again" } });
  core.deliver();
  await clock.advance(74_000);
  assert.match((await review()).message, /not in force \(3, since it was made again\)/);
  await clock.advance(2_000);
  assert.equal((await review()).allowed, true);
});

test("one that a live read shows made again before the watch takes its counts after a settle window", async () => {
  const { clock, core, review } = await vanished();
  core.put({ ...generated, metadata: { ...(generated["metadata"] as object), uid: "again" } });
  assert.equal((await review("p")).allowed, false);
  assert.match((await review("q")).message, /not in force \(3, since it was made again\)/);
  await clock.advance(74_000);
  assert.equal((await review("r")).allowed, false);
  await clock.advance(2_000);
  assert.equal((await review("s")).allowed, true);
});

test("one that is made again takes counts with a generation at once: its aggregator has waited", async () => {
  const { core, review, miss } = await vanished();
  await miss();
  const cells = [cell("c1", 3, { countedGeneration: 1 })];
  const again = protector({ ...counted, cells, uid: "again", annotations: { [annotations.generated]: "" } });
  core.put(again);
  core.deliver();
  assert.equal((await review()).allowed, true);
});

test("a PodProtector that comes back is as it was", async () => {
  const { clock, core, review, miss } = await vanished();
  await miss();
  core.put(generated);
  core.deliver();
  await clock.advance(lookMs);
  assert.equal((await review()).allowed, true);
});

test("nothing more is read for a tombstone after the replica has drained", async () => {
  const { clock, core, replica, miss } = await vanished();
  await miss();
  await replica.webhook.drain();
  let reads = 0;
  core.script = () => {
    reads += 1;
    return "none";
  };
  await clock.advance(minuteMs);
  assert.equal(reads, 0);
});

test("a replica stays ready while the core answers that it knows no PodProtectors, and says so", async () => {
  const { clock, replica, informer, lines } = await vanished();
  informer.silence = 3_600_000;
  assert.match(replica.webhook.unreadyReasons.get("core")?.() ?? "", /nothing heard/);
  informer.list(false);
  informer.list(false);
  assert.equal(replica.webhook.unreadyReasons.get("core")?.(), undefined);
  assert.equal(lines(/answers 404 for PodProtectors/), 1);
  assert.deepEqual(replica.metrics.values.get('webhook_crd_lost{core="core"}'), [1]);
  await clock.advance(6 * minuteMs);
  assert.match(replica.webhook.unreadyReasons.get("core")?.() ?? "", /nothing heard/, "it answers nothing any more");
  informer.list(false);
  assert.equal(replica.webhook.unreadyReasons.get("core")?.(), undefined);
});

test("a PodProtector that is invalid when it vanishes refuses what it may have meant to protect", async () => {
  const { review, miss } = await vanished({ ...generated, spec: { minAvailable: "many", selector: {} } });
  await miss();
  const { allowed, message } = await review();
  assert.equal(allowed, false);
  assert.match(message, /core\/ns\/web is gone from the core cluster without having been released/);
});

test("a tombstone by whose criterion the pod is not up leaves it to the others that count it", async () => {
  const { core, replica, informer, miss } = await vanished();
  const other = protector({ ...counted, name: "zone" });
  const zone = { ...other, spec: { ...(other["spec"] as object), healthCriterion: "Running" } };
  core.put(zone);
  informer.show("ns/zone", core.object("ns/zone"));
  await miss();
  const { allowed, audit } = await replica.review(deleteReview(pod("p", { ready: false })));
  assert.equal(allowed, true);
  assert.deepEqual(audit, { "admit-by-podprotectors": "core/ns/web=nothing,core/ns/zone=quota" });
});

test("what was invalid and is marked as released at once is gone, and its deletion says nothing more", async () => {
  const metadata = { ...(generated["metadata"] as object), annotations: { [annotations.released]: "" } };
  const { core, review, lines } = await vanished();
  core.watches = true;
  core.put({ ...generated, metadata, spec: { minAvailable: "many", selector: {} } });
  assert.equal((await review()).allowed, true);
  core.remove(key);
  assert.equal((await review()).allowed, true);
  assert.equal(lines(/gone/), 0);
});
