import assert from "node:assert/strict";
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync, writeFileSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import path from "node:path";
import { text } from "node:stream/consumers";
import { test, type TestContext } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { chartArguments } from "../drop-in/chart-arguments.ts";
import { upstreamNames } from "../drop-in/upstream-names.ts";
import { createPem, temporaryFolder, writePem } from "./server/certificates.ts";

const main = path.join(import.meta.dirname, "../../src/main.ts");
/** Far above what a start takes on a busy machine; a process that hangs must not hang the tests. */
const patienceMs = 120_000;

interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

function start(
  t: TestContext,
  argv: readonly string[],
  env: Readonly<Record<string, string>> = {},
  nodeOptions: readonly string[] = [],
) {
  const child = spawn(process.execPath, [...nodeOptions, main, ...argv], {
    env,
    timeout: patienceMs,
    killSignal: "SIGKILL",
  });
  t.after(() => child.kill("SIGKILL"));
  const output = { stdout: "", stderr: "" };
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => (output.stdout += chunk));
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => (output.stderr += chunk));
  const ended = new Promise<Ended>((resolve) => child.on("close", (code) => resolve({ code, ...output })));
  const find = (message: string, listener?: string): Record<string, unknown> | undefined =>
    output.stderr
      .split("\n")
      .slice(0, -1)
      .map((line) => JSON.parse(line) as Record<string, unknown>)
      .find((entry) => entry["msg"] === message && (listener === undefined || entry["listener"] === listener));
  /** The first entry of the log with this message, of this listener when given. */
  const logged = async (message: string, listener?: string): Promise<Record<string, unknown>> => {
    const signal = AbortSignal.timeout(patienceMs);
    for (;;) {
      const found = find(message, listener);
      if (found !== undefined) return found;
      await once(child.stderr, "data", { signal });
    }
  };
  return { child, ended, logged };
}

function lastEntry(stderr: string): Record<string, unknown> {
  return JSON.parse(stderr.trimEnd().split("\n").at(-1) ?? "") as Record<string, unknown>;
}

test("--version names version, commit and Node", async (t) => {
  const { code, stdout, stderr } = await start(t, ["--version"]).ended;
  assert.match(stdout, /^podseidon \d+\.\d+\.\d+ \(commit \w+, Node v\d+\.\d+\.\d+\)\n$/);
  assert.deepEqual([code, stderr], [0, ""]);
});

test("--help goes to stdout and exits with 0", async (t) => {
  const { code, stdout, stderr } = await start(t, ["--help"]).ended;
  assert.match(stdout, /^Usage: podseidon --role=/);
  assert.deepEqual([code, stderr], [0, ""]);
});

test("--help of a role goes to stdout, and mistakes are a line each on stderr, also beside --help", async (t) => {
  const help = await start(t, ["--role=webhook", "--help"]).ended;
  assert.match(help.stdout, /^Usage: podseidon --role=webhook [^]*\nExamples:\n/);
  const wrong = await start(t, ["--help", "--nope", "--role=webhok"]).ended;
  assert.deepEqual([wrong.code, wrong.stdout], [2, ""]);
  assert.match(wrong.stderr, /^podseidon: unknown flag --nope [^\n]+\npodseidon: flag --role: [^\n]+\n$/);
});

test("by the name kubectl-podseidon it is a plug-in of kubectl, which runs commands and no roles", () => {
  const options = { argv0: "kubectl-podseidon", encoding: "utf8", timeout: patienceMs, stdio: "pipe" } as const;
  const help = execFileSync(process.execPath, [main, "--role=webhook"], options);
  assert.match(help, /^Usage: podseidon --role=.*\n {7}kubectl podseidon COMMAND/);
  const { status, stderr } = spawnSync(process.execPath, [main, "statsu"], options);
  assert.match(stderr, /^podseidon: unknown command "statsu"; allowed: status, .*version; did you mean status\?\n$/);
  assert.equal(status, 2);
});

test("a closed pipe at stdout is not an error", async (t) => {
  const { child, ended } = start(t, ["--help"]);
  child.stdout.destroy();
  const { code, stderr } = await ended;
  assert.deepEqual([code, stderr], [0, ""]);
});

/** A disk without room: every write fails with ENOSPC. Linux only, like the images. */
function fullDisk(t: TestContext): number {
  const file = openSync("/dev/full", "w");
  t.after(() => closeSync(file));
  return file;
}

test("output that cannot be written ends with exit code 1 and one plain line", async (t) => {
  const child = spawn(process.execPath, [main, "--help"], { env: {}, stdio: ["ignore", fullDisk(t), "pipe"] });
  t.after(() => child.kill("SIGKILL"));
  const ended = once(child, "close", { signal: AbortSignal.timeout(patienceMs) });
  const stderr = await text(child.stderr!);
  const [code] = (await ended) as [number | null];
  assert.equal(stderr, "podseidon: cannot write to stdout: ENOSPC: no space left on device, write\n");
  assert.equal(code, 1);
});

test("--print-config prints the effective settings", async (t) => {
  const { code, stdout } = await start(t, ["--role=webhook", "--print-config"], { PODSEIDON_FLAG_KLOG_V: "4" }).ended;
  assert.match(stdout, /^klog-v: 4 {2}# env PODSEIDON_FLAG_KLOG_V$/m);
  assert.equal(code, 0);
});

test("every source of mistakes ends with exit code 2 and one line on stderr", async (t) => {
  const cases: readonly [string[], Record<string, string>][] = [
    [["--role=webhok"], {}],
    [["--role=webhook", "--webhook-prot=1"], {}],
    [["--role=webhook", "--config=/does/not/exist"], {}],
    [["--role=webhook", "--config=/dev/zero"], {}],
    [["--role=webhook"], { PODSEIDON_FLAG_WEBHOOK_PORT: "tcp://10.0.0.1:80" }],
    [["positional"], {}],
    [[], {}],
  ];
  for (const [argv, env] of cases) {
    const { code, stdout, stderr } = await start(t, argv, env).ended;
    assert.deepEqual([code, stdout], [2, ""], argv.join(" "));
    assert.match(stderr, /^podseidon: [^\n]+\n$/);
  }
});

const freePorts = ["--healthz-port=0", "--prometheus-http-port=0"];

test("a kubeconfig that cannot be read ends every role with exit code 1 and a line that names it", async (t) => {
  const clusters = {
    generator: ["core"],
    aggregator: ["core", "worker"],
    webhook: ["core"],
    "update-trigger": ["worker"],
  };
  for (const [role, kinds] of Object.entries(clusters)) {
    const { code, stderr } = await start(
      t,
      [`--role=${role}`, ...kinds.map((kind) => `--${kind}-kube-config=/does/not/exist`), ...freePorts],
      { PODSEIDON_WEBHOOK_PORT: "tcp://10.0.0.1:80", PODSEIDON_FLAG_WEBHOOK_PORT: "0" },
    ).ended;
    assert.equal(code, 1, role);
    const { level, msg, reason } = lastEntry(stderr);
    assert.deepEqual([level, msg], ["error", "Cannot start"], role);
    assert.match(String(reason), /\/does\/not\/exist/, role);
    assert.doesNotMatch(stderr, /^\s+at /m);
  }
});

test("a port in use ends the process with exit code 1 and a line that names the flag", async (t) => {
  const server = createServer().listen(0, "127.0.0.1");
  t.after(() => server.close());
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const { code, stderr } = await start(t, [
    "--role=webhook",
    "--core-kube-master=http://127.0.0.1:1",
    "--healthz-bind-addr=127.0.0.1",
    `--healthz-port=${port}`,
    "--prometheus-http-port=0",
    "--webhook-port=0",
  ]).ended;
  assert.equal(code, 1);
  assert.match(String(lastEntry(stderr)["reason"]), /^healthz cannot listen on .* \(--healthz-port\)/);
});

test("all roles in one process run without an API server, are not ready, and stop when asked", async (t) => {
  const { child, ended, logged } = start(t, [
    "--role=webhook,aggregator,generator,update-trigger",
    "--core-kube-master=http://127.0.0.1:1",
    "--worker-kube-master=http://127.0.0.1:1",
    "--webhook-port=0",
    ...freePorts,
  ]);
  const health = await logged("Listening", "healthz");
  const metrics = await logged("Listening", "prometheus-http");
  const get = (listener: Record<string, unknown>, path: string): Promise<Response> => {
    const address = String(listener["address"]);
    return fetch(`http://${address.includes(":") ? `[${address}]` : address}:${String(listener["port"])}${path}`);
  };
  assert.equal((await get(health, "/livez")).status, 200);
  assert.equal((await get(health, "/readyz")).status, 500);
  assert.match(await (await get(metrics, "/")).text(), /^heartbeat /m);
  child.kill("SIGTERM");
  const { code, stderr } = await ended;
  assert.equal(code, 0, stderr);
});

test("SIGHUP reads the file again: another verbosity is applied, another port is named", async (t) => {
  const file = path.join(temporaryFolder(t), "config.yaml");
  writeFileSync(file, "klog-v: 0\nwebhook-port: 0");
  const argv = ["--role=webhook", "--core-kube-master=http://127.0.0.1:1", `--config=${file}`, ...freePorts];
  const { child, ended, logged } = start(t, argv);
  await logged("Startup complete");
  writeFileSync(file, "klog-v: 4\nwebhook-port: 1");
  child.kill("SIGHUP");
  const { level, "klog-v": verbosity, needsRestart } = await logged("Settings reloaded");
  assert.deepEqual([level, verbosity, needsRestart], ["info", 4, ["webhook-port"]]);
  child.kill("SIGTERM");
  assert.equal((await ended).code, 0);
});

test("the arguments of upstream's chart start each role unchanged, with its checks and one warning", async (t) => {
  const folder = temporaryFolder(t);
  const files = writePem(folder, await createPem("localhost"));
  // Instead of what a pod would find: the API server and the mounted files. The chart does not set these ports.
  const here = (argument: string): string =>
    argument
      .replace(/(-kube-master=)$/, "$1http://127.0.0.1:1")
      .replace("/mnt/webhook-tls-bundle/cert", files.certFile)
      .replace("/mnt/webhook-tls-bundle/key", files.keyFile);
  for (const [role, argv] of Object.entries(chartArguments)) {
    const { child, ended, logged } = start(t, argv.map(here), {
      PODSEIDON_FLAG_ROLE: role,
      PODSEIDON_FLAG_HEALTHZ_PORT: "0",
      PODSEIDON_FLAG_PPROF_PORT: "0",
      PODSEIDON_FLAG_PROMETHEUS_HTTP_PORT: "0",
      PODSEIDON_FLAG_WEBHOOK_HTTPS_PORT: "0",
    });
    const { port } = await logged("Listening", "healthz");
    await logged("Startup complete");
    const readiness = await (await fetch(`http://127.0.0.1:${String(port)}/readyz?verbose`)).text();
    const checks = new Set(Array.from(readiness.matchAll(/^\[[+-]\](\S+)/gm), ([, name = ""]) => name));
    const missing = new Set(upstreamNames.checks[role as keyof typeof chartArguments]).difference(checks);
    assert.deepEqual([...missing], []);
    child.kill("SIGTERM");
    const { code, stderr } = await ended;
    assert.equal(code, 0, stderr);
    const warnings = stderr.split("\n").filter((line) => line.includes("Flags of upstream are set"));
    assert.equal(warnings.length, 1, role);
    const { ignored } = JSON.parse(warnings[0] ?? "") as { ignored: Record<string, string> };
    assert.match(ignored["pprof-mutex-profile"] ?? "", /^The program has one thread/, role);
  }
});

const lonelyWebhook = ["--role=webhook", "--core-kube-master=http://127.0.0.1:1", "--webhook-port=0", ...freePorts];

test("a log that cannot be written does not end a role", async (t) => {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  const argv = [...lonelyWebhook, "--klog-v=10"].map((flag) =>
    flag === "--healthz-port=0" ? `--healthz-port=${port}` : flag,
  );
  const child = spawn(process.execPath, [main, "--healthz-bind-addr=127.0.0.1", ...argv], {
    env: {},
    stdio: ["ignore", "ignore", fullDisk(t)],
  });
  t.after(() => child.kill("SIGKILL"));
  const ended = once(child, "exit", { signal: AbortSignal.timeout(patienceMs) });
  const isLive = () =>
    fetch(`http://127.0.0.1:${port}/livez`).then(
      ({ status }) => status === 200,
      () => false,
    );
  while (child.exitCode === null && !(await isLive())) await pause(20);
  child.kill("SIGTERM");
  assert.deepEqual(await ended, [0, null]);
});

test("a second signal ends the process at once", async (t) => {
  const { child, ended, logged } = start(t, lonelyWebhook);
  await logged("Startup complete");
  child.kill("SIGTERM");
  await logged("Stopping");
  child.kill("SIGINT");
  assert.equal((await ended).code, 130);
});

test("a bug ends the process with exit code 70 and one line that reports it", async (t) => {
  const bug = 'process.on("SIGUSR2", () => Promise.reject(new Error("a bug")))';
  const { child, ended, logged } = start(t, lonelyWebhook, {}, [
    "--import",
    `data:text/javascript,${encodeURIComponent(bug)}`,
  ]);
  await logged("Startup complete");
  child.kill("SIGUSR2");
  const { code, stderr } = await ended;
  assert.equal(code, 70);
  const entry = JSON.parse(stderr.trimEnd().split("\n").at(-1) ?? "") as { msg: string; err: { message: string } };
  assert.deepEqual([entry.msg, entry.err.message], ["Crashed", "a bug"]);
});
