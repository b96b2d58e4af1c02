import assert from "node:assert/strict";
import { once } from "node:events";
import net, { type AddressInfo } from "node:net";
import { test, type TestContext } from "node:test";
import { AnswerReader } from "./answer-reader.ts";
import { drawConnection } from "./draw-connection.ts";
import { judge, type Seen } from "./judge.ts";
import { playConnection, type Reach } from "./play-connection.ts";
import { bytesOf, type ConnectionPlan, isSlow, isWhole, listenerNames } from "./plan.ts";
import { growth, logProblem } from "./watch.ts";

const plansOf = (seed: number, count: number): readonly ConnectionPlan[] =>
  Array.from({ length: count }, (_, index) => drawConnection(seed, index));

test("the same seed draws the same connections, and another seed draws others", () => {
  const texts = (seed: number): readonly string[] => plansOf(seed, 100).map((plan) => JSON.stringify(plan));
  assert.deepEqual(texts(7), texts(7));
  assert.equal(new Set([...texts(7), ...texts(8)]).size, 200);
});

test("a thousand connections go to every listener, end in every way, and few of them are slow", () => {
  const plans = plansOf(1, 1_000);
  const seen = <T>(of: (plan: ConnectionPlan) => T): ReadonlySet<T> => new Set(plans.map(of));
  assert.deepEqual(
    seen(({ listener }) => listener),
    new Set(listenerNames),
  );
  assert.deepEqual(
    seen(({ ending }) => ending),
    new Set(["answers", "halfClose", "leave", "reset", "unread"]),
  );
  assert.deepEqual(
    seen(({ tls }) => tls?.client),
    new Set(["expired", "foreign", "none", "valid", undefined]),
  );
  for (const how of ["cut", "flip", "inject", "dribble"])
    assert.ok(seen(({ tls }) => tls?.tampering?.how).has(how as "cut"), how);
  for (const kind of ["whole", "damaged", "unfinished", "hello", "bytes", "nothing", "flood"])
    assert.ok(seen((plan) => plan.kind).has(kind), kind);
  assert.ok(plans.filter(isSlow).length < 20);
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
  const plan = plansOf(1, 3_000).find(
    ({ listener, ending, requests }) =>
      listener === "http" &&
      ending === "answers" &&
      requests.length === count &&
      requests.every(({ expects, closes }) => expects === "allowed" && !closes),
  );
  assert.ok(plan !== undefined && isWhole(plan));
  return { ...plan, address: "127.0.0.1" };
}

const http = (status: number, body: unknown): string => {
  const text = JSON.stringify(body);
  return `HTTP/1.1 ${status} X\r\nContent-Type: application/json\r\nContent-Length: ${text.length}\r\n\r\n${text}`;
};
const allowed = (uid: string): string =>
  http(200, { kind: "AdmissionReview", apiVersion: "admission.k8s.io/v1", response: { uid, allowed: true } });

/** Plays a plan against a listener that answers with `text` once it has been sent everything. */
async function judged(t: TestContext, plan: ConnectionPlan, text: string): Promise<string | undefined> {
  const length = bytesOf(plan).length;
  const server = net.createServer((socket) => {
    let left = length;
    socket.on("error", () => {});
    socket.on("data", (chunk) => {
      left -= chunk.length;
      if (left === 0) socket.end(text);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  const ports = Object.fromEntries(listenerNames.map((name) => [name, port])) as Reach["ports"];
  const none = { cert: "", key: "" };
  return judge(plan, await playConnection(plan, { ports, clients: { valid: none, foreign: none, expired: none } }));
}

test("a listener that makes a mistake is found out", async (t) => {
  const plan = reviewsPlan(2);
  const [first = "", second = ""] = plan.requests.map(({ uid }) => uid);
  assert.equal(await judged(t, plan, allowed(first) + allowed(second)), undefined);
  const internal = { kind: "Status", code: 500, message: "unexpected failure" };
  for (const [text, problem] of [
    [http(500, internal), /this status is not expected/],
    [allowed(second) + allowed(first), /request 0 is not decided/],
    [allowed(first) + allowed(first), /is answered 2 times/],
    [allowed(first) + allowed("f999-0"), /the UID is nobody's/],
    [allowed(first) + allowed(second) + allowed(""), /3 answers to 2|more answers/],
    [allowed(first), /request 1 has no answer, ended by end/],
    [`${allowed(first)}HTTP/1.1 200 OK\r\n`, /not whole/],
    [`${allowed(first)}{}`, /no status line/],
    ["HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n", /request 0 is not decided/],
  ] as const) {
    assert.match((await judged(t, plan, text)) ?? "nothing found", problem);
  }
});

test("what is no review must not be allowed, and a client without a certificate learns only that", () => {
  const plan = reviewsPlan(1);
  const [request] = plan.requests;
  const reader = new AnswerReader([]);
  reader.push(Buffer.from(allowed(request!.uid)));
  const seen: Seen = { answers: reader.answers, problem: undefined, isPartial: false, endedBy: "us" };
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
