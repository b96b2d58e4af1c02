import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, createServer, type Server, type Socket } from "node:net";
import { test, type TestContext } from "node:test";
import { type LaggingProxy, startLaggingProxy } from "./lagging-proxy.ts";
import { portOf } from "../clusters/ports.ts";

/** Answers `<name>:<what it got>`. */
async function echo(context: TestContext, name: string): Promise<Server> {
  const server = createServer((socket) => {
    socket.on("data", (data: Buffer) => socket.write(`${name}:${data.toString()}`)).on("error", () => socket.destroy());
    context.after(() => socket.destroy());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  context.after(() => server.close());
  return server;
}

async function proxyTo(context: TestContext, servers: readonly Server[]): Promise<LaggingProxy> {
  const proxy = await startLaggingProxy(servers.map(portOf));
  context.after(() => proxy.close());
  return proxy;
}

async function ask(context: TestContext, proxy: LaggingProxy, text: string): Promise<string> {
  const socket = connect(proxy.port, "127.0.0.1");
  context.after(() => socket.destroy());
  return say(socket, text);
}

async function say(socket: Socket, text: string): Promise<string> {
  socket.write(text);
  const [answer] = (await once(socket, "data")) as [Buffer];
  return answer.toString();
}

test("connections take turns between the targets", { timeout: 10_000 }, async (context) => {
  const proxy = await proxyTo(context, [await echo(context, "a"), await echo(context, "b")]);
  const answers = [await ask(context, proxy, "1"), await ask(context, proxy, "2"), await ask(context, proxy, "3")];
  assert.deepEqual(answers, ["a:1", "b:2", "a:3"]);
});

test("a target that is gone is passed over", { timeout: 10_000 }, async (context) => {
  const gone = await echo(context, "gone");
  const proxy = await proxyTo(context, [gone, await echo(context, "b")]);
  gone.close();
  await once(gone, "close");
  assert.equal(await ask(context, proxy, "1"), "b:1");
  assert.equal(await ask(context, proxy, "2"), "b:2");
});

test("answers are delayed by what is set now, on open connections too", { timeout: 10_000 }, async (context) => {
  const proxy = await proxyTo(context, [await echo(context, "a")]);
  const socket = connect(proxy.port, "127.0.0.1");
  context.after(() => socket.destroy());
  assert.equal(await say(socket, "1"), "a:1");
  proxy.setDelay(200);
  const startMs = performance.now();
  assert.equal(await say(socket, "2"), "a:2");
  // Timers may fire a millisecond early.
  assert.ok(performance.now() - startMs >= 199);
});

test("a cut breaks open connections and refuses new ones until it is healed", { timeout: 10_000 }, async (context) => {
  const proxy = await proxyTo(context, [await echo(context, "a")]);
  const socket = connect(proxy.port, "127.0.0.1");
  context.after(() => socket.destroy());
  await say(socket, "1");
  const broken = once(socket, "data");
  proxy.cut();
  await assert.rejects(broken, { code: "ECONNRESET" });
  await assert.rejects(ask(context, proxy, "2"), { code: "ECONNRESET" });
  proxy.heal();
  assert.equal(await ask(context, proxy, "3"), "a:3");
});
