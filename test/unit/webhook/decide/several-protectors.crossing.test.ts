/**
 * Several budgets on one pod, and many pods over several budgets: crossing sets, short quota, callers that leave, and
 * fairness between PodProtectors.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { cell, deleteReview, type Json, pod, protector } from "../support/objects.ts";
import { createReplica, settle, world } from "../support/replica.ts";

const names = ["a", "b", "c"] as const;
/** Selects pods that carry the label `name`. */
const budget = (name: string, count = 100): Json =>
  protector({ name, selector: { matchExpressions: [{ key: name, operator: "Exists" }] }, cells: [cell("c1", count)] });
/** A pod in these budgets. */
const member = (name: string, budgets: readonly string[]) =>
  deleteReview(pod(name, { labels: Object.fromEntries(budgets.map((one) => [one, ""])) }));
const weight = (buckets: readonly Json[]) =>
  buckets.reduce((sum, one) => sum + ((one["counter"] as number | undefined) ?? 1), 0);

test("reviews over crossing sets of PodProtectors all end, in every order, in one replica and in three", async () => {
  const sets = [
    ["a", "b"],
    ["b", "c"],
    ["c", "a"],
    ["c", "b", "a"],
  ] as const;
  for (const count of [1, 3]) {
    const { clock, core } = world(names.map((name) => budget(name)));
    const replicas = Array.from({ length: count }, (_, seed) => createReplica(clock, core, { seed: seed + 1 }));
    const answers = Array.from({ length: 24 }, (_, index) =>
      replicas[index % count]!.send(member(`p${index}`, sets[index % sets.length]!), { query: "?timeout=30s" }),
    );
    const settled = await settle(clock, Promise.all(answers));
    assert.ok(settled.every(({ allowed }) => allowed));
    // Each set six times: a and c are in three of them, b too.
    for (const name of names) assert.equal(weight(core.buckets(`ns/${name}`)), 18, name);
  }
});

test("reviews over crossing sets of PodProtectors keep all floors, and are recorded in all their budgets", async () => {
  const { clock, core } = world([budget("a", 90), budget("b", 85), budget("c", 87)]);
  const replicas = [1, 2].map((seed) => createReplica(clock, core, { seed }));
  const sets = [
    ["a", "b"],
    ["b", "c"],
    ["a", "c"],
  ] as const;
  const asked = Array.from({ length: 60 }, (_, index) => ({ name: `p${index}`, budgets: sets[index % 3]! }));
  const answers = await settle(
    clock,
    Promise.all(
      asked.map((one, index) => replicas[index % 2]!.send(member(one.name, one.budgets), { query: "?timeout=30s" })),
    ),
  );
  const recorded = (key: string) => new Set(core.buckets(key).map((bucket) => bucket["podUID"]));
  for (const [index, { allowed }] of answers.entries()) {
    if (!allowed) continue;
    const { name, budgets } = asked[index]!;
    for (const one of budgets) assert.ok(recorded(`ns/${one}`).has(`uid-${name}`), `${name} in ${one}`);
  }
  for (const [name, quota] of [
    ["a", 10],
    ["b", 5],
    ["c", 7],
  ] as const) {
    assert.ok(weight(core.buckets(`ns/${name}`)) <= quota, name);
  }
  assert.ok(answers.some(({ allowed }) => allowed));
});

test("when quota is short, the newest win and those closest to their timeout lose, in whatever batch", async () => {
  const { clock, replica } = world([protector({ cells: [cell("c1", 84)] })]);
  // Takes one unit, so that the others wait for the next batch.
  const blocker = replica.send(deleteReview(pod("blocker")));
  await clock.advance(1);
  const waiting: Promise<{ allowed: boolean }>[] = [];
  for (const name of ["p0", "p1", "p2", "p3", "p4"]) {
    waiting.push(replica.send(deleteReview(pod(name))));
    await clock.advance(1);
  }
  const answers = await settle(clock, Promise.all([blocker, ...waiting]));
  assert.deepEqual(
    answers.map(({ allowed }) => allowed),
    [true, false, false, true, true, true],
  );
});

test("when quota is short, a caller that has left takes none of it", async () => {
  const { clock, core, replica } = world([protector({ cells: [cell("c1", 82)] })]);
  const blocker = replica.send(deleteReview(pod("blocker")));
  await clock.advance(1);
  const stayer = replica.send(deleteReview(pod("stayer")));
  const gone = new AbortController();
  const leaver = replica.send(deleteReview(pod("leaver")), { signal: gone.signal });
  await clock.advance(1);
  gone.abort();
  const [, stayed, left] = await settle(clock, Promise.all([blocker, stayer, leaver]));
  assert.equal(stayed.allowed, true);
  assert.equal(left.allowed, false);
  const uids = core.buckets("ns/web").map((bucket) => bucket["podUID"]);
  assert.deepEqual(new Set(uids), new Set(["uid-blocker", "uid-stayer"]));
});

test("when quota is short, a caller whose deadline passes while it waits takes none of it", async () => {
  const { clock, core, replica } = world([protector({ cells: [cell("c1", 82)] })]);
  core.latencyMs = 1_000;
  const blocker = replica.send(deleteReview(pod("blocker")));
  await clock.advance(1);
  const late = replica.send(deleteReview(pod("late")), { query: "?timeout=2s" });
  const answer = await settle(clock, late);
  assert.equal(answer.code, 429);
  assert.ok(answer.elapsedMs <= 1_001, `${answer.elapsedMs}`);
  assert.equal((await settle(clock, blocker)).allowed, true);
  await clock.advance(5_000);
  assert.equal(core.buckets("ns/web").length, 1);
});

const hot = { hot: "" };
const quiet = (index: number) => `quiet-${index}`;

/** A thousand deletions of the hot one, and one of each of 20 quiet ones a little later; how long these took. */
async function quietLatencies(isHot: boolean, trouble?: "conflicts" | "dead"): Promise<readonly number[]> {
  const objects = [budget("hot", 2_000), ...Array.from({ length: 20 }, (_, index) => budget(quiet(index)))];
  const { clock, core, replica } = world(objects);
  core.script = (request) => {
    if (trouble === undefined || !request.path.includes("/hot")) return "none";
    return { refuse: trouble === "conflicts" ? "conflict" : "timeout" };
  };
  const crowd = isHot
    ? Array.from({ length: 1_000 }, (_, index) => replica.send(deleteReview(pod(`h${index}`, { labels: hot }))))
    : [];
  await clock.advance(3);
  const answers = Array.from({ length: 20 }, (_, index) => replica.send(member(`q${index}`, [quiet(index)])));
  const settled = await settle(clock, Promise.all(answers));
  assert.ok(settled.every(({ allowed }) => allowed));
  await settle(clock, Promise.all(crowd));
  return settled.map(({ elapsedMs }) => elapsedMs);
}

for (const trouble of [undefined, "conflicts", "dead"] as const) {
  const whatever = trouble === undefined ? "" : `, whatever its own writes meet (${trouble})`;
  test(`one busy PodProtector does not make the others wait${whatever}`, async () => {
    const alone = Math.max(...(await quietLatencies(false)));
    const beside = Math.max(...(await quietLatencies(true, trouble)));
    assert.ok(beside <= alone + 1, `${beside} ms beside a hot one, ${alone} ms alone`);
  });
}
