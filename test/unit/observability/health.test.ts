import assert from "node:assert/strict";
import { test } from "node:test";
import { createHealth } from "../../../src/observability/health.ts";
import { createMetrics } from "../../../src/observability/metrics.ts";
import { createRecordingLogger } from "./recording-logger.ts";

function create() {
  const logger = createRecordingLogger();
  const metrics = createMetrics({ byNamespace: false, byUser: false, ofProcess: false });
  const health = createHealth({ logger, metrics });
  const reasons: { informer: string | undefined; phase: string | undefined } = {
    informer: undefined,
    phase: undefined,
  };
  health.register("webhook/phase", () => reasons.phase);
  health.register("informer/synced", () => reasons.informer);
  return { logger, metrics, health, reasons };
}
const all = { isVerbose: false, excluded: [] };

test("the list is short when everything passes", () => {
  assert.deepEqual(create().health.answerAll(all), { status: 200, text: "ok" });
});

test("the verbose list has one line for each check, by name", () => {
  const { text, status } = create().health.answerAll({ ...all, isVerbose: true });
  assert.equal(status, 200);
  assert.equal(text, "[+]informer/synced ok\n[+]webhook/phase ok\nhealthz check passed\n");
});

test("a failing check fails the list; the reason is in the verbose list and in the answer about it alone", () => {
  const { health, reasons } = create();
  reasons.informer = "no list of podprotectors yet";
  assert.deepEqual(health.answerAll(all), {
    status: 500,
    text: "[-]informer/synced failed: reason withheld\n[+]webhook/phase ok\nhealthz check failed\n",
  });
  assert.equal(
    health.answerAll({ ...all, isVerbose: true }).text,
    "[-]informer/synced failed: no list of podprotectors yet\n[+]webhook/phase ok\nhealthz check failed\n",
  );
  assert.deepEqual(health.answerOne("informer/synced"), {
    status: 500,
    text: "internal server error: no list of podprotectors yet\n",
  });
  assert.deepEqual(health.answerOne("webhook/phase"), { status: 200, text: "ok" });
  assert.equal(health.answerOne("nothing/here").status, 404);
});

test("a reason cannot forge a line of the list", () => {
  const { health, reasons } = create();
  reasons.informer = "broken\n[+]forged ok";
  assert.doesNotMatch(health.answerAll({ ...all, isVerbose: true }).text, /^\[\+\]forged/m);
  assert.equal(health.answerOne("informer/synced").text.split("\n").length, 2);
});

test("an excluded check cannot fail the list, and an unknown exclusion is reported", () => {
  const { health, reasons } = create();
  reasons.informer = "down";
  const { status, text } = health.answerAll({ isVerbose: true, excluded: ["informer/synced", "nobody"] });
  assert.equal(status, 200);
  assert.equal(
    text,
    [
      "[+]informer/synced excluded: ok",
      "[+]webhook/phase ok",
      'warn: some health checks cannot be excluded: no matches for "nobody"',
      "healthz check passed",
      "",
    ].join("\n"),
  );
});

test("without checks the process itself is the check", () => {
  const { logger, metrics } = create();
  const health = createHealth({ logger, metrics });
  assert.equal(health.answerAll({ ...all, isVerbose: true }).text, "[+]ping ok\nhealthz check passed\n");
});

test("failures are counted, except for those of the phases", async () => {
  const { health, reasons, metrics } = create();
  reasons.informer = "down";
  reasons.phase = "phase is Init";
  health.answerAll(all);
  health.answerOne("informer/synced");
  const { text } = await metrics.expose();
  assert.match(text, /^healthck_failure\{check="informer\/synced",error="CheckFailed"\} 2$/m);
  assert.doesNotMatch(text, /phase/);
});

test("a failure is logged when it begins, when its reason changes and when it ends", () => {
  const { health, reasons, logger } = create();
  for (const reason of ["down", "down", "still down", undefined, undefined]) {
    reasons.informer = reason;
    health.answerAll(all);
  }
  assert.deepEqual(logger.messages(), ["Health check failed", "Health check failed", "Health check passed again"]);
});

test("two checks of one name are a programmer error", () => {
  assert.throws(() => create().health.register("webhook/phase", () => undefined), /exists already/);
});
