import assert from "node:assert/strict";
import { test } from "node:test";
import { KubeError } from "../../../../src/kube/kube-client.ts";
import { CoreTrouble } from "../../../../src/webhook/outage/core-trouble.ts";
import { createVirtualClock } from "../../../support/virtual-clock.ts";
import { deleteReview, cell, pod, protector } from "../support/objects.ts";
import { RecordedLog, world } from "../support/replica.ts";

const failure = (message: string) => new KubeError("timeout", message);

test("failures are logged at once and then at most once a minute for each core, with their number", async () => {
  const clock = createVirtualClock();
  const log = new RecordedLog();
  const [east, west] = ["east", "west"].map((core) => new CoreTrouble(core, clock, log)) as [CoreTrouble, CoreTrouble];
  const counts = () => log.lines.map(({ level, fields }) => [level, fields["core"], fields["failures"]]);
  east.failed(failure("first"));
  for (let second = 0; second < 59; second++) {
    await clock.advance(1_000);
    east.failed(failure("later"));
  }
  assert.deepEqual(counts(), [["warn", "east", 1]]);
  west.failed(failure("first"));
  await clock.advance(1_000);
  east.failed(failure("last"));
  assert.deepEqual(counts(), [
    ["warn", "east", 1],
    ["warn", "west", 1],
    ["warn", "east", 60],
  ]);
  assert.deepEqual(log.lines.at(-1)?.fields["err"], failure("last"));
});

test("failures are not logged more often because writes go through in between", async () => {
  const clock = createVirtualClock();
  const log = new RecordedLog();
  const trouble = new CoreTrouble("east", clock, log);
  for (let second = 0; second < 60; second++) {
    trouble.failed(failure("flaps"));
    assert.equal(trouble.message, "flaps");
    trouble.recovered();
    assert.equal(trouble.message, undefined);
    await clock.advance(1_000);
  }
  assert.equal(log.lines.filter(({ level }) => level === "warn").length, 1);
  assert.equal(log.lines.length, 2, "nor is it told more often that they go through");
});

test("when writes go through again, that is told with how long they failed, if their failure was", async () => {
  const clock = createVirtualClock();
  const log = new RecordedLog();
  const trouble = new CoreTrouble("east", clock, log);
  trouble.recovered();
  for (let second = 0; second < 5; second++) {
    trouble.failed(failure("away"));
    await clock.advance(1_000);
  }
  trouble.recovered();
  trouble.recovered();
  assert.deepEqual(log.lines.at(-1), {
    level: "info",
    message: "Status writes go through again",
    fields: { core: "east", failures: 4, lastedSeconds: 5 },
  });
  assert.equal(log.lines.length, 2);
});

test("trouble lasts from first to last failure, until a write succeeds or half a minute passes without", async () => {
  const clock = createVirtualClock();
  const trouble = new CoreTrouble("east", clock, new RecordedLog());
  assert.equal(trouble.durationMs, 0);
  trouble.failed(failure("first"));
  await clock.advance(2_000);
  assert.equal(trouble.durationMs, 0);
  trouble.failed(failure("second"));
  assert.equal(trouble.durationMs, 2_000);
  trouble.recovered();
  assert.equal(trouble.durationMs, 0);
  trouble.failed(failure("third"));
  await clock.advance(30_000);
  trouble.failed(failure("fourth"));
  assert.equal(trouble.durationMs, 30_000);
  await clock.advance(30_001);
  trouble.failed(failure("fifth"));
  assert.equal(trouble.durationMs, 0);
});

test("failures are in the log of a replica whose core fails, but conflicts and deleted objects are none", async () => {
  for (const [refuse, lines] of [
    ["timeout", 1],
    ["forbidden", 1],
    ["conflict", 0],
    ["notFound", 0],
  ] as const) {
    const { core, replica } = world([protector({ cells: [cell("c1", 100)] })]);
    core.watches = false;
    core.script = (request) => (request.method === "PUT" ? { refuse } : "none");
    assert.equal((await replica.review(deleteReview(pod("p")))).allowed, false);
    assert.equal(replica.log.lines.filter(({ level }) => level === "warn").length, lines, refuse);
  }
});
