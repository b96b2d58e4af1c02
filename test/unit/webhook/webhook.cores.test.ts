/** The webhook with two cores: both must agree, and one that is away is no matter of the other. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { createVirtualClock } from "../../support/virtual-clock.ts";
import { FakeCore } from "./support/fake-core.ts";
import { cell, deleteReview, type Json, pod, protector } from "./support/objects.ts";
import { createReplica, type ReplicaOptions, settings } from "./support/replica.ts";

const web = (available: number): Json => protector({ cells: [cell("c1", available)] });
const api = (available: number): Json =>
  protector({ name: "api", selector: { matchLabels: { app: "api" } }, cells: [cell("c1", available)] });
const apiPod = pod("p", { labels: { app: "api" } });

function twoCores(east: readonly Json[], west: readonly Json[], options: ReplicaOptions = {}) {
  const clock = createVirtualClock();
  const cores = { east: new FakeCore(clock), west: new FakeCore(clock) };
  for (const object of east) cores.east.put(object);
  for (const object of west) cores.west.put(object);
  return { clock, ...cores, replica: createReplica(clock, cores, options) };
}

function cut(core: FakeCore): void {
  core.touch();
  core.script = () => ({ refuse: "network" });
}

test("PodProtectors of one name in two cores are two budgets: both must agree; a refusal names the core", async () => {
  const { east, west, replica } = twoCores([web(81)], [web(80)]);
  const refused = await replica.review(deleteReview(pod("a")));
  assert.equal(refused.code, 429);
  assert.match(refused.message, /west\/ns\/web/);
  assert.doesNotMatch(refused.message, /east\/ns\/web/);
  assert.equal(east.writes + west.writes, 0, "nothing is reserved where another refuses");
  west.put(web(81));
  assert.equal((await replica.review(deleteReview(pod("b")))).allowed, true);
  assert.equal(east.buckets("ns/web").length, 1);
  assert.equal(west.buckets("ns/web").length, 1);
});

test("a reservation in one core stays when the other refuses after all, and settles as an unused one", async () => {
  const { east, west, replica } = twoCores([web(81)], [web(81)]);
  west.watches = false;
  west.put(web(80));
  const refused = await replica.review(deleteReview(pod("a")));
  assert.match(refused.message, /west\/ns\/web/);
  assert.equal(east.buckets("ns/web").length, 1);
  assert.equal(west.buckets("ns/web").length, 0);
});

test("while a core takes no writes its PodProtectors refuse, and those of the other admit at once", async () => {
  const { east, replica, clock } = twoCores([web(100)], [api(100)]);
  cut(east);
  const stuck = replica.send(deleteReview(pod("a")));
  const other = await replica.review(deleteReview(apiPod));
  assert.equal(other.allowed, true);
  assert.ok(other.elapsedMs < 100, `${other.elapsedMs} ms`);
  await clock.advance(10_000);
  const refused = await stuck;
  assert.equal(refused.code, 429);
  assert.match(refused.message, /east\/ns\/web/);
});

test("each core has its own policy while it takes no writes", async () => {
  const { clock, east, west, replica } = twoCores([web(100)], [api(100)], {
    coreUnavailable: {
      ...settings.coreUnavailable,
      isLastKnownAllowed: (core) => core === "west",
      isUnreadyWhenSilent: (core) => core === "east",
    },
  });
  cut(east);
  cut(west);
  const [ofEast, ofWest] = [replica.send(deleteReview(pod("a"))), replica.send(deleteReview(apiPod))];
  await clock.advance(10_000);
  assert.equal((await ofEast).allowed, false);
  assert.equal((await ofWest).allowed, true);
});

test("a silent core turns no replica unready while another core is heard; when all are silent it does", () => {
  const { replica } = twoCores([web(100)], [api(100)]);
  const reasonOf = (core: string): string | undefined => replica.webhook.unreadyReasons.get(core)?.();
  replica.informers[0]!.silence = 3_600_000;
  assert.deepEqual([reasonOf("east"), reasonOf("west")], [undefined, undefined]);
  replica.informers[1]!.silence = 301_000;
  assert.match(reasonOf("east") ?? "", /nothing heard from east for 3600 s/);
  assert.match(reasonOf("west") ?? "", /nothing heard from west for 301 s/);
});

test("a replica that starts while a core is away is not ready, and names that core", async () => {
  const clock = createVirtualClock();
  const cores = { east: new FakeCore(clock), west: new FakeCore(clock) };
  const replica = createReplica(clock, cores, { unsynced: true });
  cores.east.deliver();
  assert.equal(replica.webhook.unreadyReasons.get("east")?.(), undefined);
  assert.match(replica.webhook.unreadyReasons.get("west")?.() ?? "", /informer of west is not synced yet/);
  const refused = await replica.review(deleteReview(pod("a")));
  assert.equal(refused.code, 503);
  assert.match(refused.message, /PodProtectors of west/);
});

test("a core that was wiped keeps its PodProtectors in force, and those of the other go on", async () => {
  const { east, replica } = twoCores([web(100)], [api(100)]);
  east.remove("ns/web");
  const refused = await replica.review(deleteReview(pod("a")));
  assert.equal(refused.allowed, false);
  assert.match(refused.message, /east\/ns\/web/);
  assert.equal((await replica.review(deleteReview(apiPod))).allowed, true);
});
