/**
 * Reads the protobuf wire format in place, without copies. Every read is checked against the end of the message that it
 * is in, so corrupt input ends in a KubeError "malformed", never in a wrong place. Time and memory are bounded by the
 * length of the input.
 */
import { KubeError } from "../kube-client.ts";

const wireVarint = 0;
const wireFixed64 = 1;
const wireBytes = 2;
const wireGroupStart = 3;
const wireGroupEnd = 4;
const wireFixed32 = 5;

/** 49 bits: as many bytes of a varint as a double holds exactly. */
const exactVarintBytes = 7;
/** 64 bits. */
const varintBits = 64n;
const fieldMax = 2 ** 29 - 1;

export class WireReader {
  /** The field that `next` has found. */
  field = 0;
  #wireType = wireVarint;
  readonly #bytes: Buffer;
  readonly #what: string;
  #position = 0;
  #end: number;

  /** `what` names the input in errors. */
  constructor(bytes: Buffer, what: string) {
    this.#bytes = bytes;
    this.#what = what;
    this.#end = bytes.length;
  }

  /** Moves to the next field of the message; false at its end. The field must then be read or skipped. */
  next(): boolean {
    if (this.#position === this.#end) return false;
    const tag = this.#varint();
    this.#wireType = tag % 8;
    this.field = (tag - this.#wireType) / 8;
    if (this.field < 1 || this.field > fieldMax) throw this.malformed("a field number out of range");
    return true;
  }

  /** An int32 or int64; beyond 2^53 it is rounded. */
  integer(): number {
    this.#expect(wireVarint);
    return this.#varint();
  }

  text(): string {
    const end = this.#endOfBytes();
    const text = this.#bytes.toString("utf8", this.#position, end);
    this.#position = end;
    return text;
  }

  /** A view, valid as long as the input. */
  bytes(): Buffer {
    const end = this.#endOfBytes();
    const view = this.#bytes.subarray(this.#position, end);
    this.#position = end;
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

  /** Passes over the field, whatever its type. */
  skip(): void {
    if (this.#wireType === wireGroupStart) this.#skipGroup();
    else this.#skipValue();
  }

  malformed(problem: string): KubeError {
    return new KubeError("malformed", `${this.#what}: corrupt protobuf at byte ${this.#position}: ${problem}`);
  }

  #skipValue(): void {
    switch (this.#wireType) {
      case wireVarint:
        this.#varint();
        return;
      case wireFixed64:
        this.#advance(8);
        return;
      case wireBytes:
        this.#position = this.#endOfBytes();
        return;
      case wireFixed32:
        this.#advance(4);
        return;
      default:
        throw this.malformed(`wire type ${this.#wireType}`);
    }
  }

  /** Groups nest; a counter does instead of recursion, which the input could drive as deep as it likes. */
  #skipGroup(): void {
    for (let depth = 1; depth > 0;) {
      if (!this.next()) throw this.malformed("a group without its end");
      if (this.#wireType === wireGroupStart) depth++;
      else if (this.#wireType === wireGroupEnd) depth--;
      else this.#skipValue();
    }
  }

  #expect(wireType: number): void {
    if (this.#wireType !== wireType) throw this.malformed(`field ${this.field} has wire type ${this.#wireType}`);
  }

  #advance(count: number): void {
    if (count > this.#end - this.#position) throw this.malformed("truncated");
    this.#position += count;
  }

  #endOfBytes(): number {
    this.#expect(wireBytes);
    const length = this.#varint();
    if (length < 0 || length > this.#end - this.#position) throw this.malformed("truncated");
    return this.#position + length;
  }

  #varint(): number {
    let value = 0;
    let factor = 1;
    for (let index = 0; index < exactVarintBytes; index++) {
      const byte = this.#byte();
      value += (byte & 0x7f) * factor;
      if (byte < 0x80) return value;
      factor *= 128;
    }
    return this.#longVarint(BigInt(value));
  }

  /** The rest of one that is longer: rare, since only negative numbers and nonsense are. */
  #longVarint(low: bigint): number {
    let value = low;
    for (let shift = 49n; shift < varintBits; shift += 7n) {
      const byte = this.#byte();
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return Number(BigInt.asIntN(64, value));
    }
    throw this.malformed("a number of more than 64 bits");
  }

  #byte(): number {
    if (this.#position >= this.#end) throw this.malformed("truncated");
    return this.#bytes[this.#position++]!;
  }
}
