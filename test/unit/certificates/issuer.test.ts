import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { issueServerCertificate } from "../../../src/certificates/own-authority.ts";
import { KubeError } from "../../../src/kube/kube-client.ts";
import { readCertificates } from "../../../src/util/pem-certificates.ts";
import { authority, createWorld, dayMs, hourMs, isAccepted, names, problem, served, trusted } from "./issuer-world.ts";

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
