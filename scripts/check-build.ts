// Checks what `make build` made, as a user starts it: alone in an empty folder, with an empty environment; and that a
// second build has the same bytes.
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  copyFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import os from "node:os";
import path from "node:path";

const root = path.join(import.meta.dirname, "..");
/** Node takes 116 MB; the rest is for the bundle and its code cache. */
const bytesMax = 125e6;
/**
 * How many times bare Node's processor time `--version` may take. Measured: 2.6 to 3.1 times. Where Node takes 31 ms,
 * the limit is 124 ms. Wall time would measure how busy the machine is.
 */
const startRatioMax = 4;
/** The cheapest of these starts counts: other load on the machine can only make a start dearer. */
const runs = 9;
/** A start takes a tenth of a second; the limit only ends one that hangs. */
const runTimeoutMs = 60_000;
/** A build takes ten seconds. */
const buildTimeoutMs = 200_000;

interface Start {
  readonly cpuMs: number;
  readonly printed: string;
}

/** Starts a program in `folder` with an empty environment. Bash reports the processor time of its children. */
function start(folder: string, ...command: readonly string[]): Start {
  const script = `TIMEFORMAT="%3U %3S"; time env -i "$@" || exit $?`;
  const args = ["-c", script, "bash", ...command];
  const env = { PATH: process.env["PATH"], LC_ALL: "C" };
  const result = spawnSync("bash", args, { cwd: folder, env, encoding: "utf8", timeout: runTimeoutMs });
  if (result.status !== 0) {
    throw new Error(`${command.slice(1).join(" ")} exited with ${result.status ?? result.signal}: ${result.stderr}`);
  }
  const [user, system] = (result.stderr.trim().split("\n").at(-1) ?? "").split(" ").map(Number);
  return { cpuMs: 1000 * ((user ?? Number.NaN) + (system ?? Number.NaN)), printed: result.stdout.trim() };
}

function check(folder: string): string[] {
  const executable = path.join(folder, "podseidon");
  copyFileSync(path.join(root, "dist/podseidon"), executable);
  const bytes = statSync(executable).size;

  const own: Start[] = [];
  const bare: Start[] = [];
  for (let run = 0; run < runs; run += 1) {
    bare.push(start(folder, process.execPath, "--eval", "0"));
    own.push(start(folder, executable, "--version"));
  }
  const cheapest = (starts: readonly Start[]): number => Math.min(...starts.map(({ cpuMs }) => cpuMs));
  const [ownMs, bareMs] = [cheapest(own), cheapest(bare)];
  const ratio = ownMs / bareMs;
  const printed = own[0]?.printed ?? "";
  const times = `${ratio.toFixed(1)} times bare Node's ${bareMs.toFixed(0)} ms`;
  const cost = `${ownMs.toFixed(0)} ms of processor time, ${times}`;
  console.log(`dist/podseidon: ${(bytes / 1e6).toFixed(1)} MB, --version takes ${cost}: ${printed}`);
  const { version } = JSON.parse(readFileSync(path.join(root, "package.json"), "utf8")) as { version: string };
  const missing = [version, process.version.slice(1)].filter((part) => !printed.includes(part));
  return [
    ...missing.map((part) => `--version does not print ${part}`),
    ...(bytes > bytesMax ? [`it has ${bytes} bytes, more than ${bytesMax}`] : []),
    // NaN must not pass.
    ...(ratio <= startRatioMax ? [] : [`--version takes ${cost}: more than ${startRatioMax} times`]),
  ];
}

/** Whether the page of `podseidon dashboard` is inside: its files are assets, which only the executable has. */
async function checkDashboard(folder: string): Promise<string[]> {
  const kubeconfig = path.join(folder, "kubeconfig");
  // Nobody listens there: the page comes all the same, and says that it has no cluster.
  const cluster = { name: "none", cluster: { server: "http://127.0.0.1:9" } };
  const context = { name: "none", context: { cluster: "none", user: "none" } };
  const user = { name: "none", user: {} };
  const config = { "current-context": "none", clusters: [cluster], contexts: [context], users: [user] };
  writeFileSync(kubeconfig, JSON.stringify(config));
  const args = ["dashboard", `--kubeconfig=${kubeconfig}`];
  const child = spawn(path.join(folder, "podseidon"), args, { cwd: folder, env: {}, timeout: runTimeoutMs });
  let printed = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => void (printed += text));
  }
  const ended = once(child, "exit");
  const said = once(child.stdout, "data");
  await Promise.race([said, ended]);
  const [url] = /http:\S+/.exec(printed) ?? [];
  const page = url === undefined ? "" : await (await fetch(url)).text();
  child.kill("SIGTERM");
  const [code] = (await ended) as [number | null];
  if (code !== 0) return [`dashboard ended with ${code ?? "a signal"}: ${printed}`];
  if (!page.includes("<title>Podseidon</title>")) return [`dashboard does not serve its page: ${printed}`];
  console.log(`dist/podseidon: dashboard serves its page, ${(page.length / 1000).toFixed(0)} kB`);
  return [];
}

/** Builds once more, and compares all files. */
function checkSecondBuild(folder: string): string[] {
  const args = [path.join(root, "scripts/build.ts"), folder];
  const result = spawnSync(process.execPath, args, { encoding: "utf8", timeout: buildTimeoutMs });
  if (result.status !== 0) return [`the second build exited with ${result.status ?? result.signal}: ${result.stderr}`];
  const problems = readdirSync(path.join(root, "dist")).flatMap((name) => {
    const [first, second] = [path.join(root, "dist"), folder].map((where) => path.join(where, name));
    const isSame = existsSync(second ?? "") && readFileSync(first ?? "").equals(readFileSync(second ?? ""));
    return isSame ? [] : [`two builds differ in ${name}`];
  });
  if (problems.length === 0) console.log("dist/podseidon: a second build has the same bytes");
  return problems;
}

const folder = mkdtempSync(path.join(os.tmpdir(), "podseidon-check-build-"));
try {
  const problems = [
    ...check(folder),
    ...(await checkDashboard(folder)),
    ...checkSecondBuild(path.join(folder, "again")),
  ];
  for (const problem of problems) console.error(`dist/podseidon: ${problem}`);
  process.exitCode = problems.length === 0 ? 0 : 1;
} finally {
  rmSync(folder, { recursive: true });
}
