import assert from "node:assert/strict";
import { X509Certificate, createPrivateKey } from "node:crypto";
import { test } from "node:test";
import { createAuthority, signClientCertificate, signServerCertificate } from "../../../src/certificates/authority.ts";
import { CertificateRequestError } from "../../../src/certificates/request.ts";

const long = { notBefore: new Date("2026-01-01T00:00:00Z"), notAfter: new Date("2031-01-01T00:00:00Z") };
const short = { notBefore: new Date("2026-02-01T00:00:00Z"), notAfter: new Date("2026-05-01T00:00:00Z") };
const authority = await createAuthority("an-authority", long);
const ca = new X509Certificate(authority.certificate);

test("an authority signs nothing but certificates that sign nothing, and has its own validity", () => {
  assert.equal(ca.ca, true);
  assert.equal(ca.subject, "CN=an-authority");
  assert.deepEqual([ca.validFromDate, ca.validToDate], [long.notBefore, long.notAfter]);
  assert.ok(ca.checkPrivateKey(createPrivateKey(authority.privateKey)));
});

test("an authority that is read from PEM signs several servers, each with a key and number of its own", async () => {
  const names = { dnsNames: ["a.example"], ipAddresses: ["10.0.0.1"] };
  const pairs = [
    await signServerCertificate(authority, names, short),
    await signServerCertificate(authority, names, short),
  ];
  const [one, two] = pairs.map(({ certificate }) => new X509Certificate(certificate));
  assert.ok(one !== undefined && two !== undefined);
  assert.ok(one.checkIssued(ca) && one.verify(ca.publicKey));
  assert.ok(two.checkIssued(ca) && two.verify(ca.publicKey));
  assert.notEqual(one.serialNumber, two.serialNumber);
  assert.notEqual(pairs[0]?.privateKey, pairs[1]?.privateKey);
  assert.deepEqual([one.validFromDate, one.validToDate], [short.notBefore, short.notAfter]);
  assert.equal(one.subjectAltName, "DNS:a.example, IP Address:10.0.0.1");
});

test("authorities of one name are told apart by their keys", async () => {
  const second = await createAuthority("an-authority", long);
  const leaf = new X509Certificate((await signClientCertificate(second, "worker-1", short)).certificate);
  assert.equal(leaf.checkIssued(ca), false);
  assert.equal(leaf.checkIssued(new X509Certificate(second.certificate)), true);
});

test("a client without a proper name, and a server without any, get no certificate", async () => {
  await assert.rejects(async () => signClientCertificate(authority, "a b", short), CertificateRequestError);
  await assert.rejects(
    async () => signServerCertificate(authority, { dnsNames: [], ipAddresses: [] }, short),
    CertificateRequestError,
  );
});
