import assert from "node:assert/strict";
import { once } from "node:events";
import http from "node:http";
import net from "node:net";
import { test, type TestContext } from "node:test";
import { type ConnectionLimits, Connections, type DropReason } from "../../../src/server/connections.ts";
import { listen } from "../../../src/server/listen.ts";
import { silentLogger } from "../../../src/util/logger.ts";
import { createVirtualClock } from "../../support/virtual-clock.ts";

/** A listener that answers with the status in the path, "/wait" when `release` is called. */
async function open(t: TestContext, limits: ConnectionLimits) {
  const dropped: DropReason[] = [];
  const waiting: (() => void)[] = [];
  const listener = await listen({
    name: "test",
    async fetch(request) {
      const path = new URL(request.url).pathname.slice(1);
      if (path === "wait") await new Promise<void>((resolve) => waiting.push(resolve));
      return new Response("", { status: path === "wait" ? 200 : Number(path) });
    },
    bindAddress: "127.0.0.1",
    port: 0,
    portFlag: "test-port",
    readHeaderTimeoutMs: 10_000,
    clock: createVirtualClock(),
    logger: silentLogger,
    onDropped: (reason) => dropped.push(reason),
    ...limits,
  });
  t.after(async () => {
    for (const release of waiting) release();
    await listener.close(0);
  });
  const connect = async (localAddress = "127.0.0.1"): Promise<Client> => {
    const client = new Client(net.connect({ host: "127.0.0.1", port: listener.port, localAddress }));
    t.after(() => client.socket.destroy());
    await once(client.socket, "connect");
    return client;
  };
  const earned = async (localAddress?: string): Promise<Client> => {
    const client = await connect(localAddress);
    assert.match(await client.get("200"), /^HTTP\/1.1 200 /);
    return client;
  };
  return { connect, earned, dropped, waiting };
}

class Client {
  readonly socket: net.Socket;
  readonly closed: Promise<unknown>;
  text = "";

  constructor(socket: net.Socket) {
    this.socket = socket;
    socket.on("error", () => {});
    this.closed = once(socket, "close");
    socket.setEncoding("utf8").on("data", (chunk: string) => (this.text += chunk));
  }

  send(path: string): void {
    this.socket.write(`GET /${path} HTTP/1.1\r\nHost: x\r\n\r\n`);
  }

  /** The answer; "" = the connection was closed instead. */
  async get(path: string): Promise<string> {
    this.text = "";
    this.send(path);
    while (!this.text.includes("\r\n\r\n") && !this.socket.closed) {
      await Promise.race([once(this.socket, "data"), this.closed]);
    }
    return this.text;
  }
}

test("a connection that has earned nothing ends with its first answer, and one that has is kept", async (t) => {
  const { connect, earned } = await open(t, { connectionsMax: 10 });
  for (const status of ["400", "404", "405", "429", "500"]) {
    const stranger = await connect();
    assert.match(await stranger.get(status), new RegExp(`^HTTP/1.1 ${status} [^]*\r\nConnection: close\r\n`), status);
    await stranger.closed;
    const client = await earned();
    assert.match(await client.get(status), /\r\nConnection: keep-alive\r\n/);
    assert.match(await client.get("200"), /^HTTP\/1.1 200 /);
  }
});

test("when there is no room, the first connection that has earned nothing makes it for the newcomer", async (t) => {
  const { connect, earned, dropped } = await open(t, { connectionsMax: 3 });
  const client = await earned();
  const [first, second] = [await connect(), await connect()];
  const third = await earned();
  await first.closed;
  assert.equal(second.socket.destroyed, false);
  const fourth = await earned();
  await second.closed;
  assert.deepEqual(dropped, ["displaced", "displaced"]);
  for (const kept of [client, third, fourth]) assert.match(await kept.get("200"), /^HTTP\/1.1 200 /);
});

test("a first request under way is displaced only when nothing idle is left", async (t) => {
  const { connect, dropped, waiting } = await open(t, { connectionsMax: 2 });
  const busy = await connect();
  busy.send("wait");
  while (waiting.length === 0) await new Promise((resolve) => setImmediate(resolve));
  const idle = await connect();
  const next = await connect();
  await idle.closed;
  assert.equal(busy.socket.destroyed, false);
  next.send("wait");
  while (waiting.length < 2) await new Promise((resolve) => setImmediate(resolve));
  await connect();
  await busy.closed;
  assert.deepEqual(dropped, ["displaced", "displaced"]);
});

test("a connection that has earned its place is never ended for a newcomer, which is told by its reason", async (t) => {
  const { connect, earned, dropped } = await open(t, { connectionsMax: 2 });
  const clients = [await earned(), await earned()];
  const late = await connect();
  await late.closed;
  assert.deepEqual(dropped, ["full"]);
  for (const client of clients) assert.match(await client.get("200"), /^HTTP\/1.1 200 /);
  clients[0]?.socket.destroy();
  // The server learns of it a moment later.
  while ((await (await connect()).get("200")) === "");
});

test("an address has its own limit, and takes nothing from the others", async (t) => {
  const { connect, earned, dropped } = await open(t, { connectionsMax: 10, perAddressMax: 2 });
  const others = await earned("127.0.0.2");
  const idle = await connect();
  const clients = [await earned(), await earned()];
  await idle.closed;
  await (
    await connect()
  ).closed;
  assert.deepEqual(dropped, ["displaced", "address"]);
  for (const client of [others, ...clients]) assert.match(await client.get("200"), /^HTTP\/1.1 200 /);
  await earned("127.0.0.2");
});

test("a connection with more than eight requests at once ends", async (t) => {
  const { earned, dropped, waiting } = await open(t, { connectionsMax: 2 });
  const client = await earned();
  for (let count = 0; count < 8; count += 1) client.send("wait");
  while (waiting.length < 8) await new Promise((resolve) => setImmediate(resolve));
  assert.equal(client.socket.destroyed, false);
  client.send("wait");
  await client.closed;
  assert.deepEqual(dropped, ["pipelined"]);
});

test("connections that are not reusable end with every answer", async (t) => {
  const { connect } = await open(t, { connectionsMax: 1, isReusable: false });
  for (let turn = 0; turn < 3; turn += 1) {
    const client = await connect();
    assert.match(await client.get("200"), /^HTTP\/1.1 200 [^]*\r\nConnection: close\r\n/);
    await client.closed;
  }
});

test("clients that were gone before they were accepted, whose addresses nobody knows, leave their places", async () => {
  const dropped: DropReason[] = [];
  const connections = new Connections({ connectionsMax: 2, onDropped: (reason) => dropped.push(reason) });
  const server = http.createServer();
  server.removeAllListeners("connection");
  connections.watch(server);
  const open = (): net.Socket => {
    const socket = new net.Socket();
    server.emit("connection", socket);
    return socket;
  };
  const gone = [open(), open()];
  const closed = Promise.all(gone.map((socket) => once(socket, "close")));
  for (const socket of gone) socket.destroy();
  await closed;
  open();
  open();
  assert.deepEqual(dropped, []);
  open();
  assert.deepEqual(dropped, ["displaced"]);
});
