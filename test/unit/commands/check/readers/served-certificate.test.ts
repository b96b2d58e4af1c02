import assert from "node:assert/strict";
import { createServer, type Server } from "node:https";
import { type AddressInfo } from "node:net";
import { test } from "node:test";
import { issueServerCertificate } from "../../../../../src/certificates/index.ts";
import { readServed } from "../../../../../src/commands/check/readers/served-certificate.ts";
import { createVirtualClock } from "../../../../support/virtual-clock.ts";

const signal = new AbortController().signal;
const issued = await issueServerCertificate({ dnsNames: [], ipAddresses: ["127.0.0.1"], days: 100, now: new Date() });
const { certificate: cert, privateKey: key, caCertificate } = issued;

/** A webhook on loopback, for as long as `body` runs. */
async function serving(status: number | "hang-up", body: (url: string) => Promise<void>): Promise<void> {
  const server: Server = createServer({ cert, key }, (request, response) => {
    if (status === "hang-up") request.socket.destroy();
    else response.writeHead(status).end();
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  try {
    await body(`https://127.0.0.1:${(server.address() as AddressInfo).port}/worker-1`);
  } finally {
    server.closeAllConnections();
    await new Promise((resolve) => void server.close(resolve));
  }
}

test("a certificate of the authorities is trusted, and read with its times and the answer to a stranger", () =>
  serving(401, async (url) => {
    const clock = createVirtualClock();
    const read = await readServed(url, caCertificate, { clock, signal });
    assert.ok(read.ok);
    assert.equal(read.value.distrust, undefined);
    assert.equal(read.value.status, 401);
    const days = (read.value.validTo - read.value.validFrom) / 86_400_000_000;
    assert.ok(days > 99 && days < 102, String(days));
    assert.equal(clock.pendingTimers, 0);
  }));

test("a certificate of another authority is shown, with the reason why it is not trusted", () =>
  serving(405, async (url) => {
    const other = await issueServerCertificate({ dnsNames: ["x"], ipAddresses: [], days: 1, now: new Date() });
    const read = await readServed(url, other.caCertificate, { clock: createVirtualClock(), signal });
    assert.ok(read.ok && read.value.distrust !== undefined);
    assert.equal(read.value.status, 405);
  }));

test("a certificate for another name is not trusted", () =>
  serving(405, async (url) => {
    const read = await readServed(url.replace("127.0.0.1", "localhost"), caCertificate, {
      clock: createVirtualClock(),
      signal,
    });
    assert.match(read.ok ? String(read.value.distrust) : "", /ALTNAME|altnames|does not match/i);
  }));

test("a webhook that hangs up has shown its certificate before", () =>
  serving("hang-up", async (url) => {
    const read = await readServed(url, caCertificate, { clock: createVirtualClock(), signal });
    assert.ok(read.ok);
    assert.deepEqual([read.value.distrust, read.value.status], [undefined, undefined]);
  }));

test("an address that nobody answers at, or that is none, cannot be reached from here", async () => {
  const reader = { clock: createVirtualClock(), signal };
  for (const url of ["https://127.0.0.1:1/worker-1", "nonsense"]) {
    const read = await readServed(url, caCertificate, reader);
    assert.match(read.ok ? "" : read.why, /^it cannot be reached from here/, url);
  }
});
