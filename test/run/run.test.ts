import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { test, type TestContext } from "node:test";
import { type Failure, GroupRun } from "./group-run.ts";
import { groupsOf } from "./groups.ts";

const header = `import { test } from "node:test";\n`;
/** For a file; a tenth of it for what is being closed. */
const limitMs = 5_000;

interface Outcome {
  /** By the name of the file. */
  readonly failures: ReadonlyMap<string, Failure>;
  readonly run: GroupRun;
}

/** Runs files, by name, in one process. */
async function runPlanted(t: TestContext, planted: Readonly<Record<string, string>>, ms = limitMs): Promise<Outcome> {
  const folder = mkdtempSync(path.join(os.tmpdir(), "podseidon-run-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const files = Object.entries(planted).map(([name, text]) => {
    const file = path.join(folder, `${name}.ts`);
    writeFileSync(file, header + text);
    return file;
  });
  const failures = new Map<string, Failure>();
  const run = new GroupRun({ name: "planted", files }, ms, (failure) => {
    failures.set(path.basename(failure.file, ".ts"), failure);
  });
  await run.ended();
  return { failures, run };
}

const sound = `test("is sound", () => {});\n`;

test("a file that leaves something behind fails, is named with what it left, and the others go on", async (t) => {
  const left: Readonly<Record<string, readonly [text: string, why: RegExp]>> = {
    timer: [`test("a", () => void setInterval(() => {}, 1000));`, /open: Timeout/],
    server: [
      `import net from "node:net"; test("a", (t, done) => void net.createServer().listen(0, "127.0.0.1", done));`,
      /open: TCPServerWrap/,
    ],
    worker: [
      `import { Worker } from "node:worker_threads"; new Worker("setInterval(() => {}, 1e3)", { eval: true });`,
      /open: .*Worker/,
    ],
    child: [
      `import { spawn } from "node:child_process"; spawn("sleep", ["30"], { timeout: 20_000 });`,
      /open: .*ProcessWrap/,
    ],
    environment: [`test("a", () => void (process.env.LEFT = "1"));`, /the environment variable LEFT/],
    listener: [`process.on("SIGUSR2", () => {});`, /a listener of process: SIGUSR2/],
    code: [`test("a", () => void (process.exitCode = 3));`, /the exit code 3/],
    lateness: [`test("a", () => void setTimeout(() => { throw new Error("late"); }, 20));`, /the exit code 1/],
    folder: [`test("a", () => process.chdir("/"));`, /the working directory \//],
  };
  const texts = Object.entries(left).flatMap(([name, [text]]) => [
    [name, text],
    [`after-${name}`, sound],
  ]);
  const { failures, run } = await runPlanted(t, Object.fromEntries(texts));
  assert.deepEqual([...failures.keys()], Object.keys(left));
  for (const [name, [, why]] of Object.entries(left)) assert.match(failures.get(name)?.why ?? "", why);
  assert.equal(run.passed, 15, "their tests pass");
});

test("what is closed in time, by the test or by a hook of its file, is not left behind", async (t) => {
  const { failures, run } = await runPlanted(t, {
    server: `import net from "node:net"; import { after } from "node:test";
const server = net.createServer().listen(0, "127.0.0.1");
after(() => void server.close());
test("a", () => {});`,
    environment: `test("a", (t) => { process.env.SET = "1"; t.after(() => delete process.env.SET); });`,
    socket: `import net from "node:net";
test("a", (t, done) => {
  const server = net.createServer((socket) => void socket.end()).listen(0, "127.0.0.1", () => {
    net.connect(server.address().port, "127.0.0.1").resume().on("close", () => void server.close(done));
  });
});`,
  });
  assert.deepEqual([...failures.values()], []);
  assert.equal(run.passed, 3);
});

test("hooks of one file do not run for the tests of another", async (t) => {
  const { failures } = await runPlanted(t, {
    one: `import { beforeEach } from "node:test";
beforeEach(() => void (globalThis.hooks = (globalThis.hooks ?? 0) + 1));
test("a", () => {});`,
    two: `test("b", () => { if (globalThis.hooks !== 1) throw new Error("its hook ran"); });`,
  });
  assert.deepEqual([...failures.values()], []);
});

test("a failure is told once, with its file, name and reason, and what is skipped with its reason", async (t) => {
  const { failures, run } = await runPlanted(t, {
    fails: `import { describe } from "node:test";
describe("group", () => test("outer", (t) => t.test("inner", () => { throw new Error("why so"); })));`,
    broken: `import "./nowhere.ts";`,
    skips: `test("later", { skip: "no time" }, () => {});`,
  });
  assert.equal(failures.get("fails")?.name, "group > outer > inner");
  assert.match(failures.get("fails")?.why ?? "", /^Error: why so\n/);
  assert.match(failures.get("broken")?.why ?? "", /Cannot find module/);
  assert.match(run.skipped.join(), /skips\.ts: later: no time/);
});

test("a file that hangs is ended by its limit, and one that ends its process fails", async (t) => {
  const hung = await runPlanted(t, { hangs: `test("for ever", () => new Promise((_) => setTimeout(_, 1e8)));` }, 1_000);
  assert.match(hung.failures.get("hangs")?.why ?? "", /timed out|It leaves behind/);
  const dead = await runPlanted(t, { exits: `test("leaves", () => process.exit(0));` });
  assert.match(dead.failures.get("exits")?.why ?? "", /The process ended/);
});

test("test files of a top folder share a process; unit tests come first, the longest and the quick ones", () => {
  const took = { "test/unit/webhook": 9, "test/unit/api": 1, "test/unit/kube": 99, "test/house": 999 };
  const names = groupsOf(["test/**/*.test.ts"], took).map(({ name }) => name);
  const ofThese = names.filter((name) => name in took);
  assert.deepEqual(ofThese, ["test/unit/kube", "test/unit/api", "test/unit/webhook", "test/house"]);
  assert.equal(groupsOf(["test/unit/webhook/**/*.test.ts", "test/unit/webhook/*.test.ts"], {}).length, 1);
});

test("a proof has a process of its own", () => {
  const groups = groupsOf(["test/**/*.proof.ts"], {});
  for (const { name, files } of groups) assert.deepEqual(files, [name]);
});
