/**
 * A child process of the benchmark: an API server that costs next to nothing. It answers every request with the same
 * object and prints its port.
 */
import { createServer } from "node:http";
import { listenOnLoopback, tellParent } from "../processes/child.ts";
import { protector } from "../../unit/webhook/support/objects.ts";

const cells = Object.fromEntries(
  Array.from({ length: 10 }, (_, index) => [
    `cell-${index}`,
    { aggregation: { totalReplicas: 100, availableReplicas: 100, lastEventTime: "2026-01-01T00:00:00.000000Z" } },
  ]),
);
const object = protector({ name: "app", selector: { matchLabels: { app: "app" } } });
const text = JSON.stringify({ ...object, status: { cells } });

const server = createServer((request, response) => {
  request.resume();
  request.on("end", () => response.writeHead(200, { "content-type": "application/json" }).end(text));
});
tellParent({ port: await listenOnLoopback(server), text });
