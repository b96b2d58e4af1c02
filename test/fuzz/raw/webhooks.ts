/**
 * The two webhook processes under test, with the API double as their core: one with every listener that serves anybody,
 * HTTP and HTTPS, and one that asks for client certificates, beside which plain HTTP is forbidden.
 */
import { mkdtempSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { ProcessSet } from "../../../scripts/child-processes.ts";
import { issueClientCertificate, issueServerCertificate } from "../../../src/certificates/index.ts";
import { startCore } from "../../attack/core.ts";
import { freePorts } from "../../e2e/clusters/ports.ts";
import { collectorText } from "../../support/garbage-collector.ts";
import { type PodseidonProcess, startPodseidon } from "../../e2e/fleet/process.ts";
import { type KeyPair, type Reach } from "./play-connection.ts";

/** The heap of the manifests. */
const heapMB = 512;
const dayMs = 24 * 3_600_000;

export interface Webhooks {
  readonly processes: readonly PodseidonProcess[];
  readonly reach: Reach;
  /** For the logs. */
  readonly directory: string;
  readonly close: () => Promise<void>;
}

export async function startWebhooks(): Promise<Webhooks> {
  const directory = mkdtempSync(path.join(os.tmpdir(), "podseidon-fuzz-"));
  const processes = new ProcessSet();
  const killAll = (): void => processes.killAll();
  process.on("exit", killAll);
  const core = await startCore();
  const close = async (): Promise<void> => {
    await processes.end();
    await core.close();
    process.off("exit", killAll);
  };
  try {
    core.writeKubeconfig(path.join(directory, "kubeconfig"));
    const clients = await writeCertificates(directory);
    const file = (name: string): string => path.join(directory, name);
    writeFileSync(file("collector.cjs"), collectorText);
    const tls = { certFile: file("tls.crt"), keyFile: file("tls.key") };
    const common = {
      processes,
      directory,
      role: "webhook",
      env: { NODE_OPTIONS: `--max-old-space-size=${heapMB} --require=${file("collector.cjs")}` },
    };
    const args = [
      `--core-kube-config=${file("kubeconfig")}`,
      "--silent-cell-policy=keep",
      "--webhook-worker-client-provider=single",
      `--webhook-worker-client-provider.single-kube-config=${file("kubeconfig")}`,
    ];
    const [http = 0, healthTLS = 0, metricsTLS = 0] = await freePorts(3);
    const open = await startPodseidon({
      ...common,
      name: "open",
      tls,
      args: [
        ...args,
        "--webhook-enable=true",
        "--webhook-bind-addr=127.0.0.1",
        `--webhook-port=${http}`,
        ...httpsArgs("healthz", healthTLS, tls),
        ...httpsArgs("prometheus-http", metricsTLS, tls),
      ],
    });
    const mutual = await startPodseidon({
      ...common,
      name: "mutual",
      tls,
      args: [...args, `--webhook-client-ca-file=${file("client-ca.crt")}`],
    });
    const { webhook: https, health, metrics } = open.ports;
    const ports = { http, https, mutual: mutual.ports.webhook, health, metrics, healthTLS, metricsTLS };
    return { processes: [open, mutual], reach: { ports, clients }, directory, close };
  } catch (error) {
    await close();
    throw error;
  }
}

function httpsArgs(
  prefix: string,
  port: number,
  tls: { readonly certFile: string; readonly keyFile: string },
): string[] {
  return [
    `--${prefix}-https-enable=true`,
    `--${prefix}-https-bind-addr=127.0.0.1`,
    `--${prefix}-https-port=${port}`,
    `--${prefix}-https-cert-file=${tls.certFile}`,
    `--${prefix}-https-key-file=${tls.keyFile}`,
  ];
}

/** The webhook knows the authorities of the valid and of the expired client, not that of the foreign one. */
async function writeCertificates(directory: string): Promise<Reach["clients"]> {
  const now = new Date();
  const before = new Date(now.getTime() - 10 * dayMs);
  const server = await issueServerCertificate({ dnsNames: ["webhook"], ipAddresses: ["127.0.0.1"], days: 2, now });
  const valid = await issueClientCertificate({ client: "worker-1", days: 2, now });
  const foreign = await issueClientCertificate({ client: "worker-1", days: 2, now });
  const expired = await issueClientCertificate({ client: "worker-1", days: 1, now: before });
  const files = {
    "tls.crt": server.certificate,
    "tls.key": server.privateKey,
    "client-ca.crt": valid.caCertificate + expired.caCertificate,
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(path.join(directory, name), text);
  const pair = ({ certificate, privateKey }: typeof valid): KeyPair => ({ cert: certificate, key: privateKey });
  return { valid: pair(valid), foreign: pair(foreign), expired: pair(expired) };
}
