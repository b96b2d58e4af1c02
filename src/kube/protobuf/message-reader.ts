/**
 * Reads the fields of a message in place, with the BinaryReader of @bufbuild/protobuf for the wire format. BinaryReader
 * knows neither where an inner message ends, nor the type that a field should have, nor the request that the bytes
 * answer, and it takes lengths modulo 2^32. All that is checked here. Corrupt input ends in a KubeError "malformed";
 * time and memory are bounded by the length of the input. Why the lists of fields are our own:
 * docs/decisions/0011-own-protobuf-field-lists.md.
 */
import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";
import { KubeError } from "../kube-client.ts";

/** A varint of 32 bits: five bytes, and four bits in the last one. */
const length32Bytes = 5;
const length32LastByteMax = 0x0f;

/**
 * Reads a whole message: `read` calls `next` until it returns false. Throws KubeError "malformed". `what` names the
 * input in errors.
 */
export function readMessage<T>(bytes: Buffer, what: string, read: (reader: MessageReader) => T): T {
  const reader = new MessageReader(bytes, what);
  try {
    return read(reader);
  } catch (error) {
    // BinaryReader throws Error and RangeError. A TypeError is a mistake of ours, not of the input.
    if (error instanceof KubeError || error instanceof TypeError) throw error;
    throw reader.malformed((error as Error).message);
  }
}

export class MessageReader {
  /** The number of the field that `next` has found. */
  field = 0;
  #wireType = WireType.Varint;
  readonly #bytes: Buffer;
  readonly #reader: BinaryReader;
  readonly #what: string;
  /** Of the message that is being read. */
  #end: number;

  constructor(bytes: Buffer, what: string) {
    this.#bytes = bytes;
    this.#reader = new BinaryReader(bytes);
    this.#what = what;
    this.#end = bytes.length;
  }

  /** Moves to the next field of the message; false at its end. The field must then be read or skipped. */
  next(): boolean {
    if (this.#reader.pos < this.#end) {
      [this.field, this.#wireType] = this.#reader.tag();
      return true;
    }
    // Numbers and groups are only checked here: nothing of a message that they leave is handed out.
    if (this.#reader.pos > this.#end) throw this.malformed("a field ends beyond its message");
    return false;
  }

  /** An int32 or int64; beyond 2^53 it is rounded. */
  integer(): number {
    this.#expect(WireType.Varint);
    return Number(this.#reader.int64());
  }

  text(): string {
    this.#expect(WireType.LengthDelimited);
    const start = this.#reader.pos;
    this.#endOfBytes();
    this.#reader.pos = start;
    return this.#reader.string();
  }

  /** A view, valid as long as the input. */
  bytes(): Buffer {
    const end = this.#endOfBytes();
    const view = this.#bytes.subarray(this.#reader.pos, end);
    this.#reader.pos = end;
    return view;
  }

  /** Goes into a message; returns what `leave` needs. Between the two, `next` ends with the inner message. */
  enter(): number {
    const outerEnd = this.#end;
    this.#end = this.#endOfBytes();
    return outerEnd;
  }

  /** Goes on behind the inner message, whose end `next` has reported. */
  leave(outerEnd: number): void {
    this.#end = outerEnd;
  }

  /** Passes over the field, whatever its type. Groups may nest 100 deep. */
  skip(): void {
    // Most of a pod. BinaryReader's own way makes a view of what it skips.
    if (this.#wireType === WireType.LengthDelimited) this.#reader.pos = this.#endOfBytes();
    else this.#reader.skip(this.#wireType, this.field);
  }

  malformed(problem: string): KubeError {
    return new KubeError("malformed", `${this.#what}: corrupt protobuf at byte ${this.#reader.pos}: ${problem}`);
  }

  #expect(wireType: WireType): void {
    if (this.#wireType !== wireType) throw this.malformed(`field ${this.field} has wire type ${this.#wireType}`);
  }

  /** Reads a length; returns where the text, the bytes or the message ends. */
  #endOfBytes(): number {
    this.#expect(WireType.LengthDelimited);
    const start = this.#reader.pos;
    const length = this.#reader.uint32();
    const lengthBytes = this.#reader.pos - start;
    if (
      lengthBytes > length32Bytes ||
      (lengthBytes === length32Bytes && this.#bytes[start + length32Bytes - 1]! > length32LastByteMax)
    ) {
      throw this.malformed("a length of more than 32 bits");
    }
    const end = this.#reader.pos + length;
    if (end > this.#end) throw this.malformed("truncated");
    return end;
  }
}
