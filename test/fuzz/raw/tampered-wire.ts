/**
 * A relay before a listener that harms what it passes on once so many bytes have passed: what TLS sends over it arrives
 * broken. It is a real socket to both sides, because Node's TLS over any other stream fails assertions of its own.
 */
import { once } from "node:events";
import net, { type AddressInfo, type Socket } from "node:net";
import { type Tampering } from "./plan.ts";
import { reset } from "./reset.ts";

/** A handshake, and the first requests. */
const dribbledBytes = 4_000;

export interface TamperedWire {
  /** Where the one client connects to, on 127.0.0.1. */
  readonly port: number;
  /** Accepts nobody any more. Its connection ends with that of the client. */
  close(): void;
}

/** `to`: the listener, and where to come from. */
export async function openTamperedWire(to: net.TcpNetConnectOpts, tampering: Tampering): Promise<TamperedWire> {
  const server = net.createServer({ allowHalfOpen: true, noDelay: true }, (near) => {
    server.close();
    join(near, net.connect({ ...to, allowHalfOpen: true, noDelay: true }), new Harm(tampering));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return { port, close: () => server.close() };
}

/** Ends and resets of one side are passed on to the other. */
function join(near: Socket, far: Socket, harm: Harm): void {
  // Before that, what is cut off at once would never be sent.
  far.once("connect", () => {
    near.on("data", (chunk: Buffer) => {
      for (const part of harm.parts(chunk)) far.write(part, () => {});
      if (harm.isCut) far.destroy();
    });
    near.on("end", () => far.end());
    far.pipe(near);
  });
  for (const [one, other] of [
    [near, far],
    [far, near],
  ] as const) {
    one.on("error", () => reset(other));
    one.on("close", () => other.destroy());
  }
}

class Harm {
  readonly #tampering: Tampering;
  #passed = 0;
  isCut = false;

  constructor(tampering: Tampering) {
    this.#tampering = tampering;
  }

  /** What is sent in place of a chunk, each part by itself. */
  parts(chunk: Buffer): readonly Buffer[] {
    const { afterBytes, how, injected } = this.#tampering;
    const start = this.#passed;
    this.#passed += chunk.length;
    if (how === "dribble") {
      const dribbled = chunk.subarray(0, Math.max(0, dribbledBytes - start));
      return [...Array.from(dribbled, (byte) => Buffer.of(byte)), chunk.subarray(dribbled.length)];
    }
    const at = afterBytes - start;
    if (at < 0 || at >= chunk.length) return [chunk];
    const before = chunk.subarray(0, at);
    switch (how) {
      case "cut":
        this.isCut = true;
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
