import assert from "node:assert/strict";
import http from "node:http";
import net from "node:net";
import tls from "node:tls";
import { test, type TestContext } from "node:test";
import { Hono } from "hono";
import { StartError } from "../../../src/lifecycle/component.ts";
import { certificatePollMs } from "../../../src/server/certificate.ts";
import { listen, withIPv4Fallback, type ListenOptions } from "../../../src/server/listen.ts";
import { silentLogger } from "../../../src/util/logger.ts";
import { createVirtualClock } from "../../support/virtual-clock.ts";
import { createPem, temporaryFolder, writePem } from "./certificates.ts";

const base = {
  name: "test",
  bindAddress: "127.0.0.1",
  port: 0,
  portFlag: "test-port",
  readHeaderTimeoutMs: 10_000,
  connectionsMax: 10,
  logger: silentLogger,
};

async function open(t: TestContext, options: Partial<ListenOptions> = {}) {
  const clock = createVirtualClock();
  const app = new Hono().get("/", (context) => context.text("hello"));
  const listener = await listen({ ...base, clock, fetch: app.fetch, ...options });
  t.after(() => listener.close(0));
  return { clock, listener };
}

/** Answers "done" when `finish` is resolved; `started` tells that the request has arrived. */
function slowApp() {
  const started = Promise.withResolvers<void>();
  const finish = Promise.withResolvers<void>();
  const app = new Hono().get("/", async (context) => {
    started.resolve();
    await finish.promise;
    return context.text("done");
  });
  return { started, finish, fetch: app.fetch };
}

/** One request on a connection of its own or of the agent. */
function get(port: number, agent?: http.Agent): Promise<{ text: string; connection: string | undefined }> {
  return new Promise((resolve, reject) => {
    const request = http.get({ host: "127.0.0.1", port, agent }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
      response.on("end", () => resolve({ text, connection: response.headers.connection }));
    });
    request.on("error", reject);
  });
}

/** One handshake: the name of the server's certificate, and the cipher. */
function handshake(port: number, options: tls.ConnectionOptions = {}): Promise<{ subject: string; cipher: string }> {
  return new Promise((resolve, reject) => {
    const socket = tls.connect({ host: "127.0.0.1", port, rejectUnauthorized: false, ...options }, () => {
      resolve({ subject: String(socket.getPeerCertificate().subject.CN), cipher: socket.getCipher().name });
      socket.destroy();
    });
    socket.on("error", reject);
  });
}

test("an app is served on a free port", async (t) => {
  const { listener } = await open(t);
  assert(listener.port > 0);
  assert.equal(listener.address, "127.0.0.1");
  assert.equal((await get(listener.port)).text, "hello");
});

test("Request and Response stay the platform's", async (t) => {
  const { Request, Response } = globalThis;
  await open(t);
  assert.equal(globalThis.Request, Request);
  assert.equal(globalThis.Response, Response);
});

test("a listener is there before its certificate is issued: until then handshakes fail", async (t) => {
  let issued: { cert: string; key: string } | undefined;
  const { clock, listener } = await open(t, { tls: { supplied: () => issued } });
  const nameOf = (): Promise<string> =>
    handshake(listener.port).then(
      ({ subject }) => subject,
      () => "none",
    );
  assert.equal(await nameOf(), "none");
  for (const name of ["first", "second"]) {
    issued = await createPem(name);
    await clock.advance(certificatePollMs);
    assert.equal(await nameOf(), name);
  }
});

test("a port in use is a StartError that names address and flag", async (t) => {
  const { listener } = await open(t);
  await assert.rejects(open(t, { port: listener.port }), (error) => {
    assert(error instanceof StartError);
    assert.match(
      error.message,
      new RegExp(`^test cannot listen on 127.0.0.1:${listener.port} \\(--test-port\\): .*EADDRINUSE`),
    );
    return true;
  });
});

test("an address that is not this host's is a StartError", async (t) => {
  await assert.rejects(open(t, { bindAddress: "192.0.2.1" }), StartError);
});

test("::1 and all addresses are reachable over loopback, with or without IPv6 on the host", async (t) => {
  for (const bindAddress of ["::1", "::", ""]) {
    const { listener } = await open(t, { bindAddress });
    const host = listener.address === "::1" ? "::1" : "127.0.0.1";
    const socket = net.connect({ host, port: listener.port });
    await new Promise((resolve, reject) => socket.on("connect", resolve).on("error", reject));
    socket.destroy();
  }
});

test("HTTPS needs TLS 1.2, and new connections get a changed certificate", async (t) => {
  const folder = temporaryFolder(t);
  const files = writePem(folder, await createPem("old"));
  const { listener, clock } = await open(t, { tls: files });
  const subject = async (options?: tls.ConnectionOptions): Promise<string> =>
    (await handshake(listener.port, options)).subject;
  assert.equal(await subject(), "old");
  await assert.rejects(subject({ minVersion: "TLSv1.1", maxVersion: "TLSv1.1", ciphers: "DEFAULT@SECLEVEL=0" }));
  writePem(folder, await createPem("new"));
  await clock.advance(certificatePollMs);
  assert.equal(await subject(), "new");
  await assert.rejects(subject({ minVersion: "TLSv1.1", maxVersion: "TLSv1.1", ciphers: "DEFAULT@SECLEVEL=0" }));
});

test("a certificate that cannot be read is a StartError before anything listens", async (t) => {
  await assert.rejects(open(t, { tls: { certFile: "/missing.crt", keyFile: "/missing.key" } }), StartError);
});

test("without keep-alive each connection ends with its next response, and new ones are still served", async (t) => {
  const { listener } = await open(t);
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
  t.after(() => agent.destroy());
  assert.deepEqual(await get(listener.port, agent), { text: "hello", connection: "keep-alive" });
  const [kept] = Object.values(agent.freeSockets).flat();
  listener.disableKeepAlive();
  assert.equal(kept?.destroyed, false, "closed under a client that may be sending");
  assert.deepEqual(await get(listener.port, agent), { text: "hello", connection: "close" });
  assert.deepEqual(await get(listener.port, agent), { text: "hello", connection: "close" });
});

test("disabling keep-alive also ends the connection of a request in flight", async (t) => {
  const { started, finish, fetch } = slowApp();
  const { listener } = await open(t, { fetch });
  const agent = new http.Agent({ keepAlive: true });
  t.after(() => agent.destroy());
  const answer = get(listener.port, agent);
  await started.promise;
  listener.disableKeepAlive();
  finish.resolve();
  assert.deepEqual(await answer, { text: "done", connection: "close" });
});

test("closing lets a running request finish, tells the client, and closes kept connections", async (t) => {
  const { started, finish, fetch } = slowApp();
  const { listener, clock } = await open(t, { fetch });
  const agent = new http.Agent({ keepAlive: true });
  t.after(() => agent.destroy());
  const answer = get(listener.port, agent);
  await started.promise;
  const closed = listener.close(5000);
  finish.resolve();
  assert.deepEqual(await answer, { text: "done", connection: "close" });
  await closed;
  assert.equal(clock.pendingTimers, 0);
  await assert.rejects(get(listener.port), /ECONNREFUSED/);
});

test("closing cuts requests that are still running after the grace time", async (t) => {
  const started = Promise.withResolvers<void>();
  const app = new Hono().get("/", () => {
    started.resolve();
    return new Promise<Response>(() => {});
  });
  const { listener, clock } = await open(t, { fetch: app.fetch });
  const answer = assert.rejects(get(listener.port), /hang up|ECONNRESET/);
  await started.promise;
  const closed = listener.close(1000);
  await clock.advance(1000);
  await closed;
  await answer;
});

test("TLS 1.2 is spoken only with forward secrecy and authenticated encryption", async (t) => {
  const { listener } = await open(t, { tls: writePem(temporaryFolder(t), await createPem("x")) });
  const cipherOf = async (ciphers: string): Promise<string> =>
    (await handshake(listener.port, { maxVersion: "TLSv1.2", ciphers })).cipher;
  assert.equal(await cipherOf("ECDHE-ECDSA-AES128-GCM-SHA256"), "ECDHE-ECDSA-AES128-GCM-SHA256");
  // CBC modes with a MAC of their own.
  await assert.rejects(cipherOf("ECDHE-ECDSA-AES128-SHA256:ECDHE-ECDSA-AES256-SHA"), /handshake failure/);
});

test("a client cannot ask for another handshake over its connection", async (t) => {
  const { listener } = await open(t, { tls: writePem(temporaryFolder(t), await createPem("x")) });
  const options = { host: "127.0.0.1", port: listener.port, rejectUnauthorized: false };
  const socket = tls.connect({ ...options, maxVersion: "TLSv1.2" });
  t.after(() => socket.destroy());
  await new Promise((resolve, reject) => socket.once("secureConnect", resolve).once("error", reject));
  const error = await new Promise((resolve) => {
    socket.once("error", resolve);
    socket.renegotiate({}, resolve);
  });
  assert.match(String(error), /no renegotiation|renegotiation/i);
});

/** What the server says to these bytes until it closes the connection. */
async function answerTo(port: number, bytes: string): Promise<string> {
  const socket = net.connect({ host: "127.0.0.1", port });
  socket.on("error", () => {});
  socket.write(bytes);
  let text = "";
  socket.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
  await new Promise((resolve) => socket.once("close", resolve));
  return text;
}

test("a header of more than 16 kB is refused", async (t) => {
  const { listener } = await open(t);
  const header = `GET / HTTP/1.1\r\nHost: x\r\nX-Big: ${"x".repeat(16 * 1024)}\r\n\r\n`;
  assert.match(await answerTo(listener.port, header), /^HTTP\/1.1 431 /);
});

test("a client that never finishes its body is cut off", async (t) => {
  const fetch = () => new Promise<Response>(() => {});
  const { listener } = await open(t, { fetch, readHeaderTimeoutMs: 50, bodyTimeoutMs: 50 });
  const request = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{";
  assert.match(await answerTo(listener.port, request), /^HTTP\/1.1 408 /);
});

test("on a host without IPv6 the IPv4 fallback is opened, and every other failure stays a failure", async () => {
  const tried: string[] = [];
  const openIpv4Only =
    (code: string) =>
    async (host: string): Promise<string> => {
      tried.push(host);
      if (host.includes(":")) throw Object.assign(new Error(code), { code });
      return host;
    };
  assert.equal(await withIPv4Fallback("::1", openIpv4Only("EADDRNOTAVAIL")), "127.0.0.1");
  assert.equal(await withIPv4Fallback("::", openIpv4Only("EAFNOSUPPORT")), "0.0.0.0");
  assert.equal(await withIPv4Fallback("", openIpv4Only("EAFNOSUPPORT")), "0.0.0.0");
  await assert.rejects(withIPv4Fallback("::1", openIpv4Only("EADDRINUSE")), /EADDRINUSE/);
  await assert.rejects(withIPv4Fallback("2001:db8::1", openIpv4Only("EADDRNOTAVAIL")), /EADDRNOTAVAIL/);
  assert.deepEqual(tried, ["::1", "127.0.0.1", "::", "0.0.0.0", "::", "0.0.0.0", "::1", "2001:db8::1"]);
});

test("every header timeout that the flag allows is accepted", async (t) => {
  for (const readHeaderTimeoutMs of [0, 0.5, 1500, 2 ** 31 - 1]) {
    const { listener } = await open(t, { readHeaderTimeoutMs });
    assert.equal((await get(listener.port)).text, "hello");
  }
});

test("a client that never finishes its header is cut off", async (t) => {
  const { listener } = await open(t, { readHeaderTimeoutMs: 100 });
  assert.match(await answerTo(listener.port, "GET / HTTP/1.1\r\nHost: x\r\n"), /^HTTP\/1.1 408 /);
});
