import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import { type AddressInfo } from "node:net";
import { test, type TestContext } from "node:test";
import { connect, createServer, type TLSSocket } from "node:tls";
import { parseClientCommandLine } from "../../scripts/client-tls.ts";
import { ArgumentError } from "../../scripts/command-line.ts";
import {
  issueClientCertificate,
  type IssuedCertificate,
  issueServerCertificate,
} from "../../scripts/tls-certificates.ts";

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

test("the command line of a client's certificate becomes a request", () => {
  assert.deepEqual(parseClientCommandLine(["--client=worker-1", "--out=o", "--days=7"]), {
    client: "worker-1",
    out: "o",
    days: 7,
  });
});

for (const [args, message] of [
  [["--out=o"], /--client is required/],
  [["--client=a"], /--out is required/],
  [["--client=a", "--out="], /--out is required/],
  [["--client=a", "--out=o", "--days=x"], /--days: "x" is not a whole number/],
  [["--client=a", "--out=o", "--wat"], /--wat/],
] as const) {
  test(`the command line "${args.join(" ")}" of a client's certificate is refused with its reason`, () => {
    assert.throws(
      () => parseClientCommandLine(args),
      (error) => error instanceof ArgumentError && message.test(error.message),
    );
  });
}

test("a name that could hide another one in a certificate is refused", async () => {
  for (const client of ["", "a,O=system:masters", "a b", "-a", "a".repeat(64)])
    await assert.rejects(async () => issueClientCertificate({ client, days: 1, now }), ArgumentError, client);
});
