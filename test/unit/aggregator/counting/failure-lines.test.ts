import assert from "node:assert/strict";
import { test } from "node:test";
import { FailureLines } from "../../../../src/aggregator/counting/failure-lines.ts";
import { objectKey } from "../../../../src/api/object-key.ts";
import { KubeError } from "../../../../src/kube/kube-client.ts";
import { createVirtualClock } from "../../../support/virtual-clock.ts";
import { createRecordingLogger } from "../../observability/recording-logger.ts";

test("each kind of failure is told at once, and then once in ten seconds with the number of the others", async () => {
  const clock = createVirtualClock();
  const logger = createRecordingLogger();
  const lines = new FailureLines({ clock, logger });
  const told = () =>
    logger.entries.map(({ fields }) => [fields["podProtector"], (fields["err"] as Error).message, fields["others"]]);
  for (let index = 0; index < 50; index++) {
    lines.failed(objectKey("ns", `p${index}`), new KubeError("network", "refused"));
    if (index === 10) lines.failed(objectKey("ns", "odd"), new KubeError("forbidden", "no"));
  }
  const first = [
    ["ns/p0", "refused", undefined],
    ["ns/odd", "no", undefined],
  ];
  assert.deepEqual(told(), first);
  await clock.advance(10_000);
  assert.deepEqual(told(), [...first, ["ns/p49", "refused", 48]]);
  lines.failed(objectKey("ns", "p0"), new KubeError("network", "refused"));
  lines.close();
  assert.deepEqual(told().at(-1), ["ns/p0", "refused", undefined]);
  assert.equal(clock.pendingTimers, 0);
});
