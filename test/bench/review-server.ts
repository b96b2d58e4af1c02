/**
 * A child process of the benchmark that answers AdmissionReviews on loopback and prints its port: "webhook" is the webhook as production
 * puts it together, over a core of ten thousand PodProtectors; "bare" is the least that Node can do, parse the review and allow it.
 */
import { createServer } from "node:http";
import { type AddressInfo } from "node:net";
import { createMetrics, listen } from "../../src/observability/index.ts";
import { silentLogger } from "../../src/util/logger.ts";
import { createSystemClock } from "../../src/util/system-clock.ts";
import { createSeededRng } from "../support/seeded-rng.ts";
import { createWebhook } from "../../src/webhook/index.ts";
import { settings } from "../webhook/support/replica.ts";
import { FakeCore } from "../webhook/support/fake-core.ts";
import { protector } from "../webhook/support/objects.ts";

const protectorsCount = 10_000;

async function startWebhook(): Promise<number> {
  const clock = createSystemClock();
  const core = new FakeCore(clock);
  core.watches = false;
  for (let index = 0; index < protectorsCount; index += 1) {
    core.put(protector({ name: `app-${index}`, selector: { matchLabels: { app: `app-${index}` } } }));
  }
  const { app } = createWebhook({
    cores: [{ name: "core", client: core.client("core"), informer: core.informer() }],
    ...settings,
    clock,
    rng: createSeededRng(1),
    logger: silentLogger,
    metrics: createMetrics({ ofProcess: false, byNamespace: true, byUser: true }),
  });
  core.deliver();
  const listener = await listen({
    name: "webhook",
    fetch: (request, bindings) => app.fetch(request, bindings),
    bindAddress: "127.0.0.1",
    port: 0,
    portFlag: "webhook-http-port",
    readHeaderTimeoutMs: 0,
    connectionsMax: 1000,
    clock,
    logger: silentLogger,
  });
  return listener.port;
}

async function startBare(): Promise<number> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const { request: asked } = JSON.parse(Buffer.concat(chunks).toString()) as { request: { uid: string } };
      const answer = {
        kind: "AdmissionReview",
        apiVersion: "admission.k8s.io/v1",
        response: { uid: asked.uid, allowed: true },
      };
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify(answer));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return (server.address() as AddressInfo).port;
}

const port = process.argv[2] === "bare" ? await startBare() : await startWebhook();
process.send?.({ port });
process.on("disconnect", () => process.exit(0));
