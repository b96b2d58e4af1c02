/** Damage to HTTP requests, by what parsers are known to disagree about, and to bytes of any kind. */
import { type Draws } from "../../support/draws.ts";
import { bodyText, headLines, type Request, written } from "./requests.ts";

/** Bytes as they are written: each character is one. */
const bytes = (text: string): Buffer => Buffer.from(text, "latin1");

/** Above what a header may have, and above what a chunk's extensions may have: 16 kB each. */
const hugeChars = 20_000;

const oddHeaders: readonly string[] = [
  "Host: other",
  "Host:",
  "X-Nul: a\0b",
  "X-CR: a\rb",
  "X-Folded: a\r\n b",
  "X-Folded: a\r\n\tContent-Length: 3",
  "X Space: a",
  "X-Space : a",
  ": nameless",
  "colonless",
  " Content-Length: 0",
  "X-Bytes: \xff\xfe\x80",
  "X-\xe9: a",
  "Content-Length: 0",
  "Content-Length: 5",
  "Content-Length: -1",
  "Content-Length: +5",
  "Content-Length: 0x5",
  "Content-Length: 5, 5",
  "Content-Length: 99999999999999999999",
  "Content-Length: 8000000",
  "Content-Length: ",
  "Content-Length: 1e3",
  "Transfer-Encoding: chunked",
  "Transfer-Encoding: xchunked",
  "Transfer-Encoding: chunked, identity",
  "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
  "Transfer-Encoding:\x0bchunked",
  "Transfer-Encoding : chunked",
  "Connection: close, upgrade\r\nUpgrade: websocket",
  "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__",
  "Connection: Content-Length",
  "Expect: 200-ok",
  "Expect: 100-continue, 100-continue",
  "Trailer: Content-Length",
  "Content-Encoding: gzip",
  "__proto__: a",
  "constructor: a",
];

const oddTargets: readonly string[] = [
  "*",
  "worker-a",
  "http://webhook/worker-a?timeout=10s",
  "http://",
  "http://[::1",
  "http://user:pass@webhook:99999/worker-a",
  "//worker-a",
  "///",
  "/../worker-a",
  "/./worker-a",
  "/%00",
  "/%",
  "/%zz",
  "/%2e%2e",
  "/%ff%fe",
  "/\xff\xfe",
  "/worker-a%2fb",
  "/worker-a#fragment",
  "/worker-a?timeout=-1s",
  "/worker-a?timeout=1e9h&timeout=0",
  "/worker-a?timeout=%00",
  "/worker-a?timeout=1ns",
  "/__proto__",
  "/constructor",
  "/a b",
  "/a\tb",
  "?",
  "",
];

const oddMethods: readonly string[] = ["post", "PRI", "CONNECT", "QUERY", "M-SEARCH", "X", "", "POST\0", "GETPOST"];
const oddVersions: readonly string[] = [
  "HTTP/1.0",
  "HTTP/0.9",
  "HTTP/2.0",
  "HTTP/1.2",
  "HTTP/11",
  "HTTPS/1.1",
  "http/1.1",
];
const oddChunkSizes: readonly string[] = [
  "zz",
  "-1",
  "",
  "0x5",
  "ffffffffffffffff1",
  "7fffffffffffffff",
  "ffffffff",
  "000000000000000000000000000005",
  "5 ",
  " 5",
  "5;",
];

type Damage = (draw: Draws, request: Request) => Buffer;

const damages: readonly (readonly [weight: number, kind: string, make: Damage])[] = [
  [6, "odd headers", withOddHeaders],
  [1, "long header", withLongHeader],
  [0.5, "many headers", withManyHeaders],
  [4, "odd request line", withOddLine],
  [4, "damaged chunks", withDamagedChunks],
  [2, "wrong length", withWrongLength],
  [4, "changed bytes", (draw, request) => damaged(draw, written(draw, request))],
  [2, "another protocol", drawForeign],
];

/** A request that is damaged, or that is odd enough for nothing to be expected of its answer. */
export function drawDamaged(draw: Draws, request: Request): { readonly kind: string; readonly bytes: Buffer } {
  return draw.weighted(
    damages.map(([weight, kind, make]) => [weight, () => ({ kind, bytes: make(draw, request) })] as const),
  );
}

/** The request with more headers, after the first line. */
function withHeaders(draw: Draws, request: Request, more: readonly string[]): Buffer {
  const lines = [...headLines(request)];
  lines.splice(draw.whole(1, lines.length), 0, ...more);
  return bytes(`${lines.join("\r\n")}\r\n\r\n${bodyText(draw, request)}`);
}

function withLongHeader(draw: Draws, request: Request): Buffer {
  return withHeaders(draw, request, [`X-Long: ${"x".repeat(draw.pick([1_000, 10_000, hugeChars, 70_000]))}`]);
}

/** Node takes 2,000. */
function withManyHeaders(draw: Draws, request: Request): Buffer {
  return withHeaders(
    draw,
    request,
    Array.from({ length: draw.whole(50, 2_500) }, (_, n) => `X${n}:`),
  );
}

function withOddHeaders(draw: Draws, request: Request): Buffer {
  const lines = [...headLines(request)];
  for (let left = draw.whole(1, 3); left > 0; left -= 1) {
    const at = draw.whole(1, lines.length);
    draw.weighted<unknown>([
      [8, () => lines.splice(at, 0, draw.pick(oddHeaders))],
      [2, () => lines.splice(at, 1)],
      [2, () => lines.splice(at, 0, lines[at] ?? "X: a")],
    ]);
  }
  const ends = draw.weighted<string>([
    [10, () => "\r\n"],
    [1, () => "\n"],
    [1, () => "\r"],
    [1, () => "\r\r\n"],
    [1, () => "\n\r"],
  ]);
  return bytes(`${lines.join(ends)}${ends}${ends}${bodyText(draw, request)}`);
}

function withOddLine(draw: Draws, request: Request): Buffer {
  const [, ...headers] = headLines(request);
  const { method, target, version } = draw.weighted<Pick<Request, "method" | "target" | "version">>([
    [4, () => ({ ...request, target: draw.pick(oddTargets) })],
    [1, () => ({ ...request, target: `/${draw.pick(["x", "%41", "a/"]).repeat(draw.pick([300, 4_000, hugeChars]))}` })],
    [2, () => ({ ...request, method: draw.pick(oddMethods) })],
    [2, () => ({ ...request, version: draw.pick(oddVersions) })],
    [1, () => ({ ...request, method: "CONNECT", target: "127.0.0.1:22" })],
  ]);
  const line = draw.weighted<string>([
    [8, () => `${method} ${target} ${version}`],
    [1, () => `${method} ${target}`],
    [1, () => `${method}  ${target}\t${version} `],
    [1, () => `\r\n\r\n${method} ${target} ${version}`],
  ]);
  return bytes(`${[line, ...headers].join("\r\n")}\r\n\r\n${bodyText(draw, request)}`);
}

function withDamagedChunks(draw: Draws, request: Request): Buffer {
  const { body } = request;
  const parts = [body.slice(0, body.length / 2), body.slice(body.length / 2)];
  const bad = draw.below(parts.length);
  const text = parts.map((part, at) => {
    const size = part.length.toString(16);
    if (at !== bad) return `${size}\r\n${part}\r\n`;
    return draw.weighted<string>([
      [3, () => `${draw.pick(oddChunkSizes)}\r\n${part}\r\n`],
      [1, () => `${(part.length + draw.whole(-5, 5)).toString(16)}\r\n${part}\r\n`],
      [1, () => `${size};${"x".repeat(draw.pick([100, hugeChars]))}\r\n${part}\r\n`],
      [1, () => `${size}\r\n${part}`],
      [1, () => `${size}\n${part}\n`],
      [1, () => `${size}\r\n${part}\r\n0\r\n\r\n${written(draw, request).toString("latin1")}`],
    ]);
  });
  const end = draw.weighted<string>([
    [4, () => "0\r\n\r\n"],
    [1, () => ""],
    [1, () => "0\r\n"],
    [1, () => "0\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"],
    [1, () => `0\r\nX: ${"x".repeat(hugeChars)}\r\n\r\n`],
    [1, () => "00000000000000000\r\n\r\n"],
  ]);
  const head = headLines({ ...request, chunks: [] }).join("\r\n");
  return bytes(`${head}\r\n\r\n${text.join("")}${end}`);
}

function withWrongLength(draw: Draws, request: Request): Buffer {
  const length = request.body.length;
  const declared = draw.oneOf(
    length + draw.whole(1, 500),
    Math.max(0, length - draw.whole(1, 50)),
    7_000_000,
    8_000_000,
  );
  const [line, ...headers] = headLines({ ...request, chunks: [] });
  const kept = headers.filter((header) => !header.startsWith("Transfer-Encoding"));
  return bytes([line, ...kept, `Content-Length: ${declared}`, "", request.body].join("\r\n"));
}

const http2Preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";

/** What speaks another language. */
function drawForeign(draw: Draws): Buffer {
  return draw.weighted<Buffer>([
    [2, () => bytes(http2Preface)],
    [1, () => bytes("GET /\r\n")],
    [1, () => bytes("\r\n".repeat(draw.whole(1, 3_000)))],
    [1, () => bytes("PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n")],
    [1, () => bytes("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")],
    [2, () => randomBytes(draw, draw.whole(1, 2_000))],
    [1, () => Buffer.alloc(draw.whole(1, 30_000), draw.below(256))],
  ]);
}

export function randomBytes(draw: Draws, length: number): Buffer {
  return Buffer.from(Array.from({ length }, () => draw.below(256)));
}

/** One to three bytes or ranges that are changed, lost, doubled, added or cut off. */
export function damaged(draw: Draws, whole: Buffer): Buffer {
  let result = Buffer.from(whole);
  for (let left = draw.whole(1, 3); left > 0 && result.length > 0; left -= 1) {
    const from = draw.below(result.length);
    const to = Math.min(result.length, from + draw.pick([1, 2, 10, 100]));
    const before = result.subarray(0, from);
    const range = result.subarray(from, to);
    const after = result.subarray(to);
    result = draw.weighted<Buffer<ArrayBuffer>>([
      [4, () => Buffer.concat([before, range.map((byte) => byte ^ (1 << draw.below(8))), after])],
      [1, () => Buffer.concat([before, after])],
      [1, () => Buffer.concat([before, range, range, after])],
      [1, () => Buffer.concat([before, randomBytes(draw, draw.whole(1, 20)), range, after])],
      [1, () => Buffer.concat([before, range])],
    ]);
  }
  return result;
}
