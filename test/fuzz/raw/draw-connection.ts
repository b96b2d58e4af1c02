/** Draws connections: where to, what is sent in which pieces, and how it ends. */
import { createSeededRng } from "../../support/seeded-rng.ts";
import { Draws } from "../../support/draws.ts";
import { damaged, drawDamaged, randomBytes } from "./damage.ts";
import { drawHello } from "./hello.ts";
import {
  type ConnectionPlan,
  type Ending,
  isServed,
  isTLS,
  isWhole,
  lacksHandshake,
  type ListenerName,
  type Piece,
  type RequestItem,
  servesReviews,
  type Tampering,
  type TLSUse,
} from "./plan.ts";
import { drawRequest, drawReview, written } from "./requests.ts";

/** A connection with more requests at once is cut off, whatever they are. */
const requestsMax = 5;
/** Callers of the API server come from 127.0.0.1; limits per address are part of the defence. */
const addresses = 60;

interface Stream {
  readonly kind: string;
  readonly bytes: Buffer;
  readonly requests: readonly RequestItem[];
}

/** The connection number `index` of `seed`. */
export function drawConnection(seed: number, index: number): ConnectionPlan {
  const draw = new Draws(createSeededRng(Math.imul(seed, 0x9e3779b1) ^ Math.imul(index + 1, 0x85ebca6b)));
  const listener = draw.weighted<ListenerName>([
    [50, () => "http"],
    [20, () => "https"],
    [15, () => "mutual"],
    [5, () => "health"],
    [4, () => "metrics"],
    [3, () => "healthTLS"],
    [3, () => "metricsTLS"],
  ]);
  const tls = isTLS(listener) && draw.chance(0.65) ? drawTLS(draw) : undefined;
  const stream = lacksHandshake({ listener, tls }) ? drawNoTLS(draw) : drawStream(draw, listener, `f${index}`);
  const isAnswered = isWhole(stream) && isServed({ listener, tls });
  const ending = isAnswered && draw.chance(0.7) ? "answers" : drawEnding(draw, stream);
  return {
    index,
    kind: stream.kind,
    listener,
    address: `127.0.0.${2 + draw.below(addresses)}`,
    tls,
    ...drawPace(draw, listener, stream),
    requests: stream.requests,
    ending,
  };
}

function drawEnding(draw: Draws, { kind }: Stream): Ending {
  if (kind === "flood") return draw.oneOf<Ending>("unread", "reset");
  return draw.weighted<Ending>([
    [6, () => "halfClose"],
    [1, () => "leave"],
    [2, () => "reset"],
    [1, () => "unread"],
  ]);
}

function drawStream(draw: Draws, listener: ListenerName, uid: string): Stream {
  return draw.weighted<Stream>([
    [40, () => drawRequests(draw, listener, uid, false)],
    [48, () => drawRequests(draw, listener, uid, true)],
    [4, () => ({ kind: "bytes", bytes: randomBytes(draw, draw.whole(1, 3_000)), requests: [] })],
    [4, () => drawUnfinished(draw, uid)],
    [0.5, () => drawFlood(draw, uid)],
    [1, () => ({ kind: "nothing", bytes: Buffer.of(), requests: [] })],
  ]);
}

/** Several requests, of which one is damaged; what follows that is whole. */
function drawRequests(draw: Draws, listener: ListenerName, uid: string, isDamaged: boolean): Stream {
  const count = draw.chance(0.5) ? 1 : draw.whole(1, requestsMax);
  const damagedAt = isDamaged ? draw.below(count) : count;
  const requests: RequestItem[] = [];
  const parts: Buffer[] = [];
  let kind = "whole";
  for (let number = 0; number < count; number += 1) {
    const request = drawRequest(draw, listener, `${uid}-${number}`);
    // Whoever says that a connection ends, and goes on, is cut off at once.
    const isSure = number < damagedAt && !requests.some(({ closes }) => closes);
    requests.push(isSure ? request : { ...request, expects: "anything" });
    if (number === damagedAt) {
      const damage = drawDamaged(draw, request);
      kind = damage.kind;
      parts.push(damage.bytes);
    } else parts.push(written(draw, request));
  }
  return { kind, bytes: Buffer.concat(parts), requests };
}

/** A request that stops in the middle. */
function drawUnfinished(draw: Draws, uid: string): Stream {
  const request = drawReview(draw, `${uid}-0`);
  const whole = written(draw, request);
  const bytes = whole.subarray(0, draw.below(whole.length));
  return { kind: "unfinished", bytes, requests: [{ ...request, expects: "anything" }] };
}

const floodBytes: readonly number[] = [50_000, 500_000, 3_000_000];

/** Many requests at once, or one body without an end. */
function drawFlood(draw: Draws, uid: string): Stream {
  const request = drawReview(draw, `${uid}-0`);
  const unit = draw.weighted<Buffer>([
    [3, () => written(draw, request)],
    [1, () => Buffer.from("GET / HTTP/1.1\r\n\r\n")],
    [1, () => Buffer.from("GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n")],
    [1, () => damaged(draw, written(draw, request))],
    [1, () => Buffer.alloc(1_000, " ")],
  ]);
  const size = draw.pick(floodBytes);
  const head = draw.chance(0.3)
    ? Buffer.from("POST /worker-a HTTP/1.1\r\nHost: x\r\nContent-Length: 7000000\r\n\r\n")
    : Buffer.of();
  const many = Array.from({ length: Math.ceil(size / unit.length) }, () => unit);
  const requests: RequestItem[] = [{ ...request, expects: "anything" }];
  return { kind: "flood", bytes: Buffer.concat([head, ...many]), requests };
}

function drawNoTLS(draw: Draws): Stream {
  return { kind: "hello", bytes: drawHello(draw), requests: [] };
}

function drawTLS(draw: Draws): TLSUse {
  const version = draw.oneOf<TLSUse["version"]>("TLSv1.2", "TLSv1.3");
  return {
    version,
    client: draw.weighted<TLSUse["client"]>([
      [6, () => "valid"],
      [2, () => "none"],
      [1, () => "foreign"],
      [1, () => "expired"],
    ]),
    protocols: draw.oneOf<readonly string[]>([], ["http/1.1"], ["h2", "http/1.1"], ["h2"], ["x".repeat(200)]),
    // TLS 1.3 has none.
    renegotiates: version === "TLSv1.2" && draw.chance(0.05),
    tampering: draw.chance(0.25) ? drawTampering(draw) : undefined,
  };
}

/** A handshake takes some 1,500 bytes of the client; what is beyond belongs to requests. */
function drawTampering(draw: Draws): Tampering {
  return {
    afterBytes: draw.below(draw.pick([300, 1_500, 4_000])),
    how: draw.oneOf<Tampering["how"]>("cut", "flip", "inject", "dribble"),
    injected: drawHello(draw),
  };
}

/** So many write slowly, which takes from seconds to two minutes: longer than the listener gives a head or a body. */
const slowShare = 0.004;
const piecesMax = 40;

function drawPace(
  draw: Draws,
  listener: ListenerName,
  { bytes }: Stream,
): { readonly pieces: readonly Piece[]; readonly lingerMs: number } {
  // Those of health and metrics have only 100 connections each.
  const isSlowOne = servesReviews(listener) && draw.chance(slowShare);
  const pauseMsMax = isSlowOne ? draw.pick([200, 1_000, 3_000]) : draw.pick([0, 0, 0, 1, 5]);
  const someCuts = (count: number): readonly number[] =>
    Array.from({ length: count }, () => draw.below(bytes.length + 1)).sort((a, b) => a - b);
  const cuts = draw.weighted<readonly number[]>([
    [isSlowOne ? 0 : 4, () => []],
    [isSlowOne ? 0 : 2, () => someCuts(draw.whole(1, 4))],
    [1, () => someCuts(draw.whole(5, piecesMax))],
    // A byte each in the beginning, where heads are parsed.
    [1, () => Array.from({ length: Math.min(bytes.length, piecesMax) }, (_, at) => at)],
  ]);
  const pieces = [0, ...cuts]
    .map((from, at) => bytes.subarray(from, [...cuts, bytes.length][at]))
    .filter((part) => part.length > 0)
    .map((part) => ({ bytes: part, pauseMs: pauseMsMax === 0 ? 0 : draw.below(pauseMsMax) }));
  const lingerMs = isSlowOne ? draw.pick([0, 3_000, 12_000]) : draw.pick([0, 0, 5, 40]);
  return { pieces, lingerMs };
}
