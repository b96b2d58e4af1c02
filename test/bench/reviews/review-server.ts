/**
 * A child process of the benchmark that answers AdmissionReviews on loopback and sends its port: "webhook" is the
 * webhook as production puts it together, over a core of ten thousand PodProtectors; "bare" is bare-server.ts. With a
 * certificate and a key file it speaks HTTPS. Each message to it is answered with the CPU time that it has used, in
 * microseconds.
 */
import { readFileSync } from "node:fs";
import { createMetrics } from "../../../src/observability/index.ts";
import { listen } from "../../../src/server/index.ts";
import { silentLogger } from "../../../src/util/logger.ts";
import { createSystemClock } from "../../../src/util/system-clock.ts";
import { createWebhook } from "../../../src/webhook/index.ts";
import { createSeededRng } from "../../support/seeded-rng.ts";
import { noLeases } from "../../unit/webhook/support/fake-cells.ts";
import { FakeCore } from "../../unit/webhook/support/fake-core.ts";
import { protector } from "../../unit/webhook/support/objects.ts";
import { settings } from "../../unit/webhook/support/replica.ts";
import { listenOnLoopback, tellParent } from "../processes/child.ts";
import { createBareServer } from "./bare-server.ts";

const protectorsCount = 10_000;

interface Files {
  readonly certFile: string;
  readonly keyFile: string;
}

async function startWebhook(tls: Files | undefined): Promise<number> {
  const clock = createSystemClock();
  const core = new FakeCore(clock);
  core.watches = false;
  for (let index = 0; index < protectorsCount; index += 1) {
    core.put(protector({ name: `app-${index}`, selector: { matchLabels: { app: `app-${index}` } } }));
  }
  const { fetch } = createWebhook({
    cores: [{ name: "core", client: core.client("core"), informer: core.informer(), cells: noLeases }],
    ...settings,
    clock,
    rng: createSeededRng(1),
    logger: silentLogger,
    metrics: createMetrics({ ofProcess: false, byNamespace: true, byUser: true }),
  });
  core.deliver();
  const listener = await listen({
    name: "webhook",
    fetch,
    bindAddress: "127.0.0.1",
    port: 0,
    portFlag: "webhook-http-port",
    ...(tls && { tls }),
    readHeaderTimeoutMs: 10_000,
    connectionsMax: 1000,
    clock,
    logger: silentLogger,
  });
  return listener.port;
}

function startBare(tls: Files | undefined): Promise<number> {
  return listenOnLoopback(
    createBareServer(tls && { cert: readFileSync(tls.certFile, "utf8"), key: readFileSync(tls.keyFile, "utf8") }),
  );
}

const [, , kind, certFile, keyFile] = process.argv;
const tls = certFile === undefined || keyFile === undefined ? undefined : { certFile, keyFile };
const port = kind === "bare" ? await startBare(tls) : await startWebhook(tls);
tellParent({ port });
process.on("message", () => {
  const { user, system } = process.cpuUsage();
  process.send?.({ cpuMicros: user + system });
});
