/**
 * Role processes of the program under test: `dist/podseidon`, or the sources when PODSEIDON_E2E_DEV=1. Every listener
 * gets a port of its own, so that any number of them run side by side.
 */
import { existsSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { type ManagedProcess, type ProcessExit, type ProcessSet } from "../../../scripts/child-processes.ts";
import { get, RoleProcess } from "../../../scripts/role-process.ts";
import { MetricsText } from "../clusters/metrics-text.ts";
import { freePorts, isPortTaken } from "../clusters/ports.ts";

/** A command with the arguments that come before the program's own. */
export interface Program {
  readonly command: string;
  readonly args: readonly string[];
  /** Flags of this release, without dashes, that it does not know: they are left out. */
  readonly unknownFlags?: readonly string[];
}

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
  /** Default: the program under test. */
  readonly program?: Program;
  /** The ports of an earlier process, for one that takes its place. Default: new ones. */
  readonly ports?: PodseidonPorts;
  /** Default two minutes; 0 = do not wait until it is ready. */
  readonly readyLimitMs?: number;
}

export interface PodseidonPorts {
  readonly health: number;
  readonly metrics: number;
  readonly webhook: number;
}

const root = fileURLToPath(new URL("../../../", import.meta.url));
const startAttemptsMax = 3;
/** A webhook that starts while an aggregator and the generator are away waits 90 s to know which cells are silent. */
const defaultReadyLimitMs = 120_000;
/** Ends an orderly stop that hangs: open reviews take at most 10 s by default. */
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

/** An aggregator is ready a settle window after its start. No request in a case takes so long. */
function startArgs(role: string): readonly string[] {
  return role.includes("aggregator") ? ["--aggregator-settle-window=10s"] : [];
}

/** New ports, one for each listener. */
export async function choosePorts(): Promise<PodseidonPorts> {
  const [health = 0, metrics = 0, webhook = 0] = await freePorts(3);
  return { health, metrics, webhook };
}

export class PodseidonProcess {
  readonly ports: PodseidonPorts;
  readonly #options: PodseidonOptions;
  readonly #role: RoleProcess;

  constructor(options: PodseidonOptions, ports: PodseidonPorts) {
    this.ports = ports;
    this.#options = options;
    const { processes, name, directory, role, env = {} } = options;
    const { command, args: before, unknownFlags = [] } = options.program ?? program();
    const known = options.args.filter((arg) => !unknownFlags.includes(arg.replace(/^--|=.*$/gs, "")));
    const own = [`--role=${role}`, ...listenerArgs(ports, options.tls), ...startArgs(role)];
    const args = [...before, ...own, ...known];
    this.#role = new RoleProcess({ processes, name, command, args, directory, env, healthPort: ports.health });
  }

  get process(): ManagedProcess {
    return this.#role.process;
  }

  /** `https://127.0.0.1:<port>`: the webhook's listener without path prefix and cell. */
  get webhookUrl(): string {
    return `https://127.0.0.1:${this.ports.webhook}`;
  }

  /** The answer of /readyz: code and text. */
  readyz(): Promise<{ readonly code: number; readonly text: string }> {
    return this.#role.readyz();
  }

  /**
   * Resolves when /readyz answers 200; throws when the process has ended or the time is up. `limitMs` 0 returns at
   * once.
   */
  async waitReady(limitMs: number): Promise<void> {
    if (limitMs > 0) await this.#role.waitReady({ limitMs });
  }

  async metrics(): Promise<MetricsText> {
    const { code, text } = await get(`http://127.0.0.1:${this.ports.metrics}/metrics`);
    if (code !== 200) throw new Error(`${this.#role.name}: /metrics answers ${code}`);
    return new MetricsText(text);
  }

  /** kill -9. */
  kill(): Promise<ProcessExit> {
    return this.#role.kill();
  }

  /** SIGTERM; SIGKILL when it does not end by itself. */
  terminate(): Promise<ProcessExit> {
    return this.#role.stop(stopGraceMs);
  }

  /**
   * A new process with the same arguments and ports, as a Deployment or systemd would start it. Call it when this one
   * has ended. `as`: another program, such as that of another release.
   */
  startAgain(as?: Program): Promise<PodseidonProcess> {
    return startPodseidon({ ...this.#options, ...(as && { program: as }), ports: this.ports });
  }

  /** One more process beside this one, with the same arguments, then those of `more`, on ports of its own. */
  startAnother(
    name: string,
    readyLimitMs = defaultReadyLimitMs,
    more: readonly string[] = [],
  ): Promise<PodseidonProcess> {
    const { ports: _, ...options } = this.#options;
    return startPodseidon({ ...options, name, args: [...options.args, ...more], readyLimitMs });
  }
}

/** What runs a role: the built file, or the sources. */
export function program(): Program {
  if (process.env["PODSEIDON_E2E_DEV"] === "1")
    return { command: process.execPath, args: [path.join(root, "src/main.ts")] };
  const command = path.join(root, "dist/podseidon");
  if (!existsSync(command)) throw new Error(`${command} does not exist: run "make build", or set PODSEIDON_E2E_DEV=1`);
  return { command, args: [] };
}

/** Listeners on loopback; the webhook's serves HTTPS only. */
export function listenerArgs(ports: PodseidonPorts, tls: PodseidonOptions["tls"]): readonly string[] {
  const args = [
    "--healthz-bind-addr=127.0.0.1",
    `--healthz-port=${ports.health}`,
    "--prometheus-http-bind-addr=127.0.0.1",
    `--prometheus-http-port=${ports.metrics}`,
  ];
  if (tls === undefined) return args;
  return [
    ...args,
    "--webhook-enable=false", // the plain HTTP listener
    "--webhook-https-enable=true",
    "--webhook-https-bind-addr=127.0.0.1",
    `--webhook-https-port=${ports.webhook}`,
    `--webhook-https-cert-file=${tls.certFile}`,
    `--webhook-https-key-file=${tls.keyFile}`,
  ];
}
