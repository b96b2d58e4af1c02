import assert from "node:assert/strict";
import { test } from "node:test";
import { refusedForNow } from "../../../../src/webhook/decide/decision.ts";
import { LostNodes, lostNodeText, withLostNode } from "../../../../src/webhook/decide/lost-nodes.ts";
import { createVirtualClock } from "../../../support/virtual-clock.ts";
import { RecordedLog } from "../support/replica.ts";

const minuteMs = 60_000;

function nodes(graceMinutes: number) {
  const clock = createVirtualClock();
  const logger = new RecordedLog();
  const lost = new LostNodes({ orphanedPodGraceMs: graceMinutes * minuteMs, replicas: 5, clock, logger });
  const refusedAfter = async (minutes: number, name = "node-1", cellID = "c1") => {
    await clock.advance(minutes * minuteMs);
    return lost.refused(cellID, name) / minuteMs;
  };
  return { clock, lost, logger, refusedAfter };
}

test("the pods of a lost node are let go when it has been asked about for as long as the grace", async () => {
  const { refusedAfter, logger } = nodes(60);
  assert.equal(await refusedAfter(0), 60);
  assert.equal(await refusedAfter(25), 35);
  assert.equal(await refusedAfter(25), 10);
  assert.equal(await refusedAfter(10), 0);
  assert.equal(await refusedAfter(10), 0);
  assert.deepEqual(
    logger.lines.map(({ message, fields }) => [message, fields["node"], fields["cell"]]),
    [
      ["Refusing pod garbage collection of pods whose Node object is gone", "node-1", "c1"],
      ["Letting pod garbage collection end pods whose Node object is gone", "node-1", "c1"],
    ],
  );
});

test("a replica that was suspended has not been asked meanwhile, whatever its monotonic clock says", async () => {
  const { clock, refusedAfter } = nodes(60);
  assert.equal(await refusedAfter(0), 60);
  assert.equal(await refusedAfter(25), 35);
  clock.jumpWallClock(26 * minuteMs);
  assert.equal(await refusedAfter(1), 60);
  clock.jumpWallClock(-60 * minuteMs);
  assert.equal(await refusedAfter(25), 35, "a clock that was set back is no pause");
});

test("each node has its own time, also one of the same name in another cell", async () => {
  const { refusedAfter } = nodes(20);
  assert.equal(await refusedAfter(0), 20);
  assert.equal(await refusedAfter(15, "node-2"), 20);
  assert.equal(await refusedAfter(0, "node-1", "c2"), 20);
  assert.equal(await refusedAfter(5), 0);
  assert.equal(await refusedAfter(0, "node-2"), 15);
});

test("who asks about a node before it is lost shortens nobody else's time", async () => {
  const { lost, refusedAfter } = nodes(60);
  for (let turn = 0; turn < 4; turn += 1) {
    lost.refused("c1", "node-1", "192.0.2.66");
    await refusedAfter(20, `other-${turn}`);
  }
  assert.equal(lost.refused("c1", "node-1", "192.0.2.66"), 0);
  assert.equal(lost.refused("c1", "node-1", "192.0.2.1"), 60 * minuteMs);
  assert.equal(lost.refused("c1", "node-1"), 60 * minuteMs);
});

test("an address that asks about more nodes than are remembered makes nobody else's node forgotten", async () => {
  const { lost, refusedAfter } = nodes(60);
  assert.equal(await refusedAfter(0), 60);
  for (let node = 0; node <= 6_000; node += 1) lost.refused("c1", `node-${node}`, "192.0.2.66");
  assert.equal(await refusedAfter(20), 40);
  assert.equal(lost.refused("c1", "node-0", "192.0.2.66"), 60 * minuteMs);
});

test("a node that nobody asked about for five minutes a replica has the whole time again", async () => {
  const { refusedAfter } = nodes(60);
  assert.equal(await refusedAfter(0), 60);
  assert.equal(await refusedAfter(25), 35);
  assert.equal(await refusedAfter(26), 60);
});

test("without a grace everything is let go at once", async () => {
  const { refusedAfter, logger } = nodes(0);
  assert.equal(await refusedAfter(0), 0);
  assert.equal(logger.lines.length, 1);
});

test("of more nodes than are remembered, the one that was refused first is forgotten", async () => {
  const { refusedAfter, lost } = nodes(10);
  for (let node = 0; node <= 5_000; node += 1) lost.refused("c1", `node-${node}`);
  assert.equal(await refusedAfter(5, "node-1"), 5);
  assert.equal(await refusedAfter(0, "node-0"), 10);
});

test("a refusal names the lost Node object and says what to do, without characters that could deceive", () => {
  const refused = withLostNode(refusedForNow("Rejected", "Too few", [], { required: "2" }), "node-1", 59 * minuteMs);
  assert.equal(
    refused.message,
    'Too few. The Node object "node-1" of the pod is gone, so pod garbage collection ends its pods. ' +
      "If the node is alive, register it again by restarting its kubelet; " +
      "else nothing needs to be done: its pods are let go in 59 min",
  );
  assert.deepEqual(refused.audit, { required: "2", "lost-node": "node-1" });
  assert.equal(lostNodeText("a\u202eb"), 'Node object "a?b"');
  assert.equal(lostNodeText(""), "Node object");
});
