import assert from "node:assert/strict";
import { test } from "node:test";
import { createLogger, createHumanLines, isJournal, withPriority } from "../../../src/observability/logger.ts";
import { KubeError } from "../../../src/kube/kube-client.ts";
import { networkError } from "../../../src/kube/kube-errors.ts";
import { createVirtualClock } from "../../support/virtual-clock.ts";

async function create(format: "json" | "pretty" | "pretty-colour", verbosity = 0) {
  const lines: string[] = [];
  const logger = await createLogger({
    format,
    verbosity: () => verbosity,
    clock: createVirtualClock(),
    write: (line) => lines.push(line),
  });
  return { logger, lines, last: () => JSON.parse(lines.at(-1) ?? "") as Record<string, unknown> };
}

test("an entry is one JSON object with level, time of the injected clock, fields and message", async () => {
  const { logger, last } = await create("json");
  logger.info("hello", { cell: "a", count: 3 });
  assert.deepEqual(last(), { level: "info", time: "2026-01-01T00:00:00.000000Z", cell: "a", count: 3, msg: "hello" });
});

test("an error is written with its type, stack and causes", async () => {
  const { logger, last } = await create("json");
  logger.error("failed", { err: new TypeError("outer", { cause: new Error("inner") }) });
  const { err } = last() as { err: { type: string; message: string; stack: string } };
  assert.equal(err.type, "TypeError");
  assert.match(err.message, /outer/);
  assert.match(err.stack, /caused by: Error: inner/);
});

test("verbose entries are written up to the verbosity", async () => {
  const { logger, lines, last } = await create("json", 2);
  logger.verbose(3, "no");
  assert.equal(lines.length, 0);
  logger.verbose(2, "yes", { a: 1 });
  assert.deepEqual(last()["v"], 2);
  assert(logger.isVerbose(2) && !logger.isVerbose(3));
});

test("a derived logger adds its fields to each line", async () => {
  const { logger, last } = await create("json");
  logger.with({ role: "webhook" }).with({ cell: "a" }).warn("w", { x: 1 });
  const { role, cell, x, level } = last();
  assert.deepEqual({ role, cell, x, level }, { role: "webhook", cell: "a", x: 1, level: "warn" });
});

test("nothing in a message, a field or an error can break a line or control a terminal", async () => {
  const evil = "a\nb\r\u001b[31m\u009b31m\u007f\u0085\u2028\u2029c";
  for (const format of ["json", "pretty"] as const) {
    const { logger, lines } = await create(format);
    logger.info(evil, { [evil]: evil, err: new Error(evil), nested: { list: [evil] } });
    assert.equal(lines.length, 1);
    const [line = ""] = lines;
    assert(line.endsWith("\n"));
    const entry = format === "json" ? line : line.replaceAll("\n    ", " ");
    assert.doesNotMatch(entry.slice(0, -1), /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/, format);
  }
});

test("the escaped line is still the same JSON", async () => {
  const { logger, last } = await create("json");
  logger.info("m", { text: "a\u2028b\u009bc\nd" });
  assert.equal(last()["text"], "a\u2028b\u009bc\nd");
});

test("what JSON cannot express does not stop the log", async () => {
  const { logger, last } = await create("json");
  const circle: Record<string, unknown> = {};
  circle["self"] = circle;
  logger.info("m", { circle, big: 10n });
  assert.equal(last()["big"], 10);
});

test("what a cluster answers is an error without a stack, whose message is said once", async () => {
  const { logger, last } = await create("json");
  const cause = new Error("connect ECONNREFUSED 127.0.0.1:1");
  logger.warn("failed", { err: networkError("GET /api", cause) });
  assert.deepEqual(last()["err"], {
    type: "KubeError",
    kind: "network",
    message: "GET /api: connect ECONNREFUSED 127.0.0.1:1",
  });
  logger.warn("failed", { err: new KubeError("forbidden", "GET /api: 403", { code: 403 }) });
  assert.equal((last()["err"] as { code: number }).code, 403);
});

test("a terminal gets readable lines for each entry, in colour only when asked", async () => {
  const plain = await create("pretty");
  plain.logger.warn("careful", { cell: "a" });
  assert.equal(plain.lines[0], "[00:00:00.000Z] WARN: careful cell=a\n");
  const coloured = await create("pretty-colour");
  coloured.logger.warn("careful");
  assert.match(coloured.lines[0] ?? "", /\u001b\[\d+m/);
});

const time = "2026-01-02T03:04:05.678901Z";

async function shown(fields: Record<string, unknown>, level = "info"): Promise<string> {
  const print = await createHumanLines(false);
  return print(JSON.stringify({ level, time, ...fields }));
}

test("an entry for a person has fields in lines of 100 columns, and what does not fit is indented", async () => {
  const text = await shown({
    role: "webhook",
    podProtector: "core/shop/deployment-checkout",
    pod: "shop/checkout-68c4d9f7b5-x2x9k",
    cell: "worker-1",
    user: "system:serviceaccount:kube-system:replicaset-controller",
    mustStay: 34,
    free: 0,
    msg: "Refused a deletion",
  });
  const lines = text.trimEnd().split("\n");
  assert.deepEqual(lines, [
    "[03:04:05.678Z] INFO: Refused a deletion role=webhook podProtector=core/shop/deployment-checkout",
    "    pod=shop/checkout-68c4d9f7b5-x2x9k cell=worker-1",
    "    user=system:serviceaccount:kube-system:replicaset-controller mustStay=34 free=0",
  ]);
  assert.ok(lines.every((line) => line.length <= 100));
});

test("a text that is longer than a line is broken between its words", async () => {
  const message = "PodProtector core/shop/deployment-checkout reports too few available replicas. ".repeat(4).trim();
  const lines = (await shown({ message, msg: "Review decided" })).trimEnd().split("\n");
  assert.ok(lines.length > 3 && lines.every((line) => line.length <= 100), lines.join("\n"));
  assert.ok(lines.slice(1).every((line) => line.startsWith("    ")));
  assert.ok(
    lines
      .map((line) => line.trim())
      .join(" ")
      .includes(`message="${message}"`),
  );
});

test("a field that is called name stands with the others", async () => {
  assert.equal(await shown({ name: "api-68c4", msg: "m" }), "[03:04:05.678Z] INFO: m name=api-68c4\n");
});

test("an error is its message, and a mistake in the program has its stack besides", async () => {
  const ofCluster = { type: "KubeError", kind: "network", message: "GET /api: connect ECONNREFUSED" };
  const line = await shown({ err: ofCluster, msg: "m" }, "warn");
  assert.equal(line, '[03:04:05.678Z] WARN: m err="GET /api: connect ECONNREFUSED"\n');
  const bug = { type: "TypeError", message: "x", stack: "TypeError: x\n    at f" };
  assert.match(await shown({ err: bug, msg: "m" }), / err=x stack="TypeError: x\\n    at f"\n$/);
});

test("an object has a word for each of its fields, so that settings are lines and no long JSON", async () => {
  const settings = { role: "webhook", "klog-v": 4, deep: { er: 1 } };
  assert.match(
    await shown({ settings, msg: "m" }),
    / settings\.role=webhook settings\.klog-v=4 settings\.deep=\{"er":1\}\n$/,
  );
});

test("values with spaces, quotes or line breaks are quoted, and lists are short JSON", async () => {
  const text = await shown({ a: "b c", d: 'e"f', g: "h\ni", roles: ["webhook"], on: true, msg: "m" });
  assert.match(text, / a="b c" d="e\\"f" g="h\\ni" roles=\["webhook"\] on=true\n$/);
});

test("each level of the log has the priority that journalctl -p selects by", async () => {
  const lines: string[] = [];
  const logger = await createLogger({
    verbosity: () => 1,
    format: "json",
    clock: createVirtualClock(),
    write: (line) => lines.push(withPriority(line)),
  });
  logger.error("e");
  logger.warn("w", { level: "error" });
  logger.info("i");
  logger.verbose(1, "v");
  assert.deepEqual(
    lines.map((line) => line.slice(0, 3)),
    ["<3>", "<4>", "<6>", "<7>"],
  );
  for (const line of lines) JSON.parse(line.slice(3));
});

test("only the stream that systemd has named is the journal", () => {
  assert.equal(isJournal("8:1234", { dev: 8, ino: 1234 }), true);
  assert.equal(isJournal("8:1234", { dev: 8, ino: 1235 }), false);
  assert.equal(isJournal(undefined, { dev: 8, ino: 1234 }), false);
});
