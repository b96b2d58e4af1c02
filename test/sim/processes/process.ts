/**
 * A process of the product in the simulation: the same composition as main.ts's, on a simulated machine. Started,
 * killed at any moment, stopped in good order, started again; each start is a new node with nothing remembered.
 */
import { type Config } from "../../../src/config/index.ts";
import { type Component, type HealthCheck } from "../../../src/lifecycle/component.ts";
import { type ServerOptions } from "../../../src/server/index.ts";
import { type Limits, type Runtime } from "../../../src/roles/runtime.ts";
import { type Logger } from "../../../src/util/logger.ts";
import { loadGood } from "../../unit/config/load.ts";
import { type Kernel } from "../kernel/kernel.ts";
import { type ClockSettings, SimNode } from "../kernel/node.ts";
import { SimDispatcher, type WireServers } from "../network/dispatcher.ts";
import { type Network } from "../network/network.ts";
import { Gauges } from "./gauges.ts";
import { presentRelease, type Release, type RoleName } from "./release.ts";

export interface ProcessOptions {
  /** Also the name of its nodes: partitions last over restarts. */
  readonly name: string;
  readonly role: RoleName;
  readonly argv: readonly string[];
  /** Undefined = those of production. */
  readonly limits: Limits | undefined;
  readonly clock: ClockSettings;
  readonly kernel: Kernel;
  readonly network: Network;
  readonly servers: WireServers;
}

export class SimProcess {
  readonly options: ProcessOptions;
  readonly name: string;
  /** Flags that somebody has changed since; they hold from the next start on. */
  settings: readonly string[] = [];
  /** What it runs from the next start on. */
  release: Release = presentRelease;
  #node: SimNode | undefined;
  #components: readonly Component[] = [];
  #checks: HealthCheck[] = [];
  /** What the process serves over HTTP: set while it listens. */
  #fetch: ServerOptions["fetch"] | undefined;
  #gauges = new Gauges();
  /** The kernel's event in which the gauges were read at rest. */
  #readTurn = -1;
  #starts = 0;
  #running: Release = presentRelease;

  constructor(options: ProcessOptions) {
    this.options = options;
    this.name = options.name;
  }

  /** The node since the last start; undefined while the process is down. */
  node(): SimNode | undefined {
    return this.#node;
  }

  /** What it has run since its last start, also while it stops. */
  get running(): Release {
    return this.#running;
  }

  /** The running server's entry, to be called now or by the node; undefined while nobody listens. */
  fetch(): ServerOptions["fetch"] | undefined {
    this.#node?.woken();
    return this.#fetch;
  }

  /** Since the last start: by name, with the values of the labels behind it. */
  gauges(): ReadonlyMap<string, number> {
    return this.#gauges.read();
  }

  /**
   * As gauges(), of those that only the process's own code changes: it is asked again when some of that has run since.
   * What runs in this very event may go on after the reading.
   */
  gaugesAtRest(): ReadonlyMap<string, number> {
    if ((this.#node?.lastTurn ?? 0) < this.#readTurn) return this.#gauges.values;
    this.#readTurn = this.options.kernel.turns;
    return this.#gauges.read();
  }

  isReady(): boolean {
    return this.#node !== undefined && this.#checks.every((check) => check() === undefined);
  }

  async start(): Promise<void> {
    const { name, role, kernel, network, clock, servers, limits } = this.options;
    const node = new SimNode(kernel, name, clock);
    this.#starts += 1;
    this.#node = node;
    this.#checks = [];
    const gauges = new Gauges();
    this.#gauges = gauges;
    const { release } = this;
    this.#running = release;
    const flags = overridden(this.options.argv, this.settings);
    const argv = [`--role=${role}`, ...flags.filter((flag) => !release.unknownFlags.includes(nameOf(flag)))];
    const config: Config = loadGood(argv, {}, release.loadConfig);
    const dispatcher = new SimDispatcher(network, node, servers);
    const shared = {
      config,
      clock: node.clock,
      // The text decides what is drawn: with another one every seed is another world.
      rng: kernel.rng(`${name} life ${this.#starts}`),
      logger: createLogger(kernel, name),
      metrics: gauges.metrics,
      dispatchers: () => ({ requests: dispatcher, streams: dispatcher }),
    };
    const clients = release.createClients(shared);
    const runtime: Runtime = {
      ...shared,
      productVersion: "1.0.0",
      clients,
      ...(limits === undefined ? {} : { limits }),
      // A world begins in the midst of a good day.
      hasBeenUp: this.#starts === 1,
      health: { register: (_name, check) => void this.#checks.push(check) },
      createServer: ({ fetch }) => ({
        name: "webhook",
        start: async () => {
          if (node.isAlive) this.#fetch = fetch;
        },
        disableKeepAlive: () => undefined, // each request has a connection of its own here
        stop: async () => {
          if (this.#node === node) this.#fetch = undefined;
        },
      }),
    };
    const components = [clients, ...(await release.roles[role](runtime))];
    if (!node.isAlive) return;
    this.#components = components;
    for (const component of components) await component.start();
  }

  /** kill -9: connections are reset, and nothing of it ever runs again. */
  kill(): void {
    const node = this.#node;
    if (node === undefined) return;
    this.options.kernel.note(`${this.name} killed`);
    node.kill();
    this.#end();
    this.options.network.resetConnectionsOf(node);
  }

  /** SIGTERM: resolves when everything has stopped. */
  async stop(): Promise<void> {
    const node = this.#node;
    if (node === undefined) return;
    this.options.kernel.note(`${this.name} stopping`);
    for (const component of this.#components.toReversed()) {
      if (!node.isAlive) return;
      node.woken();
      await component.stop();
    }
    if (this.#node !== node) return;
    node.kill();
    this.#end();
    this.options.network.resetConnectionsOf(node);
  }

  #end(): void {
    this.#node = undefined;
    this.#fetch = undefined;
    this.#components = [];
    this.#checks = [];
  }
}

function nameOf(flag: string): string {
  return flag.split("=", 1)[0] ?? flag;
}

/** The flags with the changed ones in the place of their former selves. */
function overridden(argv: readonly string[], settings: readonly string[]): readonly string[] {
  const changed = new Set(settings.map(nameOf));
  return [...argv.filter((flag) => !changed.has(nameOf(flag))), ...settings];
}

/** Warnings and errors of the product belong to the story of a run. What it calls its own bug ends it. */
function createLogger(kernel: Kernel, name: string): Logger {
  const write = (level: string, message: string, fields: Readonly<Record<string, unknown>> = {}): void => {
    const { err, ...rest } = fields;
    const why = err instanceof Error ? ` ${err.message}` : "";
    kernel.note(`${name} ${level}: ${message}${why} ${JSON.stringify(rest)}`);
  };
  const logger: Logger = {
    error: (message, fields) => {
      write("error", message, fields);
      if (message.includes("by a bug")) kernel.fail(`${name} says: ${message}`);
    },
    warn: (message, fields) => write("warn", message, fields),
    info() {},
    verbose() {},
    isVerbose: () => false,
    with: () => logger,
  };
  return logger;
}
