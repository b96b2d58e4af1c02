import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { type AddressInfo } from "node:net";
import os from "node:os";
import path from "node:path";
import { test } from "node:test";
import { connect, createServer, type TLSSocket } from "node:tls";
import { issueServerCertificate } from "../../src/certificates/index.ts";
import { makeClientCertificate } from "../support/client-certificate.ts";

const hasOpenssl = spawnSync("openssl", ["version"]).status === 0;
const skip = hasOpenssl ? false : "openssl is not installed";

test("the documented command makes a certificate that vouches for its client, and for no other", { skip }, async () => {
  const folder = mkdtempSync(path.join(os.tmpdir(), "podseidon-client-"));
  try {
    makeClientCertificate("worker-1", folder);
    const read = (name: string): string => readFileSync(path.join(folder, name), "utf8");
    const [cert, key] = [read("client.crt"), read("client.key")];
    const certificate = new X509Certificate(cert);
    assert.deepEqual([certificate.subject, certificate.ca], ["CN=worker-1", false]);
    const serving = await issueServerCertificate({ dnsNames: ["x"], ipAddresses: [], days: 1, now: new Date() });
    const asks = { requestCert: true, rejectUnauthorized: true, ca: cert };
    const server = createServer({ cert: serving.certificate, key: serving.privateKey, ...asks });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const accepted = once(server, "secureConnection") as Promise<[TLSSocket]>;
    const { port } = server.address() as AddressInfo;
    const client = connect({ port, host: "127.0.0.1", servername: "x", ca: serving.caCertificate, cert, key });
    const [socket] = await accepted;
    assert.equal(socket.getPeerCertificate().subject.CN, "worker-1");
    client.destroy();
    socket.destroy();
    server.close();
    await once(server, "close");
  } finally {
    rmSync(folder, { recursive: true });
  }
});
