/**
 * A TCP proxy in front of one or several servers, without a look at what passes (TLS goes through). It stands in for a
 * Service: each connection goes to the next target that answers. And it makes networks bad: what servers send can be
 * delayed, connections can be cut.
 */
import { once } from "node:events";
import { connect, createServer, type Server, type Socket } from "node:net";
import { portOf } from "../clusters/ports.ts";

/**
 * A delayed connection holds at most this much; then the server has to wait. A 3 s delay of a busy watch is a few
 * megabytes.
 */
const heldBytesMax = 32 * 1024 * 1024;
const connectLimitMs = 2_000;

/** Proxies to ports of loopback. Close it at the end. */
export async function startLaggingProxy(targetPorts: readonly number[]): Promise<LaggingProxy> {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return new LaggingProxy(server, targetPorts);
}

export class LaggingProxy {
  readonly port: number;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #targetPorts: readonly number[];
  #next = 0;
  #delayMs = 0;
  #isCut = false;

  constructor(server: Server, targetPorts: readonly number[]) {
    this.#server = server;
    this.#targetPorts = targetPorts;
    this.port = portOf(server);
    server.on("connection", (client) => void this.#serve(client));
  }

  /**
   * Delays every byte from server to client, on open connections too; what is already held keeps its time. 0 = no
   * delay.
   */
  setDelay(delayMs: number): void {
    this.#delayMs = delayMs;
  }

  /** Where new connections go. */
  setTargets(targetPorts: readonly number[]): void {
    this.#targetPorts = targetPorts;
  }

  /** Breaks all connections and lets no new one through until `heal`. */
  cut(): void {
    this.#isCut = true;
    for (const socket of this.#sockets) socket.resetAndDestroy();
  }

  heal(): void {
    this.#isCut = false;
  }

  async close(): Promise<void> {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
    await once(this.#server, "close");
  }

  async #serve(client: Socket): Promise<void> {
    this.#keep(client);
    if (this.#isCut) {
      client.resetAndDestroy();
      return;
    }
    const target = await this.#connect();
    if (target === undefined || client.destroyed || this.#isCut) {
      target?.destroy();
      client.resetAndDestroy();
      return;
    }
    this.#keep(target);
    client.setNoDelay(true);
    target.setNoDelay(true);
    client.on("close", () => target.destroy());
    client.pipe(target);
    this.#forward(target, client);
  }

  /** The next target that accepts a connection; undefined when none does. */
  async #connect(): Promise<Socket | undefined> {
    for (let attempt = 0; attempt < this.#targetPorts.length; attempt++) {
      const port = this.#targetPorts[this.#next++ % this.#targetPorts.length] ?? 0;
      const socket = connect({ port, host: "127.0.0.1" });
      try {
        await once(socket, "connect", { signal: AbortSignal.timeout(connectLimitMs) });
        return socket;
      } catch {
        socket.destroy(); // the next target may live
      }
    }
    return undefined;
  }

  /** Keeps the order: nothing is released before what came earlier, also when the delay shrinks. */
  #forward(from: Socket, to: Socket): void {
    let releaseMs = 0;
    let heldBytes = 0;
    const release = (bytes: number, job: () => void): void => {
      const nowMs = performance.now();
      releaseMs = Math.max(releaseMs, nowMs + this.#delayMs);
      heldBytes += bytes;
      if (heldBytes > heldBytesMax) from.pause();
      const run = (): void => {
        heldBytes -= bytes;
        if (heldBytes <= heldBytesMax) from.resume();
        if (!to.destroyed) job();
      };
      if (releaseMs <= nowMs) run();
      else setTimeout(run, releaseMs - nowMs);
    };
    from.on("data", (chunk: Buffer) => release(chunk.length, () => to.write(chunk)));
    from.on("end", () => release(0, () => to.end()));
    from.on("close", (hadError) => {
      if (hadError) to.resetAndDestroy();
      else release(0, () => to.destroySoon());
    });
  }

  #keep(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on("close", () => this.#sockets.delete(socket));
    socket.on("error", () => undefined); // "close" follows and does the rest
  }
}
