import assert from "node:assert/strict";
import { connect } from "node:net";
import { test } from "node:test";
import { createServer } from "../../../src/server/server-component.ts";
import { createVirtualClock } from "../../support/virtual-clock.ts";
import { createRecordingLogger } from "../observability/recording-logger.ts";
import { createPem, temporaryFolder, writePem } from "./certificates.ts";

const http = { enable: true, bindAddress: "127.0.0.1", port: 0, portFlag: "x-port" };
const common = {
  name: "x",
  fetch: () => new Response("hello"),
  connectionsMax: 10,
  graceMs: 0,
};

/** The ports that were opened, in that order, as the log says. */
function opened({ entries }: ReturnType<typeof createRecordingLogger>): number[] {
  return entries.filter(({ message }) => message === "Listening").map(({ fields }) => Number(fields["port"]));
}

/** Whether anything accepts connections on a port of this host. */
function isOpen(port = 0): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    const settle = (isAccepted: boolean): void => {
      socket.destroy();
      resolve(isAccepted);
    };
    socket.once("connect", () => settle(true)).once("error", () => settle(false));
  });
}

test("both listeners run when both are enabled, and none afterwards", async (t) => {
  const files = writePem(temporaryFolder(t), await createPem("x"));
  const clock = createVirtualClock();
  const logger = createRecordingLogger();
  const server = createServer({
    ...common,
    clock,
    logger,
    config: { http, https: { ...http, portFlag: "x-https-port", ...files }, readHeaderTimeoutMs: 1000 },
  });
  assert.deepEqual(opened(logger), []);
  await server.start();
  const [plain, secure, ...more] = opened(logger);
  assert.equal(more.length, 0);
  assert.notEqual(plain, secure);
  assert.deepEqual([await isOpen(plain), await isOpen(secure)], [true, true]);
  assert.equal(await (await fetch(`http://127.0.0.1:${plain}/`)).text(), "hello");
  server.disableKeepAlive();
  assert.equal((await fetch(`http://127.0.0.1:${plain}/`)).headers.get("connection"), "close");
  await server.stop();
  assert.deepEqual([await isOpen(plain), await isOpen(secure)], [false, false]);
  assert.equal(clock.pendingTimers, 0);
});

test("a disabled server starts without listening", async () => {
  const off = { ...http, enable: false };
  const config = { http: off, https: { ...off, certFile: "", keyFile: "" }, readHeaderTimeoutMs: 1000 };
  const logger = createRecordingLogger();
  const server = createServer({ ...common, clock: createVirtualClock(), logger, config });
  await server.start();
  assert.deepEqual(opened(logger), []);
  await server.stop();
});
