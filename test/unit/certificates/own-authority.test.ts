import assert from "node:assert/strict";
import { X509Certificate, createPrivateKey } from "node:crypto";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { test, type TestContext } from "node:test";
import { connect, createServer, type TLSSocket } from "node:tls";
import {
  issueClientCertificate,
  type IssuedCertificate,
  issueServerCertificate,
} from "../../../src/certificates/own-authority.ts";
import {
  CertificateRequestError,
  checkClientName,
  checkDnsName,
  checkServerNames,
  validityOfDays,
} from "../../../src/certificates/request.ts";
import { createAuthority, signClientCertificate, signServerCertificate } from "../../../src/certificates/authority.ts";

const start = new Date("2026-11-20T12:00:00Z");
const request = {
  dnsNames: ["podseidon-webhook.podseidon-system.svc"],
  ipAddresses: ["127.0.0.1", "::1"],
  days: 30,
  now: start,
};
const issued = await issueServerCertificate(request);
const ca = new X509Certificate(issued.caCertificate);
const server = new X509Certificate(issued.certificate);

test("the server certificate is signed by the authority, which is nothing else than an authority", () => {
  assert.ok(server.verify(ca.publicKey));
  assert.ok(server.checkIssued(ca));
  assert.deepEqual([ca.ca, server.ca], [true, false]);
  assert.ok(server.checkPrivateKey(createPrivateKey(issued.privateKey)));
  assert.ok(!ca.checkPrivateKey(createPrivateKey(issued.privateKey)));
});

test("the server certificate is for the Service's name in API servers' calls, and for each extra address", () => {
  assert.equal(server.checkHost("podseidon-webhook.podseidon-system.svc"), "podseidon-webhook.podseidon-system.svc");
  assert.equal(server.checkHost("other.podseidon-system.svc"), undefined);
  assert.equal(server.checkIP("127.0.0.1"), "127.0.0.1");
  assert.equal(server.checkIP("::1"), "::1");
  assert.equal(server.checkIP("127.0.0.2"), undefined);
});

test("both certificates are valid from an hour ago until the asked number of days has passed", () => {
  for (const certificate of [ca, server]) {
    assert.equal(certificate.validFromDate.toISOString(), "2026-11-20T11:00:00.000Z");
    assert.equal(certificate.validToDate.toISOString(), "2026-12-20T12:00:00.000Z");
  }
});

test("a TLS client that trusts the authority can talk to a server with this certificate", async (t) => {
  const fresh = await issueServerCertificate({ ...request, now: new Date() });
  const listener = createServer({ cert: fresh.certificate, key: fresh.privateKey }, (socket) => socket.end("hello"));
  t.after(() => listener.close());
  listener.listen(0, "127.0.0.1");
  await once(listener, "listening");
  const { port } = listener.address() as AddressInfo;
  const servername = "podseidon-webhook.podseidon-system.svc";
  const client = connect({ host: "127.0.0.1", port, servername, ca: fresh.caCertificate });
  t.after(() => client.destroy());
  const [data] = await once(client, "data", { signal: AbortSignal.timeout(60_000) });
  assert.equal(String(data), "hello");
  assert.ok(client.authorized);
});

const now = new Date();
const issueFor = (client: string) => issueClientCertificate({ client, days: 30, now });

/** Common name of the client to a server that knows these authorities; undefined = it is not trusted. */
async function seenAs(t: TestContext, authorities: readonly IssuedCertificate[], client: IssuedCertificate) {
  const own = await issueServerCertificate({ dnsNames: [], ipAddresses: ["127.0.0.1"], days: 1, now });
  const ca = authorities.map(({ caCertificate }) => caCertificate).join("");
  const tls = { cert: own.certificate, key: own.privateKey, ca, requestCert: true, rejectUnauthorized: false };
  const server = createServer(tls);
  t.after(() => server.close());
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const shown = { cert: client.certificate, key: client.privateKey, rejectUnauthorized: false };
  const socket = connect({ host: "127.0.0.1", port, ...shown });
  t.after(() => socket.destroy());
  const [peer] = (await once(server, "secureConnection", { signal: AbortSignal.timeout(60_000) })) as [TLSSocket];
  return peer.authorized ? peer.getPeerCertificate().subject.CN : undefined;
}

test("several clients are told apart by one file with all their authorities, which have one name", async (t) => {
  const [one, renewed, two] = [await issueFor("worker-1"), await issueFor("worker-1"), await issueFor("worker-2")];
  assert.equal(await seenAs(t, [one, renewed, two], one), "worker-1");
  assert.equal(await seenAs(t, [one, renewed, two], renewed), "worker-1");
  assert.equal(await seenAs(t, [one, renewed, two], two), "worker-2");
  assert.equal(await seenAs(t, [renewed, two], one), undefined, "withdrawn with its authority");
});

test("the certificate of a server is not taken for that of a client", async (t) => {
  const server = await issueServerCertificate({ dnsNames: ["worker-1"], ipAddresses: [], days: 1, now });
  assert.equal(await seenAs(t, [server], server), undefined);
});

test("a client certificate has an ECDSA key on P-256, and no alternative names", async () => {
  const certificate = new X509Certificate((await issueFor("worker-1")).certificate);
  assert.equal(certificate.publicKey.asymmetricKeyDetails?.namedCurve, "prime256v1");
  assert.equal(certificate.subjectAltName, undefined);
});

test("a request that cannot be met is refused, of a server and of a client", async () => {
  await assert.rejects(issueServerCertificate({ ...request, days: 0 }), CertificateRequestError);
  await assert.rejects(issueServerCertificate({ ...request, dnsNames: ["a b"] }), CertificateRequestError);
  await assert.rejects(issueClientCertificate({ client: "a b", days: 1, now: start }), CertificateRequestError);
});

const long = { notBefore: new Date("2026-01-01T00:00:00Z"), notAfter: new Date("2031-01-01T00:00:00Z") };
const short = { notBefore: new Date("2026-02-01T00:00:00Z"), notAfter: new Date("2026-05-01T00:00:00Z") };
const authority = await createAuthority("an-authority", long);
const root = new X509Certificate(authority.certificate);

test("an authority signs nothing but certificates that sign nothing, and has its own validity", () => {
  assert.equal(root.ca, true);
  assert.equal(root.subject, "CN=an-authority");
  assert.deepEqual([root.validFromDate, root.validToDate], [long.notBefore, long.notAfter]);
  assert.ok(root.checkPrivateKey(createPrivateKey(authority.privateKey)));
});

test("an authority that is read from PEM signs several servers, each with a key and number of its own", async () => {
  const names = { dnsNames: ["a.example"], ipAddresses: ["10.0.0.1"] };
  const pairs = [
    await signServerCertificate(authority, names, short),
    await signServerCertificate(authority, names, short),
  ];
  const [one, two] = pairs.map(({ certificate }) => new X509Certificate(certificate));
  assert.ok(one !== undefined && two !== undefined);
  assert.ok(one.checkIssued(root) && one.verify(root.publicKey));
  assert.ok(two.checkIssued(root) && two.verify(root.publicKey));
  assert.notEqual(one.serialNumber, two.serialNumber);
  assert.notEqual(pairs[0]?.privateKey, pairs[1]?.privateKey);
  assert.deepEqual([one.validFromDate, one.validToDate], [short.notBefore, short.notAfter]);
  assert.equal(one.subjectAltName, "DNS:a.example, IP Address:10.0.0.1");
});

test("authorities of one name are told apart by their keys", async () => {
  const second = await createAuthority("an-authority", long);
  const leaf = new X509Certificate((await signClientCertificate(second, "worker-1", short)).certificate);
  assert.equal(leaf.checkIssued(root), false);
  assert.equal(leaf.checkIssued(new X509Certificate(second.certificate)), true);
});

test("a client without a proper name, and a server without any, get no certificate", async () => {
  await assert.rejects(async () => signClientCertificate(authority, "a b", short), CertificateRequestError);
  await assert.rejects(
    async () => signServerCertificate(authority, { dnsNames: [], ipAddresses: [] }, short),
    CertificateRequestError,
  );
});

const at = new Date("2026-11-20T12:00:00Z");

test("a certificate of days is valid from an hour ago until they have passed", () => {
  const { notBefore, notAfter } = validityOfDays(30, at);
  assert.equal(notBefore.toISOString(), "2026-11-20T11:00:00.000Z");
  assert.equal(notAfter.toISOString(), "2026-12-20T12:00:00.000Z");
});

for (const [what, check] of [
  ["no name at all", () => checkServerNames({ dnsNames: [], ipAddresses: [] })],
  ["a name with a space", () => checkServerNames({ dnsNames: ["a b"], ipAddresses: [] })],
  ["a wildcard inside a name", () => checkDnsName("a.*.b")],
  ["a name in capitals", () => checkDnsName("Example.com")],
  ["an address that is none", () => checkServerNames({ dnsNames: [], ipAddresses: ["1.2.3"] })],
  ["a client without a name", () => checkClientName("")],
  ["a client whose name could hide another one", () => checkClientName("a,O=system:masters")],
  ["a client whose name has a space", () => checkClientName("a b")],
  ["a client whose name begins with a hyphen", () => checkClientName("-a")],
  ["a client whose name is too long", () => checkClientName("a".repeat(64))],
  ["zero days", () => validityOfDays(0, at)],
  ["half a day", () => validityOfDays(0.5, at)],
  ["more than ten years", () => validityOfDays(3651, at)],
] as const) {
  test(`a certificate for ${what} is refused`, () => {
    assert.throws(check, CertificateRequestError);
  });
}

test("a wildcard may stand in front of a name", () => {
  checkDnsName("*.example.org");
});
