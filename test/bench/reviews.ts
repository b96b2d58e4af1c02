/** Reviews per second of pods that no PodProtector selects: nearly all reviews of a fleet. Compared with a bare server in the same run, with and without TLS. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { Pool } from "undici";
import { createPem, writePem } from "../observability/certificates.ts";
import { deleteReview, pod } from "../webhook/support/objects.ts";
import { quantile, type Row } from "./row.ts";

/** Connections that are kept, each with one review at a time, as an API server has them. */
const inFlight = 64;
const roundMs = 2000;
const rounds = 5;
const warmUpMs = 1500;

interface Server {
  readonly pool: Pool;
  /** CPU time so far, in microseconds. */
  cpuMicros(): Promise<number>;
  stop(): void;
}

interface Load {
  readonly perSecond: number;
  readonly cpuMicrosEach: number;
  readonly latenciesMs: readonly number[];
}

export async function measureReviews(say: (line: string) => void): Promise<Row[]> {
  const folder = mkdtempSync(path.join(os.tmpdir(), "podseidon-bench-"));
  try {
    const pem = await createPem("localhost");
    const { certFile, keyFile } = writePem(folder, pem);
    return [await compare("HTTP", [], undefined, say), await compare("HTTPS", [certFile, keyFile], pem.cert, say)];
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function compare(
  scheme: "HTTP" | "HTTPS",
  files: readonly string[],
  ca: string | undefined,
  say: (line: string) => void,
): Promise<Row> {
  const webhook = await startServer("webhook", files, ca);
  const bare = await startServer("bare", files, ca);
  const body = JSON.stringify(unmatchedReview());
  const loads = { webhook: [] as Load[], bare: [] as Load[] };
  try {
    const [own, other] = [await answerOf(webhook.pool, body), await answerOf(bare.pool, body)];
    if (own !== other) throw new Error(`different answers are compared: ${own} and ${other}`);
    await load(webhook, body, warmUpMs);
    await load(bare, body, warmUpMs);
    // In turns, so that what else the machine does hits both.
    for (let round = 1; round <= rounds; round += 1) {
      say(`unmatched reviews over ${scheme}: round ${round} of ${rounds}`);
      loads.webhook.push(await load(webhook, body, roundMs));
      loads.bare.push(await load(bare, body, roundMs));
    }
  } finally {
    webhook.stop();
    bare.stop();
  }
  const ratios = loads.webhook.map(({ perSecond }, round) => perSecond / (loads.bare[round]?.perSecond ?? Number.NaN));
  return {
    what: `unmatched reviews of ${(body.length / 1000).toFixed(1)} kB over ${scheme}, 10,000 protectors, ${inFlight} in flight`,
    figure: figureOf(loads.webhook),
    comparedWith: `bare node:${scheme.toLowerCase()} ${figureOf(loads.bare)}`,
    ratio: quantile(ratios, 0.5),
  };
}

function figureOf(loads: readonly Load[]): string {
  const perSecond = Math.round(
    quantile(
      loads.map((one) => one.perSecond),
      0.5,
    ),
  );
  const cpuMicros = quantile(
    loads.map((one) => one.cpuMicrosEach),
    0.5,
  );
  const latencies = loads.flatMap(({ latenciesMs }) => latenciesMs);
  const [p50, p99] = [quantile(latencies, 0.5), quantile(latencies, 0.99)];
  return `${perSecond}/s, ${cpuMicros.toFixed(1)} µs of CPU each, p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms`;
}

async function startServer(
  kind: "webhook" | "bare",
  files: readonly string[],
  ca: string | undefined,
): Promise<Server> {
  const script = fileURLToPath(new URL("review-server.ts", import.meta.url));
  const child = fork(script, [kind, ...files], { stdio: "inherit" });
  const { port } = await messageOf<{ port: number }>(child);
  const pool = new Pool(`${ca === undefined ? "http" : "https"}://localhost:${port}`, {
    connections: inFlight,
    connect: { family: 4, ...(ca !== undefined && { ca }) },
  });
  return {
    pool,
    async cpuMicros() {
      child.send("usage");
      return (await messageOf<{ cpuMicros: number }>(child)).cpuMicros;
    },
    stop() {
      void pool.destroy();
      child.disconnect();
    },
  };
}

async function messageOf<T>(child: ChildProcess): Promise<T> {
  const [message] = (await once(child, "message", { signal: AbortSignal.timeout(20_000) })) as [T];
  return message;
}

async function load(server: Server, body: string, durationMs: number): Promise<Load> {
  const latenciesMs: number[] = [];
  const cpuMicrosBefore = await server.cpuMicros();
  const startMs = performance.now();
  const one = async (): Promise<void> => {
    while (performance.now() - startMs < durationMs) {
      const sentMs = performance.now();
      await answerOf(server.pool, body);
      latenciesMs.push(performance.now() - sentMs);
    }
  };
  await Promise.all(Array.from({ length: inFlight }, one));
  const elapsedMs = performance.now() - startMs;
  const cpuMicros = (await server.cpuMicros()) - cpuMicrosBefore;
  return {
    perSecond: (latenciesMs.length / elapsedMs) * 1000,
    cpuMicrosEach: cpuMicros / latenciesMs.length,
    latenciesMs,
  };
}

async function answerOf(pool: Pool, body: string): Promise<string> {
  const { statusCode, body: answer } = await pool.request({
    method: "POST",
    path: "/c1?timeout=10s",
    headers: { "content-type": "application/json" },
    body,
  });
  const text = await answer.text();
  if (statusCode !== 200 || !text.includes('"allowed":true')) throw new Error(`answered ${statusCode}: ${text}`);
  return text;
}

/** The deletion of a pod as API servers send it: its managed fields, one container with settings, its conditions. */
function unmatchedReview(): object {
  const stranger = pod("stranger-5d4f8c7b9d-x2x4z", { labels: { app: "nobody", "pod-template-hash": "5d4f8c7b9d" } });
  const at = "2026-01-02T03:04:05Z";
  const paths = (names: readonly string[]): object => Object.fromEntries(names.map((name) => [`f:${name}`, {}]));
  const managedFields = [
    { manager: "kube-controller-manager", fieldsV1: { "f:spec": paths(["affinity", "containers", "dnsPolicy"]) } },
    { manager: "kubelet", fieldsV1: { "f:status": paths(["conditions", "hostIP", "phase", "podIP", "startTime"]) } },
  ].map((entry) => ({ ...entry, operation: "Update", apiVersion: "v1", time: at, fieldsType: "FieldsV1" }));
  const ownerReferences = [{ apiVersion: "apps/v1", kind: "ReplicaSet", name: "stranger-5d4f8c7b9d", uid: "u" }];
  const probe = { httpGet: { path: "/healthz", port: 8080, scheme: "HTTP" }, periodSeconds: 10, failureThreshold: 3 };
  const env = Array.from({ length: 14 }, (_, index) => ({
    name: `SETTING_${index}`,
    value: `value ${index} of the app`,
  }));
  const container = {
    name: "main",
    image: "images.example.com/shop/web:v1.2.3",
    env,
    resources: { limits: { cpu: "2", memory: "4Gi" }, requests: { cpu: "1", memory: "2Gi" } },
    livenessProbe: probe,
    readinessProbe: probe,
    volumeMounts: [
      { name: "kube-api-access", readOnly: true, mountPath: "/var/run/secrets/kubernetes.io/serviceaccount" },
    ],
  };
  const toleration = { operator: "Exists", effect: "NoExecute", tolerationSeconds: 300 };
  const spec = {
    nodeName: "node-0123.example.internal",
    serviceAccountName: "web",
    restartPolicy: "Always",
    containers: [container],
    tolerations: ["not-ready", "unreachable"].map((key) => ({ key: `node.kubernetes.io/${key}`, ...toleration })),
  };
  const metadata = { ...(stranger["metadata"] as object), creationTimestamp: at, ownerReferences, managedFields };
  const containerStatus = { name: "main", ready: true, restartCount: 0, state: { running: { startedAt: at } } };
  const status = {
    ...(stranger["status"] as object),
    hostIP: "10.0.0.1",
    podIP: "10.1.0.1",
    containerStatuses: [containerStatus],
  };
  const groups = ["system:serviceaccounts", "system:serviceaccounts:kube-system", "system:authenticated"];
  const username = "system:serviceaccount:kube-system:replicaset-controller";
  return deleteReview(
    { ...stranger, metadata, spec, status },
    {
      uid: "705ab4f5-6393-11e8-b7cc-42010a800002",
      kind: { group: "", version: "v1", kind: "Pod" },
      requestKind: { group: "", version: "v1", kind: "Pod" },
      requestResource: { group: "", version: "v1", resource: "pods" },
      userInfo: { username, uid: "e1b7a2c4-9d3f-4a5b-8c6d-7e8f9a0b1c2d", groups },
    },
  );
}
