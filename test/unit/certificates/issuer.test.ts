import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { test, type TestContext } from "node:test";
import { CertificateIssuer } from "../../../src/certificates/issuer.ts";
import { issueServerCertificate } from "../../../src/certificates/own-authority.ts";
import { KubeError } from "../../../src/kube/kube-client.ts";
import { readCertificates } from "../../../src/util/pem-certificates.ts";
import { createSeededRng } from "../../support/seeded-rng.ts";
import { createCountingMetrics } from "../kube/counting-metrics.ts";
import { createRecordingLogger } from "../observability/recording-logger.ts";
import { PassClock } from "./pass-clock.ts";
import { StoredObjects } from "./stored-objects.ts";

const [served, authority, trusted] = ["podseidon-webhook-tls", "podseidon-webhook-authority", "podseidon-webhook-ca"];
const names = { dnsNames: ["podseidon-webhook.podseidon-system.svc"], ipAddresses: ["10.0.0.1"] };
const dayMs = 24 * 3_600_000;
const hourMs = 3_600_000;
const problem = "generator_certificate_issuer_problem";

/** A core, and issuers that think that they lead it. */
function createWorld(t: TestContext) {
  const time = { nowMs: Date.UTC(2026, 0, 1) };
  const objects = new StoredObjects(new PassClock(() => time.nowMs));
  const events: string[] = [];
  const metrics = createCountingMetrics();
  const start = (skewMs: () => number = () => 0, of = names) => {
    const clock = new PassClock(() => time.nowMs + skewMs());
    const end = new AbortController();
    t.after(() => end.abort());
    const record = (_: unknown, _type: string, reason: string, message: string) => events.push(`${reason} ${message}`);
    const logger = createRecordingLogger();
    const parts = { client: objects, namespace: "podseidon-system", events: { record }, clock, logger, metrics };
    void new CertificateIssuer({ ...parts, names: of }).lead(end.signal);
    return { pass: () => clock.pass(), idle: () => clock.idle(), stop: () => end.abort() };
  };
  const leaf = () => new X509Certificate(objects.read(served)["tls.crt"] ?? "");
  const bundle = () => objects.read(trusted)["ca.crt"] ?? "";
  return { time, objects, events, metrics, start, leaf, bundle };
}

/** Whether an API server with this caBundle accepts what is served. */
function isAccepted(leaf: X509Certificate, bundle: string, nowMs: number): boolean {
  const isValid = ({ validFromDate, validToDate }: X509Certificate): boolean =>
    validFromDate.getTime() <= nowMs && nowMs <= validToDate.getTime();
  return (
    isValid(leaf) &&
    readCertificates(bundle).some((ca) => isValid(ca) && leaf.checkIssued(ca) && leaf.verify(ca.publicKey))
  );
}

test("the first pass makes an authority, publishes it, and signs a certificate for the webhook's names", async (t) => {
  const { time, objects, start, leaf, bundle, metrics } = createWorld(t);
  await start().idle();
  assert.deepEqual(objects.writes, [authority, trusted, served]);
  assert.ok(isAccepted(leaf(), bundle(), time.nowMs));
  assert.equal(leaf().checkHost("podseidon-webhook.podseidon-system.svc"), "podseidon-webhook.podseidon-system.svc");
  assert.equal(leaf().checkIP("10.0.0.1"), "10.0.0.1");
  assert.equal(objects.read(served)["ca.crt"], bundle());
  assert.ok(!bundle().includes("PRIVATE"), "keys of authorities stay in their Secret");
  assert.equal(metrics.value(problem), 0);
});

test("nothing is written while nothing is due", async (t) => {
  const { time, objects, start } = createWorld(t);
  const issuer = start();
  await issuer.idle();
  time.nowMs += 59 * dayMs;
  await issuer.pass();
  assert.equal(objects.writes.length, 3);
});

test("a certificate is renewed when two thirds of its life are over, by the same authority", async (t) => {
  const { time, objects, start, leaf, bundle } = createWorld(t);
  const issuer = start();
  await issuer.idle();
  const [first, authorities] = [leaf(), bundle()];
  time.nowMs += 61 * dayMs;
  await issuer.pass();
  assert.notEqual(leaf().serialNumber, first.serialNumber);
  assert.equal(bundle(), authorities);
  assert.deepEqual(objects.writes.slice(3), [served]);
});

test("the next authority is published half a life before it signs anything", async (t) => {
  const { time, start, leaf, bundle } = createWorld(t);
  const issuer = start();
  await issuer.idle();
  const [first] = readCertificates(bundle());
  let publishedAt: number | undefined;
  let signedAt: number | undefined;
  for (let day = 1; day <= 725 && signedAt === undefined; day++) {
    time.nowMs += dayMs;
    await issuer.pass();
    if (readCertificates(bundle()).length === 2) publishedAt ??= day;
    if (first !== undefined && !leaf().checkIssued(first)) signedAt ??= day;
  }
  assert.ok(publishedAt !== undefined && publishedAt >= 360 && publishedAt <= 362, `published on day ${publishedAt}`);
  assert.ok(signedAt !== undefined && signedAt - publishedAt > 260, `signs from day ${signedAt}`);
});

test("new names get a new certificate at once where its authority is trusted already", async (t) => {
  const { start, leaf } = createWorld(t);
  const before = start();
  await before.idle();
  before.stop();
  await start(() => 0, { dnsNames: ["webhook.example.com"], ipAddresses: [] }).idle();
  assert.equal(leaf().subjectAltName, "DNS:webhook.example.com");
});

test("a certificate that was made by hand goes on, its authority is published, and it is replaced late", async (t) => {
  const { time, objects, start, leaf, bundle } = createWorld(t);
  const byHand = await issueServerCertificate({ ...names, days: 365, now: new Date(time.nowMs) });
  const data = { "tls.crt": byHand.certificate, "tls.key": byHand.privateKey, "ca.crt": byHand.caCertificate };
  const encoded = Object.entries(data).map(([key, text]) => [key, Buffer.from(text).toString("base64")]);
  objects.objects.set(served, { version: 7, data: Object.fromEntries(encoded) });
  const issuer = start();
  await issuer.idle();
  assert.equal(objects.read(served)["tls.crt"], byHand.certificate);
  assert.equal(readCertificates(bundle()).length, 2, "its authority and ours");
  assert.ok(isAccepted(leaf(), byHand.caCertificate, time.nowMs), "a cluster that knows only the old one goes on");
  time.nowMs += 340 * dayMs;
  await issuer.pass();
  assert.notEqual(objects.read(served)["tls.crt"], byHand.certificate);
});

test("a lost Secret with the authorities cuts nobody off: what is served goes on for a month", async (t) => {
  const { time, objects, start, leaf, bundle } = createWorld(t);
  const issuer = start();
  await issuer.idle();
  const known = bundle();
  time.nowMs += 10 * dayMs;
  objects.objects.set(authority, { version: 1, data: {} });
  await issuer.pass();
  assert.ok(isAccepted(leaf(), known, time.nowMs));
  assert.equal(readCertificates(bundle()).length, 2);
});

test("authorities that cannot be read are left alone, and told by metric and Event", async (t) => {
  const { objects, start, events, metrics } = createWorld(t);
  const broken = { authorities: Buffer.from("{").toString("base64") };
  objects.objects.set(authority, { version: 1, data: broken });
  await start().idle();
  assert.deepEqual(objects.writes, []);
  assert.equal(metrics.value(problem), 1);
  assert.match(events[0] ?? "", /^CertificateNotIssued .*podseidon-webhook-authority is not JSON/);
});

/** A core in which all is issued, and what is stored then. */
async function createIssued(t: TestContext) {
  const world = createWorld(t);
  const issuer = world.start();
  await issuer.idle();
  issuer.stop();
  return { ...world, stored: [...world.objects.writes] };
}

for (const [title, serverMs, ownMs] of [
  ["an API server whose clock is years ahead", 3 * 365 * dayMs, 0],
  ["an API server whose clock is years behind", -3 * 365 * dayMs, 0],
  ["an own clock that is years ahead", 0, 3 * 365 * dayMs],
  ["an own clock that is two hours behind", 0, -2 * hourMs],
] as const)
  test(`${title}: nothing is forgotten or issued, which is told, until the clocks agree`, async (t) => {
    const { time, objects, stored, start, events, metrics, bundle } = await createIssued(t);
    const known = bundle();
    time.nowMs += serverMs;
    let offMs = ownMs - serverMs;
    const issuer = start(() => offMs);
    await issuer.idle();
    assert.deepEqual(objects.writes, stored);
    assert.equal(bundle(), known);
    assert.equal(metrics.value(problem), 1);
    assert.match(events.at(-1) ?? "", /^CertificateNotIssued .*clock of the API server .* and that of this process/);
    time.nowMs -= serverMs;
    offMs = 0;
    await issuer.pass();
    assert.equal(metrics.value(problem), 0);
    assert.deepEqual(objects.writes, stored);
  });

test("clocks that differ by less than an hour are no hindrance: what is issued is backdated by an hour", async (t) => {
  const { time, start, leaf, bundle } = createWorld(t);
  await start(() => -50 * 60_000).idle();
  for (const skewMs of [0, -50 * 60_000]) assert.ok(isAccepted(leaf(), bundle(), time.nowMs + skewMs));
});

test("both clocks a year behind what is stored: nothing that is not valid yet is issued or replaced", async (t) => {
  const { time, objects, stored, start, events, metrics } = await createIssued(t);
  time.nowMs -= 365 * dayMs;
  const issuer = start(() => 0, { dnsNames: ["webhook.example.com"], ipAddresses: [] });
  await issuer.idle();
  assert.deepEqual(objects.writes, stored);
  assert.equal(metrics.value(problem), 1);
  assert.match(events.at(-1) ?? "", /^CertificateNotIssued .*is valid only from 2025-12-31T23:00:00.000Z on/);
});

test("what was made while a clock was ahead can be emptied by a person, and all is issued anew", async (t) => {
  const { time, objects, start, metrics, leaf, bundle } = await createIssued(t);
  time.nowMs -= 365 * dayMs;
  const issuer = start();
  await issuer.idle();
  for (const name of [authority, served]) objects.objects.set(name, { version: 50, data: {} });
  await issuer.pass();
  assert.equal(metrics.value(problem), 0);
  assert.ok(isAccepted(leaf(), bundle(), time.nowMs));
});

test("an object that is missing is told, and issuing begins when it is there", async (t) => {
  const { objects, start, events, metrics } = createWorld(t);
  objects.objects.delete(trusted);
  const issuer = start();
  await issuer.idle();
  assert.match(events[0] ?? "", /podseidon-webhook-ca/);
  objects.objects.set(trusted, { version: 1, data: {} });
  await issuer.pass();
  assert.equal(metrics.value(problem), 0);
  assert.equal(objects.writes.length, 3);
});

test("a crash after any write of the first pass leaves what the next leader completes", async (t) => {
  for (const crashAfter of [0, 1, 2]) {
    const { time, objects, start, leaf, bundle } = createWorld(t);
    objects.fault = ({ method }) =>
      method === "PATCH" && objects.writes.length >= crashAfter ? new KubeError("network", "gone") : undefined;
    const first = start();
    await first.idle();
    first.stop();
    objects.fault = () => undefined;
    await start().idle();
    assert.ok(isAccepted(leaf(), bundle(), time.nowMs), `after ${crashAfter} writes`);
    assert.deepEqual(objects.writes, [authority, trusted, served]);
  }
});

test("eight years of two leaders, crashes, wrong clocks and clusters that are away drop no review", async (t) => {
  const { time, objects, start, bundle } = createWorld(t);
  const rng = createSeededRng(1);
  // Each thinks that it leads, and one has a clock that is years behind.
  let issuers = [start(), start(() => -1_000 * dayMs)];
  await Promise.all(issuers.map((issuer) => issuer.idle()));
  // A worker cluster takes the bundle when it is there; the last one is away for eight months, and then for a day.
  const clusters = [1, 7, 30, 240].map((everyDays) => ({ everyDays, bundle: bundle() }));
  const webhooks = Array.from({ length: 3 }, () => objects.read(served)["tls.crt"] ?? "");
  const verdicts = new Map<string, boolean>();
  const authorities = new Set(readCertificates(bundle()).map(({ serialNumber }) => serialNumber));
  const leaves = new Set<string>();
  for (let day = 1; day <= 8 * 365; day++) {
    time.nowMs += dayMs;
    objects.fault = ({ method }) =>
      rng.next() < (method === "PATCH" ? 0.3 : 0.05) ? new KubeError("network", "lost") : undefined;
    await Promise.all(issuers.map((issuer) => issuer.pass()));
    objects.fault = () => undefined;
    if (rng.next() < 0.02) {
      for (const issuer of issuers) issuer.stop();
      const skewMs = rng.next() * 30 * dayMs;
      issuers = [start(() => skewMs), start()];
      await Promise.all(issuers.map((issuer) => issuer.idle()));
    }
    for (const cluster of clusters) if (day % cluster.everyDays === 0) cluster.bundle = bundle();
    for (const index of webhooks.keys()) if (rng.next() < 0.5) webhooks[index] = objects.read(served)["tls.crt"] ?? "";
    for (const { serialNumber } of readCertificates(bundle())) authorities.add(serialNumber);
    assert.ok(readCertificates(bundle()).length <= 3, `day ${day}: authorities are forgotten`);
    for (const pem of webhooks) {
      leaves.add(pem);
      for (const cluster of clusters) {
        const skewMs = (rng.next() - 0.5) * hourMs;
        const key = `${pem}${cluster.bundle}`;
        const isTrusted =
          verdicts.get(key) ?? isAccepted(new X509Certificate(pem), cluster.bundle, time.nowMs + skewMs);
        verdicts.set(key, isTrusted);
        const { validToDate } = new X509Certificate(pem);
        assert.ok(isTrusted && validToDate.getTime() > time.nowMs + skewMs, `day ${day}, every ${cluster.everyDays}`);
      }
    }
  }
  assert.ok(authorities.size >= 8 && authorities.size <= 10, `${authorities.size} authorities`);
  assert.ok(leaves.size >= 45, `${leaves.size} certificates`);
});
