/** Reads answers as HTTP/1.1 writes them (RFC 9112), stricter than clients do: what it does not know is a mistake. */

export interface Answer {
  readonly status: number;
  /** By lower-case name; several of one name joined by ", ". */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
  /** "Connection: close": nothing comes after it. */
  readonly isLast: boolean;
}

/** Of a request that may be HEAD: what comes after the head tells whether there is a body. */
export const unknownMethod = "?";

const headEnd = "\r\n\r\n";
const statusStart = "HTTP/1.1 ";
const statusLine = /^HTTP\/1\.1 (\d{3}) [\t\x20-\x7e]*$/;
const headerLine = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[\t ]*([\t\x20-\x7e\x80-\xff]*)$/;
/** The largest of ours is a page of metrics. */
const answerBytesMax = 4 * 1024 * 1024;

interface Head extends Omit<Answer, "body"> {
  readonly bodyStart: number;
}

/** Whether another answer, or nothing, is where the body should be; undefined = more bytes will tell. */
function lacksBody(rest: Buffer, isEnded: boolean): boolean | undefined {
  const start = rest.toString("latin1", 0, statusStart.length);
  if (!statusStart.startsWith(start)) return false;
  return isEnded || start === statusStart ? true : undefined;
}

export class AnswerReader {
  /** Of the requests, in their order: an answer to HEAD has no body. */
  readonly #methods: readonly string[];
  readonly answers: Answer[] = [];
  /** Those with a status of 1xx. */
  interim = 0;
  /** What is wrong with what was read; nothing is read after it. */
  problem: string | undefined;
  #chunks: Buffer[] = [];
  #bytes = 0;

  constructor(methods: readonly string[]) {
    this.#methods = methods;
  }

  /** Whether an answer has begun and is not whole. */
  get isPartial(): boolean {
    return this.#bytes > 0;
  }

  push(chunk: Buffer): void {
    if (this.problem !== undefined) return;
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    if (this.#bytes > answerBytesMax) this.problem = `an answer of more than ${answerBytesMax} bytes`;
    else this.#read(false);
  }

  /** The peer has ended: what had no length is whole now. */
  end(): void {
    if (this.problem === undefined) this.#read(true);
  }

  #read(isEnded: boolean): void {
    let rest = this.#chunks.length === 1 ? this.#chunks[0]! : Buffer.concat(this.#chunks);
    while (rest.length > 0 && this.problem === undefined) {
      const read = this.#readOne(rest, isEnded);
      if (read === undefined) break;
      rest = rest.subarray(read);
    }
    this.#chunks = rest.length === 0 ? [] : [rest];
    this.#bytes = rest.length;
  }

  /** The bytes of one answer; undefined = it is not whole. */
  #readOne(bytes: Buffer, isEnded: boolean): number | undefined {
    if (this.answers.at(-1)?.isLast === true) return this.#fail("bytes after an answer with Connection: close", bytes);
    const head = this.#readHead(bytes);
    if (head === undefined) return undefined;
    const { bodyStart, ...known } = head;
    if (known.status < 200) {
      this.interim += 1;
      if (known.status !== 100) return this.#fail(`status ${known.status}`, bytes);
      return bodyStart;
    }
    const body = this.#readBody(bytes, head, isEnded);
    if (body === undefined) return undefined;
    this.answers.push({ ...known, body: body.text });
    return body.end;
  }

  #readHead(bytes: Buffer): Head | undefined {
    const end = bytes.indexOf(headEnd);
    if (end === -1) {
      if (!statusStart.startsWith(bytes.toString("latin1", 0, statusStart.length))) this.#fail("no status line", bytes);
      return undefined;
    }
    const [first = "", ...lines] = bytes.toString("latin1", 0, end).split("\r\n");
    const status = statusLine.exec(first)?.[1];
    if (status === undefined) return this.#fail("no status line", bytes);
    const headers = new Map<string, string>();
    for (const line of lines) {
      const [, name = "", value = ""] = headerLine.exec(line) ?? [];
      if (name === "") return this.#fail("no header", bytes);
      const key = name.toLowerCase();
      const former = headers.get(key);
      headers.set(key, former === undefined ? value : `${former}, ${value}`);
    }
    const isLast = (headers.get("connection") ?? "").toLowerCase().split(", ").includes("close");
    return { status: Number(status), headers, isLast, bodyStart: end + headEnd.length };
  }

  #readBody(bytes: Buffer, head: Head, isEnded: boolean): { readonly text: string; readonly end: number } | undefined {
    const { status, headers, bodyStart, isLast } = head;
    const method = this.#methods[this.answers.length];
    const isHead = method === unknownMethod ? lacksBody(bytes.subarray(bodyStart), isEnded) : method === "HEAD";
    if (isHead === undefined) return undefined;
    if (isHead || status === 204 || status === 304) return { text: "", end: bodyStart };
    const length = headers.get("content-length");
    const coding = headers.get("transfer-encoding");
    if (length !== undefined && coding !== undefined) return this.#fail("two framings", bytes);
    if (length !== undefined) {
      if (!/^\d+$/.test(length)) return this.#fail("no length", bytes);
      const end = bodyStart + Number(length);
      return end > bytes.length ? undefined : { text: bytes.toString("utf8", bodyStart, end), end };
    }
    if (coding === "chunked") return this.#readChunks(bytes, bodyStart);
    if (coding !== undefined || !isLast) return this.#fail("no framing", bytes);
    return isEnded ? { text: bytes.toString("utf8", bodyStart), end: bytes.length } : undefined;
  }

  #readChunks(bytes: Buffer, bodyStart: number): { readonly text: string; readonly end: number } | undefined {
    const parts: Buffer[] = [];
    for (let at = bodyStart; ;) {
      const lineEnd = bytes.indexOf("\r\n", at);
      if (lineEnd === -1) return undefined;
      const digits = bytes.toString("latin1", at, lineEnd);
      if (!/^[0-9a-f]{1,8}$/i.test(digits)) return this.#fail("no chunk", bytes);
      const size = Number.parseInt(digits, 16);
      const start = lineEnd + 2;
      at = start + size + 2;
      if (at > bytes.length) return undefined;
      if (bytes.toString("latin1", at - 2, at) !== "\r\n") return this.#fail("no end of a chunk", bytes);
      if (size === 0) return { text: Buffer.concat(parts).toString("utf8"), end: at };
      parts.push(bytes.subarray(start, start + size));
    }
  }

  #fail(what: string, bytes: Buffer): undefined {
    this.problem = `${what}: ${JSON.stringify(bytes.toString("latin1", 0, 300))}`;
    return undefined;
  }
}
