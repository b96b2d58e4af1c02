/**
 * Builds a program that tests need with `go build`, from a module that pins its version. For scripts/kube-assets.ts and
 * scripts/go/go-tool.ts.
 */
import { spawn, spawnSync } from "node:child_process";
import { accessSync, constants, mkdirSync, renameSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";

export interface GoProgram {
  /** In messages: what the lines of progress begin with. */
  readonly title: string;
  readonly name: string;
  /** The Go package. */
  readonly goPackage: string;
  /** Of the module whose go.mod pins the version. */
  readonly moduleDirectory: string;
  readonly flags: readonly string[];
}

/** The first Go that downloads the toolchain which a go.mod asks for. */
export const goMinorMin = 21;
/** For one program. A cold build of the five of Kubernetes took 5 to 10 minutes on two cores. */
const buildLimitMs = 30 * 60_000;
const progressIntervalMs = 20_000;
const errorLinesMax = 30;

/** The folder of what was built before, in the cache of the user: `$XDG_CACHE_HOME/podseidon`. */
export function cacheRoot(environment: NodeJS.ProcessEnv): string {
  return path.join(environment["XDG_CACHE_HOME"] || path.join(os.homedir(), ".cache"), "podseidon");
}

export function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Why nothing can be built, for people; undefined = there is a Go that can. */
export function goProblem(environment: NodeJS.ProcessEnv): string | undefined {
  const result = spawnSync("go", ["env", "GOVERSION"], { env: environment, encoding: "utf8", timeout: 30_000 });
  const version = /^go1\.(\d+)/.exec(result.stdout ?? "");
  if (version !== null && Number(version[1]) >= goMinorMin) return undefined;
  return result.error === undefined ? `go is too old: ${result.stdout.trim()}` : "go is not installed";
}

/**
 * Builds into `directory` and resolves to the path of the program. `report` receives lines about progress. Resolves to
 * the last lines of go where it fails. Builds beside the destination and renames, so that an interrupted build does not
 * look finished.
 */
export async function buildGoProgram(
  program: GoProgram,
  directory: string,
  report: (line: string) => void,
  environment: NodeJS.ProcessEnv,
): Promise<{ readonly file: string } | { readonly failure: string }> {
  const { title, name } = program;
  mkdirSync(directory, { recursive: true });
  const destination = path.join(directory, name);
  const unfinished = `${destination}.building-${process.pid}`;
  const startMs = performance.now();
  let downloads = 0;
  let compiled = 0;
  const elapsed = (): string => `${Math.round((performance.now() - startMs) / 1000)} s`;
  const progress = setInterval(() => {
    report(`${title}: ${name}: ${downloads} modules downloaded, ${compiled} packages compiled, ${elapsed()}`);
  }, progressIntervalMs);
  try {
    const lines: string[] = [];
    const code = await goBuild(program, unfinished, environment, (line) => {
      if (line.startsWith("go: downloading ")) downloads++;
      else if (/^[\w./-]+$/.test(line)) compiled++;
      else if (lines.push(line) > errorLinesMax) lines.shift();
    });
    if (code !== 0) return { failure: `go build of ${name} failed (${code}):\n${lines.join("\n")}` };
    renameSync(unfinished, destination);
    report(`${title}: ${name} built in ${elapsed()} (${compiled} packages)`);
    return { file: destination };
  } finally {
    clearInterval(progress);
    rmSync(unfinished, { force: true });
  }
}

/**
 * Resolves to the exit code or the signal's name; `onLine` receives what go writes to stderr (-v names each compiled
 * package).
 */
function goBuild(
  { goPackage, moduleDirectory, flags }: GoProgram,
  output: string,
  environment: NodeJS.ProcessEnv,
  onLine: (line: string) => void,
): Promise<number | string> {
  const child = spawn("go", ["build", "-v", ...flags, "-o", output, goPackage], {
    cwd: moduleDirectory,
    env: { ...environment, CGO_ENABLED: "0", GOWORK: "off" },
    stdio: ["ignore", "ignore", "pipe"],
    timeout: buildLimitMs,
  });
  // The terminal sends Ctrl-C to go as well; a signal to this process alone is passed on.
  const stop = (): void => void child.kill("SIGTERM");
  process.once("SIGTERM", stop);
  let rest = "";
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) onLine(line);
  });
  return new Promise<number | string>((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code, signal) => resolve(code ?? signal ?? "no exit code"));
  }).finally(() => process.off("SIGTERM", stop));
}
