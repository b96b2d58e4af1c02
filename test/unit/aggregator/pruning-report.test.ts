import assert from "node:assert/strict";
import test from "node:test";
import { PruningReport } from "../../../src/aggregator/pruning-report.ts";
import { createRecordingLogger } from "../observability/recording-logger.ts";
import { createVirtualClock } from "../../support/virtual-clock.ts";

test("pruned extensions are counted each time and logged once an hour, whatever the number of protectors", async () => {
  const clock = createVirtualClock();
  const logger = createRecordingLogger();
  let counted = 0;
  const report = new PruningReport({ clock, logger, onPruned: () => counted++ });
  for (let minute = 0; minute < 150; minute++) {
    for (let index = 0; index < 10; index++) report.pruned(`default/p-${index}`);
    await clock.advance(60_000);
  }
  assert.equal(counted, 1500);
  assert.deepEqual(
    logger.entries.map(({ level, fields }) => [level, fields["podProtector"]]),
    [
      ["warn", "default/p-0"],
      ["warn", "default/p-0"],
      ["warn", "default/p-0"],
    ],
  );
});
