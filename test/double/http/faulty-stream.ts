/** Faults of the wire: resets, silence, texts cut short or garbled. */
import { type ServerResponse } from "node:http";
import { type Socket } from "node:net";
import { TLSSocket } from "node:tls";
import { type Fault } from "./faults.ts";

/** Before each frame of a watch in protobuf. */
const lengthBytes = 4;

/** Writes the lines of a watch. */
export interface LineWriter {
  write(line: string): void;
  /** The server ends the stream. */
  end(): void;
}

/** Breaks a connection off, with a reset where the system offers one. */
export function resetConnection(socket: Socket | null): void {
  if (socket === null || socket instanceof TLSSocket) socket?.destroy();
  else socket.resetAndDestroy();
}

/** A line, or another JSON text, with a byte in its middle that no JSON has. */
export function corrupted(text: string): string {
  const middle = Math.floor(text.length / 2);
  return `${text.slice(0, middle)}\u0000${text.slice(middle + 1)}`;
}

/**
 * A frame of a watch in protobuf with a byte in it that begins no field. Another one in its middle might be news in
 * good order, and false.
 */
export function corruptedFrame(frame: Buffer): Buffer {
  const garbled = Buffer.from(frame);
  garbled[lengthBytes] = 0xff;
  return garbled;
}

export function truncated<T extends string | Buffer>(text: T): T {
  return text.slice(0, Math.floor(text.length / 2)) as T;
}

/** Writes to `response`, and does to one of the lines what `fault` says. */
export function createLineWriter(response: ServerResponse, fault: Fault | undefined): LineWriter {
  let lines = 0;
  let broken = false;
  const faultyLine = fault !== undefined && "afterEvents" in fault ? (fault.afterEvents ?? 0) : 0;
  return {
    write(line) {
      if (broken) return;
      const faulty = lines++ === faultyLine ? fault?.type : undefined;
      switch (faulty) {
        case "reset":
          broken = true;
          resetConnection(response.socket);
          return;
        case "stall":
          broken = true;
          return;
        case "truncate":
          broken = true;
          response.end(truncated(line));
          return;
        case "corrupt":
          response.write(corrupted(line));
          return;
        default:
          response.write(line);
      }
    },
    end() {
      if (!broken) response.end();
    },
  };
}
