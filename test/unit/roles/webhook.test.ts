/** The role over a real listener, stopped while reviews are in flight (docs/webhook.md#shutdown). */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import https from "node:https";
import path from "node:path";
import { test, type TestContext } from "node:test";
import { loadConfig } from "../../../src/config/index.ts";
import { KubeError, type KubeClient } from "../../../src/kube/kube-client.ts";
import { type HealthCheck } from "../../../src/lifecycle/component.ts";
import { createServer, type DropReason } from "../../../src/server/index.ts";
import { createWebhook } from "../../../src/roles/webhook.ts";
import { type Authority, createAuthority, createPem, temporaryFolder, writePem } from "../server/certificates.ts";
import { createSeededRng } from "../../support/seeded-rng.ts";
import { createVirtualClock, type VirtualClock } from "../../support/virtual-clock.ts";
import { cell, deleteReview, type Json, pod, protector } from "../webhook/support/objects.ts";
import { RecordedLog, RecordedMetrics } from "../webhook/support/replica.ts";

const object: Json = {
  ...protector({ cells: [cell("c1", 100)] }),
  metadata: { namespace: "ns", name: "web", uid: "u", resourceVersion: "10", generation: 1 },
};

/** Streams one PodProtector and then nothing; a PUT waits until `release` is called. */
function slowCore() {
  const gate = Promise.withResolvers<void>();
  const state = { isWriting: false };
  const client: KubeClient = {
    cluster: "core",
    async request(request) {
      if (request.method !== "PUT") throw new KubeError("serverError", "only writes here");
      state.isWriting = true;
      await gate.promise;
      return { ...(request.body as Json), metadata: { ...(object["metadata"] as Json), resourceVersion: "11" } };
    },
    stream: async (request) => initialEvents(request.signal),
    close: () => Promise.resolve(),
  };
  return { client, state, release: () => gate.resolve() };
}

async function* initialEvents(signal: AbortSignal | undefined): AsyncGenerator<Uint8Array> {
  const end = { resourceVersion: "10", annotations: { "k8s.io/initial-events-end": "true" } };
  const events = [
    { type: "ADDED", object },
    {
      type: "BOOKMARK",
      object: { kind: "PodProtector", apiVersion: "podseidon.kubewharf.io/v1alpha1", metadata: end },
    },
  ];
  yield new TextEncoder().encode(events.map((event) => `${JSON.stringify(event)}\n`).join(""));
  await new Promise((resolve) => signal?.addEventListener("abort", resolve, { once: true }));
  throw new KubeError("aborted", "aborted");
}

async function until(clock: VirtualClock, condition: () => boolean): Promise<void> {
  // Turns of the event loop, for sockets on loopback; far more than ever needed.
  for (let turn = 0; turn < 100_000 && !condition(); turn++) await clock.advance(0);
  assert.ok(condition(), "waited in vain");
}

/** The components of the role, not started. */
async function createRole(argv: readonly string[]) {
  const clock = createVirtualClock();
  const log = new RecordedLog();
  const metrics = new RecordedMetrics();
  const core = slowCore();
  const checks = new Map<string, HealthCheck>();
  let drop: (reason: DropReason) => void = () => assert.fail("no server was made");
  const loaded = loadConfig({
    argv: ["--role=webhook", "--webhook-port=0", "--webhook-bind-addr=127.0.0.1", ...argv],
    env: {},
    readFile: () => "",
  });
  assert.ok(loaded.kind === "config");
  const components = await createWebhook({
    config: loaded.config,
    productVersion: "1.0.0",
    clock,
    rng: createSeededRng(1),
    logger: log,
    metrics,
    health: { register: (name, check) => void checks.set(name, check) },
    createServer(options) {
      drop = (reason) => options.onDropped?.(reason);
      return createServer(options);
    },
    clients: {
      core: async () => core.client,
      coreHeartbeat: () => Promise.reject(new Error("a webhook sends no heartbeats")),
      coreElection: () => Promise.reject(new Error("a webhook elects nobody")),
      workerElection: () => Promise.reject(new Error("a webhook elects nobody")),
      worker: () => Promise.reject(new Error("no worker")),
      connect: () => Promise.reject(new Error("no other cluster")),
    },
  });
  const port = (): number => Number(log.lines.find(({ message }) => message === "Listening")?.fields["port"]);
  return { clock, log, metrics, core, checks, components, port, drop };
}

test(
  "a webhook that stops keeps serving while endpoints drain, answers the review in flight, and closes",
  { timeout: 20_000 },
  async () => {
    const { clock, core, log, checks, components, port } = await createRole(["--webhook-drain-delay=2s"]);
    assert.deepEqual(
      components.map(({ name }) => name),
      ["podprotector-indexed-informer-", "webhook-handler", "webhook"],
    );
    const synced = checks.get("podprotector-indexed-informer-/informers-synced");
    assert.ok(synced !== undefined);
    assert.match(synced() ?? "", /not synced yet/);
    for (const component of components) await component.start();
    await until(clock, () => synced() === undefined);
    assert.deepEqual(
      log.lines.filter(({ message }) => message.startsWith("Synced")),
      [{ level: "info", message: "Synced the PodProtectors, answering reviews", fields: { podProtectors: 1 } }],
    );
    const ends: (string | null)[] = [];
    const review = async (name: string): Promise<boolean> => {
      const response = await fetch(`http://127.0.0.1:${port()}/c1?timeout=10s`, {
        method: "POST",
        body: JSON.stringify(deleteReview(pod(name, name === "unready" ? { ready: false } : {}))),
      });
      ends.push(response.headers.get("connection"));
      return ((await response.json()) as { response: { allowed: boolean } }).response.allowed;
    };

    assert.equal(await review("unready"), true);
    assert.deepEqual(ends.splice(0), ["keep-alive"]);
    const underWay = review("p");
    await until(clock, () => core.state.isWriting);
    const state = { isStopped: false };
    const stopping = (async () => {
      for (const component of components.toReversed()) await component.stop();
      state.isStopped = true;
    })();
    assert.equal(await review("unready"), true, "served after the signal");
    await clock.advance(1_999);
    assert.equal(await review("unready"), true, "served until the end of the delay");
    assert.deepEqual(ends.splice(0), ["close", "close"], "clients go to another replica before the port closes");
    await clock.advance(1);
    await assert.rejects(review("unready"), "nothing new is accepted after the wait");
    assert.equal(state.isStopped, false);
    core.release();
    assert.equal(await underWay, true);
    await until(clock, () => state.isStopped);
    await stopping;
    assert.equal(clock.pendingTimers, 0);
  },
);

test("a webhook warns of cells at its start", async () => {
  const { log } = await createRole(["--webhook-allowed-cells=Tokyo,osaka"]);
  assert.deepEqual(log.lines[0]?.fields, { cells: ["Tokyo"] });
});

/** A webhook over HTTPS whose clients need a certificate of `authority`, and what it answers. */
async function openWithClients(t: TestContext, authority: Authority, flags: readonly string[]) {
  const folder = temporaryFolder(t);
  const { certFile, keyFile } = writePem(folder, await createPem("webhook"));
  const caFile = path.join(folder, "ca.crt");
  writeFileSync(caFile, authority.cert);
  const { clock, log, metrics, components, port } = await createRole([
    "--webhook-enable=false",
    "--webhook-https-enable",
    "--webhook-https-bind-addr=127.0.0.1",
    "--webhook-https-port=0",
    `--webhook-https-cert-file=${certFile}`,
    `--webhook-https-key-file=${keyFile}`,
    `--webhook-client-ca-file=${caFile}`,
    "--webhook-drain-delay=0",
    ...flags,
  ]);
  for (const component of components) await component.start();
  t.after(async () => {
    const stopping = (async () => {
      for (const component of components.toReversed()) await component.stop();
    })();
    await clock.advance(60_000);
    await stopping;
  });
  const answerOf = (cell: string, options: https.RequestOptions = {}): Promise<Answer> =>
    new Promise((resolve, reject) => {
      const url = `https://127.0.0.1:${port()}/${cell}`;
      const sent = https.request(url, { method: "POST", rejectUnauthorized: false, agent: false, ...options });
      sent.on("error", reject).on("response", (response) => {
        let text = "";
        response.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
        response.on("end", () => resolve({ status: response.statusCode, text }));
      });
      sent.end(JSON.stringify(deleteReview(pod("p", { ready: false }))));
    });
  return { log, metrics, answerOf };
}

interface Answer {
  readonly status: number | undefined;
  readonly text: string;
}

test("clients without a certificate get a 401; each is counted, and logged once", async (t) => {
  const authority = await createAuthority("ours");
  const flags = ["--webhook-client-allowed-names=apiserver", "--webhook-allowed-cells=c1"];
  const { log, metrics, answerOf } = await openWithClients(t, authority, flags);
  const statusOf = async (cell: string, options?: https.RequestOptions) => (await answerOf(cell, options)).status;
  assert.equal(await statusOf("c1", await authority.issue("apiserver")), 200);
  assert.equal(await statusOf("c2", await authority.issue("apiserver")), 404);
  assert.equal(await statusOf("c1"), 401);
  assert.equal(await statusOf("c1"), 401);
  assert.equal(await statusOf("c1", await authority.issue("other")), 403);
  assert.equal(metrics.count('webhook_client_rejection_total{code="401"}'), 2);
  assert.equal(metrics.count('webhook_client_rejection_total{code="403"}'), 1);
  assert.equal(log.lines.filter(({ message }) => message === "Client rejected").length, 1);
});

test("a client that speaks for the cell of another one gets a 403 that the API server can quote", async (t) => {
  const authority = await createAuthority("ours");
  const flags = ["--webhook-client-cells=one=c1,two=c2"];
  const { log, metrics, answerOf } = await openWithClients(t, authority, flags);
  const one = await authority.issue("one");
  assert.equal((await answerOf("c1", one)).status, 200);
  const { status, text } = await answerOf("c2", one);
  assert.equal(status, 403);
  const message = 'the client "one" may not speak for the cell "c2" (--webhook-client-cells); allowed: "c1"';
  assert.deepEqual(JSON.parse(text), {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Failure",
    message,
    reason: "Forbidden",
    code: 403,
  });
  assert.equal(metrics.count('webhook_http_error{cell="c2",error="CellNotOfClient"}'), 1);
  assert.deepEqual(log.lines.at(-1), {
    level: "warn",
    message: "Client spoke for a cell that is not its own",
    fields: { cell: "c2", reason: message },
  });
  const stranger = await answerOf("c1", await authority.issue("three"));
  assert.equal(stranger.status, 403, "a certificate of the authority that is bound to no cell");
  assert.match(stranger.text, /none of its names is allowed: \\"three\\" \(--webhook-client-cells, /);
});

test("a webhook that has no room for a connection is not ready for ten seconds", async () => {
  const { clock, checks, metrics, drop } = await createRole([]);
  const check = checks.get("webhook-connections");
  assert.ok(check !== undefined);
  for (const reason of ["displaced", "address", "pipelined"] as const) drop(reason);
  assert.equal(check(), undefined);
  drop("full");
  assert.equal(check(), "all 5000 connections are in use");
  await clock.advance(10_000);
  assert.equal(check(), undefined);
  assert.equal(metrics.count('webhook_connection_drop_total{reason="full"}'), 1);
});
