/** Many connections of strangers, from an address of their own on loopback, until the time is up. */
import net from "node:net";
import { setTimeout as delay } from "node:timers/promises";

/** Callers of the API server come from 127.0.0.1. */
const address = "127.0.0.2";

export interface Tally {
  sent: number;
  /** By the code of the answer; "closed" = closed without one. */
  readonly answers: Record<string, number>;
}

export class Strangers {
  readonly #port: number;
  readonly #endMs: number;
  readonly #sockets = new Set<net.Socket>();
  readonly tally: Tally = { sent: 0, answers: {} };

  constructor(port: number, seconds: number) {
    this.#port = port;
    this.#endMs = performance.now() + seconds * 1000;
  }

  get leftMs(): number {
    return Math.max(0, this.#endMs - performance.now());
  }

  /**
   * Keeps `connections` open, each of which sends one request, and begins again when it is answered or closed.
   * `perSecond`: bytes, or requests when each `costs` one.
   */
  async repeat(
    connections: number,
    perSecond: number,
    request: (turn: number) => Buffer,
    costs?: number,
  ): Promise<void> {
    let turn = 0;
    // A second's worth may go at once in the beginning.
    let freeAtMs = performance.now() - 1_000;
    const lane = async (): Promise<void> => {
      while (this.leftMs > 0) {
        const bytes = request(turn++);
        const waitMs = freeAtMs - performance.now();
        freeAtMs = Math.max(freeAtMs, performance.now() - 1_000) + ((costs ?? bytes.length) / perSecond) * 1000;
        if (waitMs > 0) await delay(Math.min(waitMs, this.leftMs));
        if (this.leftMs > 0) await this.#send(bytes);
      }
    };
    const stop = setTimeout(() => {
      for (const socket of this.#sockets) socket.destroy();
    }, this.leftMs);
    await Promise.all(Array.from({ length: connections }, lane));
    clearTimeout(stop);
  }

  #send(bytes: Buffer): Promise<void> {
    return new Promise((resolve) => {
      const socket = net.connect({ host: "127.0.0.1", port: this.#port, localAddress: address });
      this.#sockets.add(socket);
      this.tally.sent += 1;
      let code = "closed";
      socket.on("error", () => {});
      socket.on("data", (data) => {
        code = data.toString("latin1", 9, 12);
        // An API server would keep it; who wants to do harm comes again.
        socket.destroy();
      });
      socket.on("close", () => {
        this.#sockets.delete(socket);
        this.tally.answers[code] = (this.tally.answers[code] ?? 0) + 1;
        // A refused connection is not tried again in the same millisecond.
        setTimeout(resolve, code === "closed" ? 5 : 0);
      });
      socket.write(bytes);
    });
  }
}
