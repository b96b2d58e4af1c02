/**
 * Role processes of the program under test: `dist/podseidon`, or the sources when PODSEIDON_E2E_DEV=1. Every listener
 * gets a port of its own, so that any number of them run side by side.
 */
import { existsSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { request } from "undici";
import { type ManagedProcess, type ProcessExit, type ProcessSet } from "./child-processes.ts";
import { MetricsText } from "./metrics-text.ts";
import { freePorts, isPortTaken } from "./ports.ts";
import { GiveUp, waitFor } from "./wait.ts";

export interface PodseidonOptions {
  readonly processes: ProcessSet;
  /** Name in messages and of the log file. */
  readonly name: string;
  /** For the log file. */
  readonly directory: string;
  /** Value of --role: one role or a comma list. */
  readonly role: string;
  /** Further arguments. They come last, so they may repeat what is set here. */
  readonly args: readonly string[];
  /** Needed by the webhook role, which then serves HTTPS only. */
  readonly tls?: { readonly certFile: string; readonly keyFile: string };
  /** Added to the environment of the run, from which all PODSEIDON_ variables are taken out. */
  readonly env?: Readonly<Record<string, string>>;
  /** The ports of an earlier process, for one that takes its place. Default: new ones. */
  readonly ports?: PodseidonPorts;
  /** Default 30 s; 0 = do not wait until it is ready. */
  readonly readyLimitMs?: number;
}

export interface PodseidonPorts {
  readonly health: number;
  readonly metrics: number;
  readonly webhook: number;
}

const root = fileURLToPath(new URL("../../", import.meta.url));
const startAttemptsMax = 3;
const defaultReadyLimitMs = 30_000;
const probeTimeoutMs = 5_000;
/** Ends of an orderly stop: open reviews live for at most 10 s by default. */
const stopGraceMs = 20_000;

/** Starts a process and resolves when /readyz answers 200. Throws with the end of its log when it ends before that. */
export async function startPodseidon(options: PodseidonOptions): Promise<PodseidonProcess> {
  for (let attempt = 1; ; attempt++) {
    const podseidon = new PodseidonProcess(options, options.ports ?? (await choosePorts()));
    try {
      await podseidon.waitReady(options.readyLimitMs ?? defaultReadyLimitMs);
      return podseidon;
    } catch (error) {
      await podseidon.kill();
      // Only ports chosen here may be chosen again.
      const again = options.ports === undefined && attempt < startAttemptsMax && isPortTaken(podseidon.process.log());
      if (!again) throw error;
    }
  }
}

async function choosePorts(): Promise<PodseidonPorts> {
  const [health = 0, metrics = 0, webhook = 0] = await freePorts(3);
  return { health, metrics, webhook };
}

export class PodseidonProcess {
  readonly ports: PodseidonPorts;
  readonly process: ManagedProcess;
  readonly #options: PodseidonOptions;

  constructor(options: PodseidonOptions, ports: PodseidonPorts) {
    this.ports = ports;
    this.#options = options;
    const { command, args } = program();
    const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith("PODSEIDON_"));
    this.process = options.processes.start({
      name: options.name,
      command,
      args: [...args, `--role=${options.role}`, ...listenerArgs(ports, options), ...options.args],
      logFile: path.join(options.directory, `${options.name}.log`),
      env: { ...Object.fromEntries(inherited), ...options.env },
    });
  }

  /** `https://127.0.0.1:<port>`: the webhook's listener without path prefix and cell. */
  get webhookUrl(): string {
    return `https://127.0.0.1:${this.ports.webhook}`;
  }

  /** The answer of /readyz: code and text. */
  async readyz(): Promise<{ readonly code: number; readonly text: string }> {
    return get(`http://127.0.0.1:${this.ports.health}/readyz?verbose`);
  }

  /**
   * Resolves when /readyz answers 200; throws when the process has ended or the time is up. `limitMs` 0 returns at
   * once.
   */
  async waitReady(limitMs: number): Promise<void> {
    if (limitMs === 0) return;
    await waitFor(`${this.#options.name} is ready`, limitMs, async () => {
      const exit = this.process.exit();
      if (exit !== undefined) {
        const tail = this.process.log().trimEnd().split("\n").slice(-5).join("\n");
        throw new GiveUp(`${this.#options.name} ended with ${exit.code ?? exit.signal}:\n${tail}`);
      }
      return (await this.readyz()).code === 200;
    });
  }

  async metrics(): Promise<MetricsText> {
    const { code, text } = await get(`http://127.0.0.1:${this.ports.metrics}/metrics`);
    if (code !== 200) throw new Error(`${this.#options.name}: /metrics answers ${code}`);
    return new MetricsText(text);
  }

  /** kill -9. */
  async kill(): Promise<ProcessExit> {
    this.process.signal("SIGKILL");
    return this.process.exited;
  }

  /** SIGTERM; SIGKILL when it does not end by itself. */
  terminate(): Promise<ProcessExit> {
    return this.process.stop(stopGraceMs);
  }

  /**
   * A new process with the same arguments and ports, as a Deployment or systemd would start it. Call it when this one
   * has ended.
   */
  startAgain(): Promise<PodseidonProcess> {
    return startPodseidon({ ...this.#options, ports: this.ports });
  }
}

/** What runs a role: the built file, or the sources. */
export function program(): { command: string; args: readonly string[] } {
  if (process.env["PODSEIDON_E2E_DEV"] === "1")
    return { command: process.execPath, args: [path.join(root, "src/main.ts")] };
  const command = path.join(root, "dist/podseidon");
  if (!existsSync(command)) throw new Error(`${command} does not exist: run "make build", or set PODSEIDON_E2E_DEV=1`);
  return { command, args: [] };
}

function listenerArgs(ports: PodseidonPorts, options: PodseidonOptions): readonly string[] {
  const args = [
    "--healthz-bind-addr=127.0.0.1",
    `--healthz-port=${ports.health}`,
    "--prometheus-http-bind-addr=127.0.0.1",
    `--prometheus-http-port=${ports.metrics}`,
  ];
  if (options.tls === undefined) return args;
  return [
    ...args,
    "--webhook-enable=false", // the plain HTTP listener
    "--webhook-https-enable=true",
    "--webhook-https-bind-addr=127.0.0.1",
    `--webhook-https-port=${ports.webhook}`,
    `--webhook-https-cert-file=${options.tls.certFile}`,
    `--webhook-https-key-file=${options.tls.keyFile}`,
  ];
}

async function get(url: string): Promise<{ code: number; text: string }> {
  const response = await request(url, { headersTimeout: probeTimeoutMs, bodyTimeout: probeTimeoutMs });
  return { code: response.statusCode, text: await response.body.text() };
}
