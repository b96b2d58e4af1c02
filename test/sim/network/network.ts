/**
 * The network between nodes: connections that keep the order of what they carry in each direction, with delays, cuts
 * and resets. What is sent over a cut link waits, as TCP repeats it, until the link is whole or an end gives up. Two
 * connections know nothing of each other's order.
 */
import { type Rng } from "../../../src/util/rng.ts";
import { type Kernel } from "../kernel/kernel.ts";
import { type SimNode } from "../kernel/node.ts";

/** What the links are like; a world changes it as it goes. */
export interface LinkWeather {
  /** One way, in milliseconds: the least, and the mean of what comes on top (exponential). */
  latencyMs: { readonly least: number; readonly meanExtra: number };
  /** Probability that a message is held up, as by a lost packet, and the mean of how long. */
  hiccup: { readonly rate: number; readonly meanMs: number };
  /** Probability that a message breaks its connection off instead. */
  resetRate: number;
}

/** TCP repeats lost packets after 0.2 s at first, then less often. */
const repeatMs = 500;

export class Network {
  readonly kernel: Kernel;
  readonly weather: LinkWeather;
  readonly #rng: Rng;
  readonly #connections = new Set<Connection>();
  /** "from>to" by names of nodes. */
  readonly #cuts = new Set<string>();

  constructor(kernel: Kernel, weather: LinkWeather) {
    this.kernel = kernel;
    this.weather = weather;
    this.#rng = kernel.rng("network");
  }

  /** Cuts one direction. */
  cut(from: string, to: string): void {
    this.#cuts.add(`${from}>${to}`);
  }

  heal(from: string, to: string): void {
    this.#cuts.delete(`${from}>${to}`);
  }

  mendAll(): void {
    this.#cuts.clear();
  }

  isCut(from: SimNode, to: SimNode): boolean {
    return this.#cuts.size > 0 && this.#cuts.has(`${from.name}>${to.name}`);
  }

  connect(client: SimNode, server: SimNode, onReset: (why: string) => void): Connection {
    const connection = new Connection(this, client, server, onReset, () => this.#connections.delete(connection));
    this.#connections.add(connection);
    return connection;
  }

  /** The node has died or restarted: its peers are told, as a kernel does for a process that has gone. */
  resetConnectionsOf(node: SimNode): void {
    for (const connection of this.#connections) {
      if (connection.client === node || connection.server === node) connection.reset("connection reset by peer");
    }
  }

  get openConnections(): number {
    return this.#connections.size;
  }

  /** How long the next message takes; undefined = it breaks the connection off. */
  drawDelayMs(): number | undefined {
    const { latencyMs, hiccup, resetRate } = this.weather;
    const rng = this.#rng;
    if (resetRate > 0 && rng.next() < resetRate) return undefined;
    const extraMs = latencyMs.meanExtra === 0 ? 0 : -Math.log(1 - rng.next()) * latencyMs.meanExtra;
    const held = hiccup.rate > 0 && rng.next() < hiccup.rate ? -Math.log(1 - rng.next()) * hiccup.meanMs : 0;
    return latencyMs.least + extraMs + held;
  }
}

/** One direction of a connection. */
interface Lane {
  readonly from: SimNode;
  readonly to: SimNode;
  readonly messages: { readonly dueMs: number; readonly deliver: () => void }[];
}

/** One connection. Each end hears of a reset at most once, and of nothing afterwards. */
export class Connection {
  readonly client: SimNode;
  readonly server: SimNode;
  readonly #network: Network;
  readonly #onReset: (why: string) => void;
  readonly #onClosed: () => void;
  readonly #requests: Lane;
  readonly #answers: Lane;
  #isClosed = false;
  /** Called at the server when the client's end has gone. */
  onClientGone: (() => void) | undefined;

  constructor(
    network: Network,
    client: SimNode,
    server: SimNode,
    onReset: (why: string) => void,
    onClosed: () => void,
  ) {
    this.#network = network;
    this.client = client;
    this.server = server;
    this.#onReset = onReset;
    this.#onClosed = onClosed;
    this.#requests = { from: client, to: server, messages: [] };
    this.#answers = { from: server, to: client, messages: [] };
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Runs `deliver` at the server when the message has arrived. */
  toServer(deliver: () => void): void {
    this.#send(this.#requests, deliver);
  }

  toClient(deliver: () => void): void {
    this.#send(this.#answers, deliver);
  }

  #send(lane: Lane, deliver: () => void): void {
    if (this.#isClosed || !lane.from.isAlive) return;
    const { kernel } = this.#network;
    const delayMs = this.#network.drawDelayMs();
    if (delayMs === undefined) {
      this.reset("connection reset by peer");
      return;
    }
    lane.messages.push({ dueMs: kernel.nowMs + delayMs, deliver });
    if (lane.messages.length === 1) kernel.schedule(delayMs, () => this.#pump(lane));
  }

  /** Delivers the first message of a lane; what follows waits behind it. */
  #pump(lane: Lane): void {
    if (this.#isClosed) return;
    const { kernel } = this.#network;
    if (this.#network.isCut(lane.from, lane.to)) {
      kernel.schedule(repeatMs, () => this.#pump(lane));
      return;
    }
    const message = lane.messages.shift();
    const next = lane.messages[0];
    if (next !== undefined) kernel.schedule(Math.max(0, next.dueMs - kernel.nowMs), () => this.#pump(lane));
    lane.to.execute(() => {
      if (!this.#isClosed) message?.deliver();
    });
  }

  /** The client's end closes in good order or gives up; the server hears of it when the news gets through. */
  close(): void {
    if (this.#isClosed) return;
    this.#end();
    const { kernel } = this.#network;
    const tell = (): void => {
      if (this.#network.isCut(this.client, this.server)) kernel.schedule(repeatMs, tell);
      else this.server.execute(() => this.onClientGone?.());
    };
    if (this.onClientGone !== undefined) kernel.schedule(this.#network.weather.latencyMs.least, tell);
  }

  /** The server has sent everything: the connection is over for both. */
  finish(): void {
    if (!this.#isClosed) this.#end();
  }

  /** Both ends lose it. */
  reset(why: string): void {
    if (this.#isClosed) return;
    this.#end();
    this.#network.kernel.schedule(0, () => {
      this.client.execute(() => this.#onReset(why));
      this.server.execute(() => this.onClientGone?.());
    });
  }

  #end(): void {
    this.#isClosed = true;
    this.#onClosed();
  }
}
