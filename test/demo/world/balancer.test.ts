import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { type AddressInfo } from "node:net";
import { test } from "node:test";
import { startBalancer } from "../../../scripts/demo/world/balancer.ts";

async function startNamed(name: string): Promise<{ server: Server; port: number }> {
  const server = createServer((_request, response) => void response.setHeader("connection", "close").end(name));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return { server, port: (server.address() as AddressInfo).port };
}

test("connections go to the replicas in turn, and all to the one that is left when the other is gone", async () => {
  const [a, b] = [await startNamed("a"), await startNamed("b")];
  const balancer = await startBalancer(() => [a.port, b.port]);
  const ask = async (): Promise<string> => await (await fetch(balancer.url)).text();
  assert.deepEqual([await ask(), await ask(), await ask()], ["a", "b", "a"]);
  b.server.close();
  await once(b.server, "close");
  assert.deepEqual([await ask(), await ask()], ["a", "a"]);
  a.server.close();
  await balancer.close();
  await assert.rejects(ask());
});
