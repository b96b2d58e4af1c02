/**
 * A child process of the benchmark: a webhook that allows everything after 20 ms, as long as an admission takes under
 * load, on several ports of loopback, and counts TLS handshakes. Arguments: certificate file, key file, number of
 * ports. Sends its ports; each message to it is answered with what it has counted, and its CPU time.
 */
import { readFileSync } from "node:fs";
import { listenOnLoopback, tellParent } from "../processes/child.ts";
import { createBareServer } from "../reviews/bare-server.ts";

const answerDelayMs = 20;

/** So far. */
export interface HandshakeCounts {
  readonly handshakes: number;
  readonly reviews: number;
  readonly cpuMicros: number;
}

const [, , certFile = "", keyFile = "", portsCount = "1"] = process.argv;
const pem = { cert: readFileSync(certFile, "utf8"), key: readFileSync(keyFile, "utf8") };
let handshakes = 0;
let reviews = 0;

async function open(): Promise<number> {
  const server = createBareServer(pem);
  const [answer] = server.listeners("request") as [(...args: unknown[]) => void];
  server.removeAllListeners("request");
  server.on("request", (...args) => {
    reviews += 1;
    setTimeout(() => answer(...args), answerDelayMs);
  });
  server.on("secureConnection", () => (handshakes += 1));
  return listenOnLoopback(server);
}

const ports: number[] = [];
for (let index = 0; index < Number(portsCount); index += 1) ports.push(await open());
tellParent({ ports });
process.on("message", () => {
  const { user, system } = process.cpuUsage();
  process.send?.({ handshakes, reviews, cpuMicros: user + system } satisfies HandshakeCounts);
});
