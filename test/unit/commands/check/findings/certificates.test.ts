import assert from "node:assert/strict";
import { test } from "node:test";
import { certificateFindings } from "../../../../../src/commands/check/findings/certificates.ts";
import { type EntryFacts, type ReadServed, type ServedFacts } from "../../../../../src/commands/check/facts.ts";
import { issueServerCertificate } from "../../../../../src/certificates/index.ts";
import { before, entry, now, read, unread } from "../sound-facts.ts";

const url = "https://podseidon.example.com/worker-1";
const day = 86_400;
const good: ServedFacts = { distrust: undefined, validFrom: before(day), validTo: before(-200 * day), status: 401 };

function texts(served: ReadServed | undefined, fields: Partial<EntryFacts> = {}): readonly string[] {
  const all = new Map(served === undefined ? [] : [[url, served]]);
  return certificateFindings({ entries: read([entry(fields)]), served: all }, now).map(
    ({ level, check, text }) => `${level} ${check}: ${text}`,
  );
}

async function bundle(days: number, agoDays = 0): Promise<string> {
  const at = new Date((now - agoDays * day * 1_000_000) / 1_000);
  return (await issueServerCertificate({ dnsNames: ["x"], ipAddresses: [], days, now: at })).caCertificate;
}

test("a certificate that is trusted and lasts is in order", () => {
  assert.deepEqual(texts(read(good)), [
    "ok certificate: caBundle matches, certificate good for 200 d 00 h",
    "ok client-certificate: the webhook wants a client certificate",
  ]);
});

test("one that has expired, expires soon, or is not trusted is told, each once", () => {
  const expired = texts(read({ ...good, validTo: before(day), distrust: "certificate has expired" }));
  assert.match(expired[0] ?? "", /^fail certificate: .* expired 1 d 00 h ago/);
  const served = new Map([[url, read({ ...good, validTo: before(day) })]]);
  const [found] = certificateFindings({ entries: read([entry()]), served }, now);
  assert.match(found?.cure ?? "", /^renew it now: webhooks read it within ten seconds; /);
  assert.equal(expired.length, 2);
  assert.match(
    texts(read({ ...good, validFrom: before(300 * day), validTo: before(-29 * day) }))[0] ?? "",
    /^warn certificate: .*expires in 29 d/,
  );
  assert.match(
    texts(read({ ...good, distrust: "self-signed certificate" }))[0] ?? "",
    /^fail ca-bundle: .*self-signed certificate/,
  );
});

test("a short certificate that is renewed by itself is in time until its last third", () => {
  const hours = (left: number): string =>
    texts(read({ ...good, validFrom: before((24 - left) * 3_600), validTo: before(-left * 3_600) }))[0] ?? "";
  assert.match(hours(9), /^ok /);
  assert.match(hours(7), /^warn /);
});

test("a webhook that answers without a client certificate is a warning; one that hangs up is in order", () => {
  assert.match(texts(read({ ...good, status: 405 }))[1] ?? "", /^warn client-certificate/);
  assert.match(texts(read({ ...good, status: undefined }))[1] ?? "", /^ok client-certificate/);
});

test("a webhook out of reach is not checked, and strangers of its cluster are not asked about", () => {
  assert.deepEqual(
    texts(unread).map((text) => text.split(":")[0]),
    ["unchecked certificate", "unchecked client-certificate"],
  );
  assert.deepEqual(
    texts({ ok: false, why: "no", isPrivate: true }).map((text) => text.split(":")[0]),
    ["unchecked certificate"],
  );
});

test("authorities in caBundle are checked too: one that lasts is enough", async () => {
  assert.deepEqual(texts(undefined, { caBundle: await bundle(365) }), []);
  assert.match(
    texts(undefined, { caBundle: await bundle(10, 20) })[0] ?? "",
    /^fail certificate: authority .* in caBundle of podseidon expired/,
  );
  assert.match(
    texts(undefined, { caBundle: await bundle(100, 90) })[0] ?? "",
    /^warn certificate: .*expires in 10 d|^warn certificate: .*expires in 9 d/,
  );
  assert.deepEqual(texts(undefined, { caBundle: (await bundle(10, 20)) + (await bundle(365)) }), []);
});

test("a caBundle that is broken, or missing for a Service, is a failure", () => {
  assert.match(texts(undefined, { caBundle: "nonsense" })[0] ?? "", /^fail ca-bundle: .*cannot be read/);
  assert.match(texts(undefined, { isService: true })[0] ?? "", /^fail ca-bundle: podseidon has no caBundle/);
});
