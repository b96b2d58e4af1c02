import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { KubeError } from "../../../../src/kube/kube-client.ts";
import { WriteTroubles } from "../../../../src/webhook/outage/write-troubles.ts";
import { createVirtualClock } from "../../../support/virtual-clock.ts";
import { deleteReview, cell, pod, protector } from "../support/objects.ts";
import { RecordedLog, world } from "../support/replica.ts";

const failure = (message: string) => new KubeError("timeout", message);

describe("write troubles", () => {
  it("are logged at once and then at most once a minute per core, with the number of failures", async () => {
    const clock = createVirtualClock();
    const log = new RecordedLog();
    const troubles = new WriteTroubles(clock, log);
    const counts = () => log.lines.map(({ level, fields }) => [level, fields["core"], fields["failures"]]);
    troubles.failed("east", failure("first"));
    for (let second = 0; second < 59; second++) {
      await clock.advance(1_000);
      troubles.failed("east", failure("later"));
    }
    assert.deepEqual(counts(), [["warn", "east", 1]]);
    troubles.failed("west", failure("first"));
    await clock.advance(1_000);
    troubles.failed("east", failure("last"));
    assert.deepEqual(counts(), [
      ["warn", "east", 1],
      ["warn", "west", 1],
      ["warn", "east", 60],
    ]);
    assert.deepEqual(log.lines.at(-1)?.fields["err"], failure("last"));
  });

  it("are not logged more often because writes go through in between", async () => {
    const clock = createVirtualClock();
    const log = new RecordedLog();
    const troubles = new WriteTroubles(clock, log);
    for (let second = 0; second < 60; second++) {
      troubles.failed("east", failure("flaps"));
      assert.equal(troubles.last("east"), "flaps");
      troubles.recovered("east");
      assert.equal(troubles.last("east"), undefined);
      await clock.advance(1_000);
    }
    assert.equal(log.lines.length, 1);
  });

  it("last from the first failure to the last one, until a write goes through or half a minute passes without any", async () => {
    const clock = createVirtualClock();
    const troubles = new WriteTroubles(clock, new RecordedLog());
    assert.equal(troubles.lastsMs("east"), 0);
    troubles.failed("east", failure("first"));
    await clock.advance(2_000);
    assert.equal(troubles.lastsMs("east"), 0);
    troubles.failed("east", failure("second"));
    assert.equal(troubles.lastsMs("east"), 2_000);
    assert.equal(troubles.lastsMs("west"), 0);
    troubles.recovered("east");
    assert.equal(troubles.lastsMs("east"), 0);
    troubles.failed("east", failure("third"));
    await clock.advance(30_000);
    troubles.failed("east", failure("fourth"));
    assert.equal(troubles.lastsMs("east"), 30_000);
    await clock.advance(30_001);
    troubles.failed("east", failure("fifth"));
    assert.equal(troubles.lastsMs("east"), 0);
  });

  it("are seen in the log of a replica whose core fails, but conflicts and deleted objects are none", async () => {
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
});
