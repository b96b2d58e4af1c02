/** A socket whose outgoing bytes are harmed once so many have passed: what TLS sends over it arrives broken. */
import { type Socket } from "node:net";
import { Duplex } from "node:stream";
import { type Tampering } from "./plan.ts";

/** A handshake, and the first requests. */
const dribbledBytes = 4_000;

export class TamperedWire extends Duplex {
  readonly #socket: Socket;
  readonly #tampering: Tampering;
  #passed = 0;
  #isDone = false;

  constructor(socket: Socket, tampering: Tampering) {
    super();
    this.#socket = socket;
    this.#tampering = tampering;
    socket.on("data", (chunk) => {
      if (!this.push(chunk)) socket.pause();
    });
    socket.on("end", () => this.push(null));
    socket.on("error", () => this.destroy());
    socket.on("close", () => this.destroy());
  }

  override _read(): void {
    this.#socket.resume();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    if (this.#socket.destroyed) return done();
    // A broken socket ends this by its close.
    for (const part of this.#harmed(chunk)) this.#socket.write(part, () => {});
    this.#passed += chunk.length;
    done();
  }

  override _final(done: (error?: Error | null) => void): void {
    this.#socket.end(() => done());
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#socket.destroy();
    done(error);
  }

  #harmed(chunk: Buffer): readonly Buffer[] {
    const { afterBytes, how, injected } = this.#tampering;
    const at = afterBytes - this.#passed;
    if (how === "dribble") {
      const dribbled = chunk.subarray(0, Math.max(0, dribbledBytes - this.#passed));
      return [...Array.from(dribbled, (byte) => Buffer.of(byte)), chunk.subarray(dribbled.length)];
    }
    if (at < 0 || at >= chunk.length || this.#isDone) return [chunk];
    this.#isDone = true;
    const before = chunk.subarray(0, at);
    switch (how) {
      case "cut":
        setImmediate(() => this.destroy());
        return [before];
      case "flip":
        return [before, Buffer.of(chunk[at]! ^ 0x01), chunk.subarray(at + 1)];
      case "inject":
        return [before, injected, chunk.subarray(at)];
      default:
        return how satisfies never;
    }
  }
}
