import assert from "node:assert/strict";
import { test } from "node:test";
import { isJournal, withPriority } from "../../../src/observability/journal.ts";
import { createLogger } from "../../../src/observability/logger.ts";
import { createVirtualClock } from "../../support/virtual-clock.ts";

test("each level of the log has the priority that journalctl -p selects by", async () => {
  const lines: string[] = [];
  const logger = await createLogger({
    verbosity: () => 1,
    format: "json",
    clock: createVirtualClock(),
    write: (line) => lines.push(withPriority(line)),
  });
  logger.error("e");
  logger.warn("w", { level: "error" });
  logger.info("i");
  logger.verbose(1, "v");
  assert.deepEqual(
    lines.map((line) => line.slice(0, 3)),
    ["<3>", "<4>", "<6>", "<7>"],
  );
  for (const line of lines) JSON.parse(line.slice(3));
});

test("only the stream that systemd has named is the journal", () => {
  assert.equal(isJournal("8:1234", { dev: 8, ino: 1234 }), true);
  assert.equal(isJournal("8:1234", { dev: 8, ino: 1235 }), false);
  assert.equal(isJournal(undefined, { dev: 8, ino: 1234 }), false);
});
