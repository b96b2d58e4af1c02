import assert from "node:assert/strict";
import { test } from "node:test";
import { issueClientCertificate } from "../../../src/certificates/index.ts";
import { CertificateExpiry } from "../../../src/observability/certificate-expiry.ts";
import { type EndingCertificate } from "../../../src/util/certificate-use.ts";
import { createVirtualClock } from "../../support/virtual-clock.ts";
import { RecordedLog, RecordedMetrics } from "../webhook/support/replica.ts";

const dayMs = 86_400_000;

/** What checks certificates on a virtual clock, and certificates that begin when it does. */
function world() {
  const [clock, log, metrics] = [createVirtualClock(), new RecordedLog(), new RecordedMetrics()];
  const startMs = clock.epochMicros() / 1_000;
  const expiry = new CertificateExpiry({ clock, logger: log, metrics });
  const told: EndingCertificate[] = [];
  expiry.onEnding((ending) => told.push(ending));
  const issue = async (days: number, client = "worker-1") =>
    (await issueClientCertificate({ client, days, now: new Date(startMs) })).certificate;
  const metric = (use: string) => metrics.values.get(`certificate_expiry_timestamp_seconds{use="${use}"}`)?.at(-1);
  const messages = () => log.lines.map(({ level, message }) => `${level}: ${message}`);
  return { clock, log, expiry, told, issue, metric, messages, startMs };
}

test("a gauge shows when the first certificate of a use ends, and changes with the certificate", async () => {
  const { expiry, issue, metric, startMs } = world();
  const seconds = (days: number): number => Math.floor((startMs + days * dayMs) / 1_000);
  expiry.inUse("webhook https", (await issue(365)) + (await issue(90)));
  assert.equal(metric("webhook https"), seconds(90));
  expiry.inUse("webhook https", await issue(365));
  assert.equal(metric("webhook https"), seconds(365));
  expiry.inUse("webhook https", undefined);
  assert.equal(metric("webhook https"), 0);
  expiry.inUse("webhook https", "no certificate");
  assert.equal(metric("webhook https"), 0);
});

test("a certificate is warned of once a day in its last 30 days, and is an error when it has ended", async () => {
  const { clock, log, expiry, told, issue, messages } = world();
  expiry.inUse("webhook https", await issue(33));
  await expiry.start();
  await clock.advance(10 * dayMs);
  assert.deepEqual(messages(), [], "a third of its time has not begun");
  await clock.advance(20 * dayMs + 1);
  assert.equal(messages()[0], "warn: Certificate expires soon");
  const { use, subject, daysLeft } = log.lines[0]?.fields ?? {};
  assert.deepEqual({ use, subject, daysLeft }, { use: "webhook https", subject: "CN=worker-1", daysLeft: 11 });
  const before = messages().length;
  await clock.advance(dayMs);
  assert.equal(messages().length, before + 1);
  await clock.advance(3 * dayMs);
  assert.equal(messages().at(-1), "error: Certificate has expired");
  assert.equal(told.at(-1)?.hasExpired, true);
  assert.equal(told.length, messages().length);
  await expiry.stop();
});

test("a certificate for a year is warned of 30 days before its end, not earlier", async () => {
  const { clock, expiry, issue, messages } = world();
  expiry.inUse("webhook https", await issue(365));
  await expiry.start();
  await clock.advance(334 * dayMs);
  assert.deepEqual(messages(), []);
  await clock.advance(2 * dayMs);
  assert.ok(messages().length >= 1);
  await expiry.stop();
});

test("a certificate that is about to end is told of when it comes into use, and each of several", async () => {
  const { clock, expiry, told, issue, messages } = world();
  await expiry.start();
  await clock.advance(29 * dayMs);
  const ending = (await issue(30, "worker-1")) + (await issue(365, "worker-2")) + (await issue(30, "worker-3"));
  expiry.inUse("webhook client authorities", ending);
  expiry.inUse("webhook client authorities", ending);
  assert.deepEqual(
    told.map(({ subject }) => subject),
    ["CN=worker-1", "CN=worker-3"],
  );
  assert.equal(messages().length, 2, "the same text again is nothing new");
  await expiry.stop();
});
