import assert from "node:assert/strict";
import { test } from "node:test";
import { parseCallerCounts } from "../../../../../src/api/caller-counts.ts";
import { annotations } from "../../../../../src/api/v1alpha1/names.ts";
import { createEventRecorder, type EventRecorder } from "../../../../../src/kube/event-recorder.ts";
import { KubeError, type KubeClient, type KubeRequest } from "../../../../../src/kube/kube-client.ts";
import { silentLogger } from "../../../../../src/util/logger.ts";
import { silentMetrics } from "../../../../../src/util/metrics.ts";
import { createSeededRng } from "../../../../support/seeded-rng.ts";
import { createVirtualClock } from "../../../../support/virtual-clock.ts";
import { FakeCore } from "../../support/fake-core.ts";
import { cell, deleteReview, endReview, type Json, pod, protector } from "../../support/objects.ts";
import { createReplica, settle, world } from "../../support/replica.ts";
import { type ProtectorID } from "../../../../../src/api/object-key.ts";
import { RefusedCallers } from "../../../../../src/webhook/decide/reports/refused-callers.ts";

/** A replica whose Events go to an API server of their own, which does as `serve` says. */
function witnessed(
  objects: readonly Json[],
  serve: (request: KubeRequest) => Promise<unknown> = () => Promise.resolve({}),
  options: Parameters<typeof createReplica>[2] = {},
) {
  const clock = createVirtualClock();
  const core = new FakeCore(clock);
  for (const object of objects) core.put(object);
  const requests: KubeRequest[] = [];
  const client: KubeClient = {
    cluster: "core",
    request(request) {
      requests.push(request);
      return serve(request);
    },
    stream: () => Promise.reject(new Error("no watches here")),
    close: () => Promise.resolve(),
  };
  const recorder = createEventRecorder({
    client,
    component: "podseidon-webhook",
    clock,
    rng: createSeededRng(1),
    logger: silentLogger,
    metrics: silentMetrics,
  });
  const replica = createReplica(clock, core, { ...options, events: new Map([["core", recorder]]) });
  return { clock, core, replica, requests, bodies: () => requests.map(({ body }) => body as Json) };
}

const full = (name = "web") => protector({ name, cells: [cell("c1", 80)] });

test("Events on PodProtectors tell of a refusal: who asked, which pod, which cell, and the figures", async () => {
  const { replica, requests } = witnessed([full()]);
  await replica.review(deleteReview(pod("p"), { userInfo: { username: "alice" } }));
  assert.equal(requests.length, 1);
  assert.equal(requests[0]!.path, "/api/v1/namespaces/ns/events");
  const body = requests[0]!.body as Json;
  assert.deepEqual(body["involvedObject"], {
    apiVersion: "podseidon.kubewharf.io/v1alpha1",
    kind: "PodProtector",
    namespace: "ns",
    name: "web",
    uid: "uid-of-web",
  });
  assert.equal(body["type"], "Warning");
  assert.equal(body["reason"], "TooFewReplicas");
  assert.equal(
    body["message"],
    'Refused 1 deletion in 1 s (by alice 1); last: Deletion of pod p in cell "c1": ' +
      'Must stay 80, available 80, promised 0, free 0; by cell: "c1" 80',
  );
});

test("an Event has the callers since it began, and the next one begins anew after ten minutes", async () => {
  const { clock, replica, bodies } = witnessed([full()]);
  const refuse = async (user: string): Promise<void> => {
    await replica.review(deleteReview(pod("p"), { userInfo: { username: user } }));
    await clock.advance(5_000);
  };
  for (const user of ["alice", "system:serviceaccount:fed:runaway", "system:serviceaccount:fed:runaway"])
    await refuse(user);
  const last = (): string => String(bodies().at(-1)?.["message"]);
  assert.match(last(), /^Refused 3 deletions in 1\d s \(by system:serviceaccount:fed:runaway 2, alice 1\); last: /);
  assert.equal(parseCallerCounts(last())?.total, 3);
  await clock.advance(600_000);
  await refuse("bob");
  assert.match(last(), /^Refused 1 deletion in 1 s \(by bob 1\); /);
  assert.equal(bodies().filter((body) => body["metadata"] !== undefined).length, 2, "two Events");
});

test("Events on PodProtectors go to each PodProtector that refuses, and to no other", async () => {
  const { replica, bodies } = witnessed([full("a"), protector({ name: "b", cells: [cell("c1", 100)] }), full("c")]);
  await replica.review(deleteReview(pod("p")));
  const names = bodies().map((body) => (body["involvedObject"] as Json)["name"]);
  assert.deepEqual(names, ["a", "c"]);
});

test("a storm of refusals becomes one counted Event for each PodProtector, at most 25 writes at once", async () => {
  const names = Array.from({ length: 60 }, (_, index) => `w${index}`);
  const objects = names.map((app) =>
    protector({ name: app, selector: { matchLabels: { app } }, cells: [cell("c1", 80)] }),
  );
  const { clock, replica, requests } = witnessed(objects);
  const storm = () => Promise.all(names.map((app) => replica.send(deleteReview(pod(app, { labels: { app } })))));
  for (let round = 0; round < 5; round++) await settle(clock, storm());
  assert.equal(requests.length, 25);
  await clock.advance(60_000);
  const created = requests.filter(({ method }) => method === "POST").map(({ body }) => body as Json);
  assert.equal(created.length, 60);
  assert.ok(created.slice(25).every((body) => body["count"] === 5));
});

test("Events on PodProtectors are not written for what is admitted, only evaluated, or unmatched", async () => {
  const { replica, requests } = witnessed([
    protector({ name: "ok", selector: { matchLabels: { app: "ok" } }, cells: [cell("c1", 100)] }),
    full(),
  ]);
  await replica.review(deleteReview(pod("p", { labels: { app: "ok" } })));
  await replica.review(deleteReview(pod("q", { labels: { app: "none" } })));
  const forced = { annotations: { "podseidon.kubewharf.io/force-delete": "" } };
  await replica.review(deleteReview(pod("r", { labels: { app: "ok" }, ...forced })));
  await replica.review(deleteReview(pod("s"), { dryRun: true }));
  await replica.review(deleteReview(pod("t", forced), { dryRun: true }));
  assert.deepEqual(requests, []);
});

test("a forced deletion that would have been refused is an Event, counted for each caller", async () => {
  const { clock, replica, bodies } = witnessed([full()]);
  const forced = { annotations: { "podseidon.kubewharf.io/force-delete": "" } };
  for (const [name, username] of [
    ["p", "alice"],
    ["q", "alice"],
    ["r", "bob"],
  ] as const) {
    assert.equal((await replica.review(deleteReview(pod(name, forced), { userInfo: { username } }))).allowed, true);
    await clock.advance(5_000);
  }
  assert.deepEqual(
    bodies().map(({ reason, count }) => [reason, count]),
    [
      ["ForcedDeletion", 1],
      [undefined, 2],
      ["ForcedDeletion", 1],
    ],
  );
  assert.equal(
    bodies()[0]?.["message"],
    'Deletions by "alice" were forced that would be refused; last: Deletion of pod p in cell "c1": ' +
      'TooFewReplicas: Must stay 80, available 80, promised 0, free 0; by cell: "c1" 80',
  );
});

test("Events on PodProtectors never change or delay an answer, not even when they fail or hang", async () => {
  const failing = witnessed([full()], () => Promise.reject(new KubeError("forbidden", "no right", { code: 403 })));
  const hanging = witnessed([full()], () => new Promise(() => {}));
  for (const { replica } of [failing, hanging]) {
    const answer = await replica.review(deleteReview(pod("p")));
    assert.equal(answer.code, 429);
    assert.ok(answer.elapsedMs <= 1, `${answer.elapsedMs}`);
    assert.equal((await replica.review(deleteReview(pod("q")))).code, 429);
  }
});

test("Events on PodProtectors tell of an invalid object, with its UID", async () => {
  const { clock, bodies } = witnessed([{ ...full(), spec: { minAvailable: "many" } }]);
  await clock.advance(1);
  assert.equal(bodies().length, 1);
  assert.equal(bodies()[0]!["reason"], "UnusablePodProtector");
  assert.equal((bodies()[0]!["involvedObject"] as Json)["uid"], "uid-of-web");
  assert.match(String(bodies()[0]!["message"]), /^It is invalid, so pod deletions are denied: spec\./);
});

test("Events on PodProtectors tell which Node object is gone when garbage collection is refused", async () => {
  for (const [orphanedPodGraceMs, reason, end] of [
    [3_600_000, "TooFewReplicas", " is gone: Must stay 80"],
    [0, "OrphanLetGo", " is gone, let go after --orphaned-pod-grace, although: Must stay 80"],
  ] as const) {
    const { replica, bodies } = witnessed([full()], undefined, { orphanedPodGraceMs });
    await replica.review(endReview(pod("p", { nodeName: "node-1" })));
    const [body] = bodies();
    assert.equal(body?.["reason"], reason);
    const beginning = 'Garbage collection of pod p in cell "c1", whose Node object "node-1"';
    assert.ok(String(body?.["message"]).includes(beginning + end), String(body?.["message"]));
  }
});

/** 80 must stay, 80 are there, and it is in shadow. */
const inShadow = (name: string) =>
  protector({ name, cells: [cell("c1", 80)], annotations: { [annotations.mode]: "shadow" } });

test("each PodProtector in shadow has an Event for each operation and caller", async () => {
  const recorded: Parameters<EventRecorder["record"]>[] = [];
  const recorder: EventRecorder = { record: (...event) => void recorded.push(event), close() {} };
  const { replica } = world([inShadow("a"), inShadow("b")], { events: new Map([["core", recorder]]) });
  await replica.review(deleteReview(pod("p"), { userInfo: { username: "alice" } }));
  await replica.review(deleteReview(pod("q"), { userInfo: { username: "bob" } }));
  assert.deepEqual(
    recorded.map(([{ name }, type, reason, , series]) => [name, type, reason, series]),
    [
      ["a", "Warning", "WouldRefuse", 'delete "alice"'],
      ["b", "Warning", "WouldRefuse", 'delete "alice"'],
      ["a", "Warning", "WouldRefuse", 'delete "bob"'],
      ["b", "Warning", "WouldRefuse", 'delete "bob"'],
    ],
  );
  const message = recorded[0]?.[3] ?? "";
  assert.match(message, /^Deletions by "alice" would be refused; last: Deletion of pod p in cell "c1": TooFew/);
  assert.match(message, /Must stay 80/);
});

const web = { id: "core/ns/web" as ProtectorID, uid: "1" };

test("callers are counted by PodProtector, object and reason", () => {
  const callers = new RefusedCallers(createVirtualClock());
  callers.refused(web, "TooFewReplicas", "alice");
  const one = "Refused 1 deletion in 1 s (by alice 1)";
  assert.equal(callers.refused({ ...web, id: "core/ns/db" as ProtectorID }, "TooFewReplicas", "alice"), one);
  assert.equal(callers.refused({ ...web, uid: "2" }, "TooFewReplicas", "alice"), one);
  assert.equal(callers.refused(web, "CellSilent", "alice"), one);
  assert.equal(callers.refused(web, "TooFewReplicas", "bob"), "Refused 2 deletions in 1 s (by alice 1, bob 1)");
});

test("counts begin anew when the recorder begins another Event, which is after ten minutes", async () => {
  const clock = createVirtualClock();
  const callers = new RefusedCallers(clock);
  callers.refused(web, "TooFewReplicas", "alice");
  await clock.advance(600_000);
  assert.equal(callers.refused(web, "TooFewReplicas", "alice"), "Refused 2 deletions in 600 s (by alice 2)");
  await clock.advance(1);
  assert.equal(callers.refused(web, "TooFewReplicas", "alice"), "Refused 1 deletion in 1 s (by alice 1)");
});

test("of more PodProtectors than the recorder has Events for, those that were refused last are remembered", () => {
  const callers = new RefusedCallers(createVirtualClock());
  const refuse = (index: number): string =>
    callers.refused({ id: `core/ns/${index}` as ProtectorID, uid: "1" }, "TooFewReplicas", "alice");
  for (let index = 0; index <= 4_096; index += 1) refuse(index);
  assert.match(refuse(4_096), /^Refused 2 /);
  assert.match(refuse(0), /^Refused 1 /);
});
