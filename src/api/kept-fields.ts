/**
 * What of a JSON body is parsed at all. A pod has some kilobytes, and a decision needs a tenth of it; what strangers
 * send may be megabytes of nested lists, each byte of which costs 35 once it is parsed. So the bytes are read once, and
 * only the members that are asked for are handed to JSON.parse: what is dropped here costs some nanoseconds a byte, and
 * holds nothing (docs/webhook.md#overload).
 *
 * What is dropped is not checked, but for its nesting. An API server writes valid JSON, and a key without escapes.
 */

/** Members of an object that are kept: whole, or some members of them. */
export interface Kept {
  readonly [name: string]: true | Kept;
}

/** Kubernetes' own objects reach 20 levels; a schema may nest deeper, but no pod does. */
const depthMax = 64;

/**
 * A hundred times what large pods have. Kubernetes itself limits labels only by the size of the object. Parsing and
 * deciding as many takes some 0.1 s, which is the longest that one review holds up the others.
 */
const valuesMax = 20_000;

export type KeptFields =
  | {
      readonly ok: true;
      /** JSON with the members that are kept. */
      readonly text: string;
      /** About as many values are in it: what parsing it takes. */
      readonly values: number;
    }
  /** 400: no JSON. 413: too deep, or too much of it. `reason` quotes nothing of the body. */
  | { readonly ok: false; readonly code: 400 | 413; readonly reason: string };

/** The members of `bytes` that are `wanted`. Never throws. Overwrites `bytes`. */
export function keptFields(bytes: Buffer, wanted: Kept): KeptFields {
  const reader = new Reader(bytes);
  try {
    return reader.read(wanted);
  } catch (error) {
    if (error instanceof Unreadable) return { ok: false, code: error.code, reason: error.message };
    throw error;
  }
}

/** Ends the reading of one body. */
class Unreadable extends Error {
  readonly code: 400 | 413;

  constructor(code: 400 | 413, reason: string) {
    super(reason);
    this.code = code;
  }
}

const quote = 0x22;
const comma = 0x2c;
const colon = 0x3a;
const openList = 0x5b;
const backslash = 0x5c;
const closeList = 0x5d;
const openObject = 0x7b;
const closeObject = 0x7d;

/** A call of copyWithin takes as long as copying this many bytes one by one. */
const shortMax = 64;

class Reader {
  readonly #bytes: Buffer;
  #at = 0;
  /** What is kept stands before this index: it never overtakes what is read. */
  #end = 0;
  #values = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  read(wanted: Kept): KeptFields {
    this.#skipSpace();
    this.#keep(wanted, this.#at, 0);
    this.#skipSpace();
    if (this.#at < this.#bytes.length) throw unexpected(this.#bytes, this.#at);
    return { ok: true, text: this.#bytes.toString("utf8", 0, this.#end), values: this.#values };
  }

  /** Keeps of the value that begins here what is wanted of it, after its name, which begins at `start`. */
  #keep(wanted: true | Kept, start: number, depth: number): void {
    const first = this.#bytes[this.#at];
    if (wanted === true || (first !== openObject && first !== openList)) {
      this.#skip(depth, true);
      return this.#move(start, this.#at);
    }
    this.#move(start, this.#at);
    if (first === openObject) return this.#keepMembers(wanted, depth + 1);
    // Not what it should be, which its kind tells.
    this.#skip(depth, false);
    this.#put(openList);
    this.#put(closeList);
  }

  #keepMembers(wanted: Kept, depth: number): void {
    const bytes = this.#bytes;
    this.#put(openObject);
    let isFirst = true;
    this.#at += 1;
    this.#skipSpace();
    while (bytes[this.#at] !== closeObject) {
      const start = this.#at;
      if (bytes[start] !== quote) throw unexpected(this.#bytes, this.#at);
      const end = endOfString(bytes, start);
      this.#at = end;
      this.#skipSpace();
      if (bytes[this.#at] !== colon) throw unexpected(this.#bytes, this.#at);
      this.#at += 1;
      this.#skipSpace();
      const inner = memberOf(wanted, bytes, start + 1, end - 1);
      if (inner === undefined) this.#skip(depth, false);
      else {
        if (!isFirst) this.#put(comma);
        isFirst = false;
        this.#count(1);
        this.#keep(inner, start, depth);
      }
      this.#skipSpace();
      if (bytes[this.#at] === comma) {
        this.#at += 1;
        this.#skipSpace();
        if (bytes[this.#at] !== quote) throw unexpected(this.#bytes, this.#at);
      } else if (bytes[this.#at] !== closeObject) throw unexpected(this.#bytes, this.#at);
    }
    this.#at += 1;
    this.#put(closeObject);
  }

  /** Goes past the value that begins here, at this depth. Nearly all bytes of a body pass here. */
  #skip(depthBefore: number, isKept: boolean): void {
    const bytes = this.#bytes;
    let depth = depthBefore;
    let at = this.#at;
    let values = 0;
    do {
      const byte = bytes[at];
      if (byte === quote) at = endOfString(bytes, at);
      else if (byte === openObject || byte === openList) {
        depth += 1;
        values += 1;
        at += 1;
        if (depth > depthMax) throw new Unreadable(413, `the body is nested more than ${depthMax} levels deep`);
      } else if (depth === depthBefore) at = endOfScalar(bytes, at);
      else {
        if (byte === undefined) throw unexpected(bytes, at);
        if (byte === closeObject || byte === closeList) depth -= 1;
        else if (byte === comma) values += 1;
        at += 1;
      }
    } while (depth > depthBefore);
    this.#at = at;
    if (isKept) this.#count(values);
  }

  #skipSpace(): void {
    while (isSpace(this.#bytes[this.#at])) this.#at += 1;
  }

  #count(values: number): void {
    this.#values += values;
    if (this.#values <= valuesMax) return;
    throw new Unreadable(413, `the body has more than ${valuesMax} labels and other values`);
  }

  #put(byte: number): void {
    this.#bytes[this.#end++] = byte;
  }

  #move(start: number, end: number): void {
    const bytes = this.#bytes;
    const to = this.#end;
    this.#end += end - start;
    if (end - start > shortMax) bytes.copyWithin(to, start, end);
    else for (let index = 0; index < end - start; index += 1) bytes[to + index] = bytes[start + index] ?? 0;
  }
}

/**
 * The member of `wanted` whose name stands in these bytes. They are compared where they are: to make a string of each
 * name and to look that up takes longer than all the rest of the reading.
 */
function memberOf(wanted: Kept, bytes: Buffer, start: number, end: number): true | Kept | undefined {
  for (const name in wanted) if (name.length === end - start && isAt(bytes, start, name)) return wanted[name];
  return undefined;
}

function isAt(bytes: Buffer, start: number, name: string): boolean {
  for (let index = 0; index < name.length; index += 1) {
    if (bytes[start + index] !== name.charCodeAt(index)) return false;
  }
  return true;
}

function unexpected(bytes: Buffer, at: number): Unreadable {
  return new Unreadable(
    400,
    at >= bytes.length
      ? "error parsing JSON body: unexpected end of JSON input"
      : `error parsing JSON body: unexpected character at position ${at}`,
  );
}

function endOfString(bytes: Buffer, start: number): number {
  for (let at = start + 1; ; at += 1) {
    const byte = bytes[at];
    if (byte === quote) return at + 1;
    if (byte === backslash) at += 1;
    else if (byte === undefined) throw unexpected(bytes, bytes.length);
  }
}

/** Of a number, a word, or what is none: JSON.parse tells. */
function endOfScalar(bytes: Buffer, start: number): number {
  let at = start;
  while (!endsScalar(bytes[at])) at += 1;
  if (at === start) throw unexpected(bytes, at);
  return at;
}

function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

function endsScalar(byte: number | undefined): boolean {
  return byte === undefined || byte === comma || byte === closeObject || byte === closeList || isSpace(byte);
}
