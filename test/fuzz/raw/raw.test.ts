import assert from "node:assert/strict";
import { once } from "node:events";
import net, { type AddressInfo } from "node:net";
import { test, type TestContext } from "node:test";
import { AnswerReader, unknownMethod } from "./answer-reader.ts";
import { drawConnection } from "./draw-connection.ts";
import { judge, type Seen } from "./judge.ts";
import { playConnection, type Reach } from "./play-connection.ts";
import { bytesOf, type ConnectionPlan, isSlow, listenerNames, pausesMs, traitsOf } from "./plan.ts";
import { reset } from "./reset.ts";
import { openTamperedWire } from "./tampered-wire.ts";
import { growth, logProblem } from "./watch.ts";

const plansOf = (seed: number, count: number): readonly ConnectionPlan[] =>
  Array.from({ length: count }, (_, index) => drawConnection(seed, index));

test("the same seed draws the same connections, and another seed draws others", () => {
  const texts = (seed: number): readonly string[] => plansOf(seed, 100).map((plan) => JSON.stringify(plan));
  assert.deepEqual(texts(7), texts(7));
  assert.equal(new Set([...texts(7), ...texts(8)]).size, 200);
});

test("three thousand connections reach every listener, and do all that is promised to be tried", () => {
  const plans = plansOf(1, 3_000);
  const drawn = new Set(plans.flatMap(traitsOf));
  for (const trait of [
    ...listenerNames.map((name) => `to ${name}`),
    // How it ends.
    "answers",
    "halfClose",
    "leave",
    "reset",
    "unread",
    // How it is written.
    "in fragments",
    "pipelined",
    "slow",
    // What is written.
    "whole",
    "odd headers",
    "long header",
    "many headers",
    "odd request line",
    "damaged chunks",
    "wrong length",
    "changed bytes",
    "another protocol",
    "unfinished",
    "bytes",
    "nothing",
    "flood",
    "hello",
    // TLS.
    "TLSv1.2",
    "TLSv1.3",
    "renegotiation",
    "TLS cut",
    "TLS flip",
    "TLS inject",
    "TLS dribble",
    ...["valid", "none", "foreign", "expired"].map((client) => `client certificate ${client}`),
  ])
    assert.ok(drawn.delete(trait), trait);
  assert.deepEqual([...drawn], []);
  assert.ok(plans.filter(isSlow).length < 40);
  for (const plan of plans.filter(isSlow)) assert.ok(pausesMs(plan) < 140_000);
});

test("an answer is read whole however it is cut up, and framed by its length, by chunks or by the end", () => {
  const text =
    "HTTP/1.1 100 Continue\r\n\r\n" +
    "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab" +
    "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n" +
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nc\r\n2\r\nde\r\n0\r\n\r\n" +
    "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\nwhy";
  for (const size of [1, 7, text.length]) {
    const reader = new AnswerReader(["POST", "HEAD", "POST", "POST"]);
    for (let at = 0; at < text.length; at += size) reader.push(Buffer.from(text.slice(at, at + size)));
    assert.ok(reader.isPartial);
    reader.end();
    assert.equal(reader.problem, undefined);
    assert.deepEqual(
      reader.answers.map(({ status, body, isLast }) => [status, body, isLast]),
      [
        [200, "ab", false],
        [200, "", false],
        [200, "cde", false],
        [400, "why", true],
      ],
    );
    assert.deepEqual([reader.interim, reader.isPartial], [1, false]);
  }
});

test("whether an answer has a body is told by what follows, when damage may have made the request one for HEAD", () => {
  const heads = [
    "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
  ];
  const bodies = ["body", "4\r\nbody\r\n0\r\n\r\n"];
  const [byLength = "", byChunks = ""] = heads;
  const text = byLength + byChunks + heads.map((head, at) => head + bodies[at]!).join("") + byLength;
  for (const size of [1, 7, text.length]) {
    const reader = new AnswerReader(Array.from({ length: 5 }, () => unknownMethod));
    for (let at = 0; at < text.length; at += size) reader.push(Buffer.from(text.slice(at, at + size)));
    reader.end();
    assert.equal(reader.problem, undefined);
    assert.deepEqual(
      reader.answers.map(({ body }) => body),
      ["", "", "body", "body", ""],
    );
  }
});

test("what is no answer of HTTP/1.1 is a problem", () => {
  for (const text of [
    "nonsense!",
    "HTTP/1.0 200 OK\r\n\r\n",
    "HTTP/1.1 200 OK\r\nno header\r\n\r\n",
    "HTTP/1.1 200 OK\r\nX: a\0\r\n\r\n",
    "HTTP/1.1 200 OK\r\n\r\n",
    "HTTP/1.1 101 Switching Protocols\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nTransfer-Encoding: chunked\r\n\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    "HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
  ]) {
    const reader = new AnswerReader([]);
    reader.push(Buffer.from(text));
    assert.notEqual(reader.problem, undefined, text);
  }
});

/** Of seed 1, the first one over plain HTTP that is fast, and of which every review is to be allowed. */
function reviewsPlan(count: number): ConnectionPlan {
  for (let index = 0; index < 3_000; index += 1) {
    const plan = drawConnection(1, index);
    const { listener, ending, requests } = plan;
    const areAllowed = requests.every(({ expects, closes }) => expects === "allowed" && !closes);
    if (listener === "http" && ending === "answers" && requests.length === count && areAllowed && !isSlow(plan))
      return plan;
  }
  throw new Error("there is none");
}

const http = (status: number, body: unknown): string => {
  const text = JSON.stringify(body);
  return `HTTP/1.1 ${status} X\r\nContent-Type: application/json\r\nContent-Length: ${text.length}\r\n\r\n${text}`;
};
const allowed = (uid: string): string =>
  http(200, { kind: "AdmissionReview", apiVersion: "admission.k8s.io/v1", response: { uid, allowed: true } });

/** A listener on loopback that takes what it is sent for no answer of its own. */
async function listening(t: TestContext, connected: (socket: net.Socket) => void): Promise<Reach> {
  const sockets = new Set<net.Socket>();
  const server = net.createServer({ allowHalfOpen: true }, (socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    connected(socket);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const ports = Object.fromEntries(listenerNames.map((name) => [name, port])) as Reach["ports"];
  const none = { cert: "", key: "" };
  return { ports, clients: { valid: none, foreign: none, expired: none } };
}

/** Plays a plan against a listener that answers with `text` once it has been sent everything. */
async function judged(t: TestContext, plan: ConnectionPlan, text: string): Promise<string | undefined> {
  const length = bytesOf(plan).length;
  const reach = await listening(t, (socket) => {
    let left = length;
    socket.on("data", (chunk) => {
      left -= chunk.length;
      if (left === 0) socket.end(text);
    });
  });
  return judge(plan, await playConnection(plan, reach));
}

test("a connection that is neither answered nor ended is reported once its time is over", async (t) => {
  const reach = await listening(t, (socket) => socket.resume());
  for (const ending of ["answers", "halfClose"] as const) {
    const plan = { ...reviewsPlan(1), ending };
    assert.match(judge(plan, await playConnection(plan, reach, 100)) ?? "", /not answered, or has not ended/);
  }
});

test("a connection that the peer has ended is over, also when what was sent will never be read", async (t) => {
  const reach = await listening(t, (socket) => socket.end());
  const pieces = [{ bytes: Buffer.alloc(64 * 1024 * 1024), pauseMs: 0 }];
  const plan = { ...reviewsPlan(1), ending: "halfClose" as const, pieces };
  assert.equal((await playConnection(plan, reach, 10_000)).endedBy, "end");
});

test("a socket that is reset while its end is on its way closes all the same", async (t) => {
  const reach = await listening(t, (socket) => socket.resume());
  for (const before of [(socket: net.Socket) => socket.end(), () => {}]) {
    const socket = net.connect({ host: "127.0.0.1", port: reach.ports.http, allowHalfOpen: true });
    await once(socket, "connect");
    const closed = once(socket, "close");
    before(socket);
    reset(socket);
    await closed;
  }
});

test("what TLS sends over a tampered wire arrives harmed from the given byte on, and ends as it ended", async (t) => {
  const injected = Buffer.from("--");
  for (const [how, arrives] of [
    ["cut", "abc"],
    ["flip", "abcegh"],
    ["inject", "abc--dgh"],
    ["dribble", "abcdgh"],
  ] as const) {
    const arrived: Buffer[] = [];
    let ended: () => void = () => {};
    const end = new Promise<void>((resolve) => (ended = resolve));
    const reach = await listening(t, (socket) => {
      socket.on("data", (chunk: Buffer) => arrived.push(chunk));
      socket.on("end", () => socket.end("answer"));
      socket.on("close", ended);
    });
    const to = { host: "127.0.0.1", port: reach.ports.http, localAddress: "127.0.0.2" };
    const wire = await openTamperedWire(to, { afterBytes: 3, how, injected });
    const client = net.connect({ host: "127.0.0.1", port: wire.port, allowHalfOpen: true });
    client.on("error", () => {});
    client.write("abcd");
    client.end("gh");
    client.resume();
    await end;
    wire.close();
    assert.equal(Buffer.concat(arrived).toString(), arrives, how);
  }
});

test("a listener that makes a mistake is found out", async (t) => {
  const plan = reviewsPlan(2);
  const [first = "", second = ""] = plan.requests.map(({ uid }) => uid);
  assert.equal(await judged(t, plan, allowed(first) + allowed(second)), undefined);
  const internal = { kind: "Status", code: 500, message: "unexpected failure" };
  for (const [text, problem] of [
    [http(500, internal), /this status is not expected/],
    [allowed(second) + allowed(first), /request 0 is not decided/],
    [allowed(first) + allowed(first), /is answered 2 times/],
    [allowed(first) + allowed("f999-0"), /the UID is that of another connection/],
    [allowed(first) + allowed(second) + allowed(""), /3 answers to 2|more answers/],
    [allowed(first), /request 1 has no answer, ended by end/],
    [`${allowed(first)}HTTP/1.1 200 OK\r\n`, /not whole/],
    [`${allowed(first)}{}`, /no status line/],
    ["HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n", /request 0 is not decided/],
  ] as const) {
    assert.match((await judged(t, plan, text)) ?? "nothing found", problem);
  }
});

test("a request that a busy machine held up may be cut off as too slow, and no other may", () => {
  const plan = reviewsPlan(1);
  const reader = new AnswerReader([]);
  reader.push(Buffer.from("HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n"));
  reader.end();
  const cutOff: Seen = { answers: reader.answers, problem: undefined, isPartial: false, endedBy: "end", tookMs: 9_000 };
  for (const seen of [cutOff, { ...cutOff, answers: [] }]) {
    assert.equal(judge(plan, seen), undefined);
    assert.match(judge(plan, { ...seen, tookMs: 100 }) ?? "", /is not decided|has no answer/);
  }
});

test("answers may be lost to a reset when a request ends the connection before those behind it are read", () => {
  const plan = reviewsPlan(2);
  const [first, second] = plan.requests;
  const reset: Seen = { answers: [], problem: undefined, isPartial: false, endedBy: "reset", tookMs: 0 };
  assert.match(judge(plan, reset) ?? "", /request 0 has no answer, ended by reset/);
  assert.equal(judge({ ...plan, requests: [first!, { ...second!, expects: "answered" }] }, reset), undefined);
  const cut: Seen = { ...reset, isPartial: true, endedBy: "end" };
  const halfClosed = { ...plan, ending: "halfClose" as const };
  assert.equal(judge(halfClosed, cut), undefined);
  assert.match(judge({ ...halfClosed, requests: [first!] }, cut) ?? "", /not whole/);
});

test("what is no review must not be allowed, and a client without a certificate learns only that", () => {
  const plan = reviewsPlan(1);
  const [request] = plan.requests;
  const reader = new AnswerReader([]);
  reader.push(Buffer.from(allowed(request!.uid)));
  const seen: Seen = { answers: reader.answers, problem: undefined, isPartial: false, endedBy: "us", tookMs: 0 };
  assert.equal(judge(plan, seen), undefined);
  const nonsense = { ...plan, requests: [{ ...request!, expects: "refused" as const }] };
  assert.match(judge(nonsense, seen) ?? "", /is allowed, and is no review/);
  const tls = {
    client: "expired",
    version: "TLSv1.3",
    protocols: [],
    renegotiates: false,
    tampering: undefined,
  } as const;
  assert.match(judge({ ...plan, listener: "mutual", tls }, seen) ?? "", /without a valid certificate is answered/);
});

test("a process that keeps files or heap, or logs a stack, is found out", () => {
  const before = { files: 30, heapMB: 17, residentMB: 110 };
  assert.equal(growth(before, { files: 33, heapMB: 20, residentMB: 300 }), undefined);
  assert.match(growth(before, { ...before, files: 60 }) ?? "", /60 files are open, 30 before/);
  assert.match(growth(before, { ...before, heapMB: 50 }) ?? "", /50.0 MB of heap are in use/);
  assert.equal(logProblem('{"level":"error","msg":"HTTP error"}'), undefined);
  for (const line of [
    "    at Socket.<anonymous> (node:net:1:1)",
    "(node:1) MaxListenersExceededWarning: Possible EventEmitter memory leak detected",
    '{"level":"error","msg":"Review failed unexpectedly"}',
    '{"level":"fatal","msg":"Crashed"}',
  ]) {
    assert.match(logProblem(line) ?? "nothing found", /the log/, line);
  }
});
