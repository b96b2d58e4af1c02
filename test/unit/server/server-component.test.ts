import assert from "node:assert/strict";
import { test } from "node:test";
import { createServer } from "../../../src/server/server-component.ts";
import { silentLogger } from "../../../src/util/logger.ts";
import { createVirtualClock } from "../../support/virtual-clock.ts";
import { createPem, temporaryFolder, writePem } from "./certificates.ts";

const http = { enable: true, bindAddress: "127.0.0.1", port: 0, portFlag: "x-port" };
const common = {
  name: "x",
  fetch: () => new Response("hello"),
  connectionsMax: 10,
  graceMs: 0,
  logger: silentLogger,
};

test("both listeners run when both are enabled, and none afterwards", async (t) => {
  const files = writePem(temporaryFolder(t), await createPem("x"));
  const clock = createVirtualClock();
  const server = createServer({
    ...common,
    clock,
    config: { http, https: { ...http, portFlag: "x-https-port", ...files }, readHeaderTimeoutMs: 1000 },
  });
  assert.deepEqual(server.listeners(), []);
  await server.start();
  const [plain, secure, ...more] = server.listeners();
  assert.equal(more.length, 0);
  assert.notEqual(plain?.port, secure?.port);
  assert.equal(await (await fetch(`http://127.0.0.1:${plain?.port}/`)).text(), "hello");
  server.disableKeepAlive();
  assert.equal((await fetch(`http://127.0.0.1:${plain?.port}/`)).headers.get("connection"), "close");
  await server.stop();
  assert.deepEqual(server.listeners(), []);
  assert.equal(clock.pendingTimers, 0);
});

test("a disabled server starts without listening", async () => {
  const off = { ...http, enable: false };
  const config = { http: off, https: { ...off, certFile: "", keyFile: "" }, readHeaderTimeoutMs: 1000 };
  const server = createServer({ ...common, clock: createVirtualClock(), config });
  await server.start();
  assert.deepEqual(server.listeners(), []);
  await server.stop();
});
