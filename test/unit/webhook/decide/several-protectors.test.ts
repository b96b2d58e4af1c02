/** Several PodProtectors on one pod (docs/webhook.md#several-podprotectors). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { createVirtualClock } from "../../../support/virtual-clock.ts";
import { FakeCore } from "../support/fake-core.ts";
import { cell, deleteReview, evictReview, type Json, pod, protector } from "../support/objects.ts";
import { createReplica, settle, world } from "../support/replica.ts";

const names = (core: FakeCore) => core.requests.map(({ path }) => /podprotectors\/([^/]+)/.exec(path)?.[1]);

test("the webhook writes nothing when any PodProtector would refuse", async () => {
  const { core, replica } = world([
    protector({ name: "a", cells: [cell("c1", 100)] }),
    protector({ name: "b", cells: [cell("c1", 80)] }),
  ]);
  const answer = await replica.review(deleteReview(pod("p")));
  assert.equal(answer.allowed, false);
  assert.match(answer.message, /core\/ns\/b/);
  assert.deepEqual(names(core), []);
});

test("the webhook names the first PodProtector that refuses and lists all of them as causes", async () => {
  const { replica } = world([
    protector({ name: "b", cells: [cell("c1", 80)] }),
    protector({ name: "a", cells: [cell("c1", 80)] }),
    protector({ name: "c", cells: [cell("c1", 100)] }),
  ]);
  const answer = await replica.review(deleteReview(pod("p")));
  assert.equal(answer.audit["reject-by-podprotector"], "core/ns/a");
  const details = ((answer.body["response"] as Json)["status"] as Json)["details"] as { causes: Json[] };
  assert.deepEqual(
    details.causes.map((cause) => cause["field"]),
    ["core/ns/a", "core/ns/b"],
  );
});

test("the webhook reserves from one PodProtector after the other, by core, namespace and name", async () => {
  const clock = createVirtualClock();
  const [one, two] = [new FakeCore(clock), new FakeCore(clock)];
  const order: string[] = [];
  for (const [core, label] of [
    [one, "west"],
    [two, "east"],
  ] as const) {
    core.put(protector({ name: "b", cells: [cell("c1", 100)] }));
    core.put(protector({ name: "a", cells: [cell("c1", 100)] }));
    core.script = (request) => {
      order.push(`${label}/${/podprotectors\/([^/]+)/.exec(request.path)?.[1]}`);
      return "none";
    };
  }
  const replica = createReplica(clock, { west: one, east: two });
  const answer = await replica.review(deleteReview(pod("p")));
  assert.equal(answer.allowed, true);
  assert.deepEqual(order, ["east/a", "east/b", "west/a", "west/b"]);
});

test("the webhook treats protectors of one name in two cores as separate budgets that must agree", async () => {
  const clock = createVirtualClock();
  const [east, west] = [new FakeCore(clock), new FakeCore(clock)];
  east.put(protector({ cells: [cell("c1", 100)] }));
  west.put(protector({ cells: [cell("c1", 80)] }));
  const replica = createReplica(clock, { east, west });
  const answer = await replica.review(deleteReview(pod("p")));
  assert.equal(answer.audit["reject-by-podprotector"], "west/ns/web");
  assert.equal(east.writes, 0);
});

test("the webhook keeps earlier records when a later PodProtector refuses after all", async () => {
  const { clock, core, replica } = world([
    protector({ name: "a", cells: [cell("c1", 100)] }),
    protector({ name: "b", cells: [cell("c1", 81)] }),
  ]);
  core.watches = false;
  const answer = replica.send(deleteReview(pod("p")));
  // Another replica takes the last place of b while we write to a.
  core.update("ns/b", (status) => {
    status.cells = [cell("c1", 81, {}, [{ startTime: "2026-01-01T00:00:00Z", podUID: "x", podResourceVersion: "1" }])];
  });
  assert.equal((await settle(clock, answer)).allowed, false);
  assert.equal(core.buckets("ns/a").length, 1);
  assert.equal(core.buckets("ns/b").length, 1);
  assert.deepEqual(names(core), ["a", "b", "b"]);
});

test("the webhook asks a PodProtector as it is, when it is made anew while another is written", async () => {
  const { clock, core, replica } = world([
    protector({ name: "a", cells: [cell("c1", 100)] }),
    protector({ name: "b", cells: [cell("c1", 100)] }),
  ]);
  core.script = ({ path }) => {
    core.script = () => "none";
    assert.match(path, /podprotectors.a/);
    core.remove("ns/b");
    core.put(protector({ name: "b", cells: [cell("c1", 80)] }));
    return "none";
  };
  assert.equal((await settle(clock, replica.send(deleteReview(pod("p"))))).allowed, false);
  assert.deepEqual(core.buckets("ns/b"), []);
  assert.equal((await settle(clock, replica.send(deleteReview(pod("q"))))).allowed, false);
});

test("the webhook does not ask later PodProtectors when an earlier one refuses while recording", async () => {
  const { core, replica } = world([
    protector({ name: "a", cells: [cell("c1", 100)] }),
    protector({ name: "b", cells: [cell("c1", 100)] }),
  ]);
  core.script = (request) => (request.path.includes("/a/") ? { refuse: "notFound", code: 404 } : "none");
  assert.equal((await replica.review(deleteReview(pod("p")))).allowed, false);
  assert.deepEqual(names(core), ["a"]);
});

test("the webhook lets two reviews over the same PodProtectors pass without a deadlock", async () => {
  const { clock, core, replica } = world([
    protector({ name: "a", cells: [cell("c1", 100)] }),
    protector({ name: "b", cells: [cell("c1", 100)], selector: { matchLabels: { app: "web" } } }),
  ]);
  const answers = ["p", "q", "r"].map((name) => replica.send(deleteReview(pod(name))));
  const settled = await settle(clock, Promise.all(answers));
  assert.deepEqual(
    settled.map(({ allowed }) => allowed),
    [true, true, true],
  );
  assert.equal(core.buckets("ns/a").length, 3);
  assert.equal(core.buckets("ns/b").length, 3);
});

test("the webhook answers 500 when a core forbids the write, and names no quota", async () => {
  const { core, replica } = world([protector({ cells: [cell("c1", 100)] })]);
  core.script = () => ({ refuse: "forbidden", code: 403 });
  const answer = await replica.review(deleteReview(pod("p")));
  assert.equal(answer.http, 500);
  assert.match(
    answer.message,
    /^server internal error: cannot reserve PodProtector admission: error executing retry batch/,
  );
  assert.equal(replica.metrics.count('webhook_http_error{cell="c1",error="Handle/Reserve/forbidden"}'), 1);
});

test("the webhook measures the evaluation of each PodProtector", async () => {
  const { replica } = world([
    protector({ name: "a", cells: [cell("c1", 100)] }),
    protector({ name: "b", cells: [cell("c1", 80)] }),
  ]);
  await replica.review(deleteReview(pod("p"), { userInfo: { username: "system:node:n1" } }));
  const labels =
    'webhook_handle_pod_in_ppr{pod_cell="c1",namespace="ns",user="system:node",request_type="DeletePod",rejected=';
  assert.equal(replica.metrics.count(`${labels}"true"`), 1);
  assert.equal(replica.metrics.count(`${labels}"false"`), 1);
});

test("the webhook refuses an eviction whose cell client is unknown with the words of upstream", async () => {
  const { replica } = world([protector()], { workers: { kind: "map", clients: new Map() } });
  const answer = await replica.review(evictReview("p"));
  assert.equal(answer.http, 500);
  assert.match(answer.message, /unknown cell "c1"/);
});
