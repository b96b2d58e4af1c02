// `make build`: dist/podseidon, a Node single executable application. Steps: bundle the sources; copy and strip the
// pinned Node; inject the bundle, with its code cache. Reasons and measurements: docs/decisions/0001-toolchain.md.
import { execFileSync, spawnSync } from "node:child_process";
import { chmodSync, copyFileSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { bundle, filesInBundle } from "./sea/bundle.ts";
import { describeLicences } from "./sea/licences.ts";

const root = path.join(import.meta.dirname, "..");
const dist = path.join(root, "dist");
const entry = "src/main.ts";
/** Each step takes seconds; the limit only ends one that hangs. */
const stepTimeoutMs = 120_000;

function readCommit(): string {
  const git = (...args: string[]): string | undefined => {
    const result = spawnSync("git", args, { cwd: root, encoding: "utf8", timeout: stepTimeoutMs });
    return result.status === 0 ? result.stdout.trim() : undefined;
  };
  const commit = git("rev-parse", "--short=12", "HEAD");
  if (commit === undefined) return "unknown";
  return git("status", "--porcelain", "--untracked-files=no") === "" ? commit : `${commit}-dirty`;
}

/**
 * Copies the Node that runs this script and strips its symbols, which saves 34 MB. Stripping after the injection would
 * break the executable.
 */
function copyNode(to: string): void {
  copyFileSync(process.execPath, to);
  chmodSync(to, 0o755);
  const stripped = spawnSync("strip", [to], { encoding: "utf8", timeout: stepTimeoutMs });
  if (stripped.error !== undefined)
    console.log("build: strip (binutils) is not installed: the executable keeps 34 MB of symbols");
  else if (stripped.status !== 0) throw new Error(`strip: ${stripped.stderr}`);
}

function inject(main: string, executable: string, output: string): void {
  const config = path.join(dist, "sea.json");
  writeFileSync(
    config,
    JSON.stringify({
      main,
      mainFormat: "module",
      executable,
      output,
      disableExperimentalSEAWarning: true,
      useSnapshot: false, // node:http cannot be in a snapshot
      useCodeCache: true, // saves 35 ms and 10 MB at each start
      execArgvExtension: "env", // honors NODE_OPTIONS, for the heap limit and diagnosis
    }),
  );
  execFileSync(process.execPath, ["--build-sea", config], { cwd: root, stdio: "pipe", timeout: stepTimeoutMs });
}

async function build(): Promise<void> {
  const startMs = performance.now();
  const { version } = JSON.parse(readFileSync(path.join(root, "package.json"), "utf8")) as { version: string };
  const commit = readCommit();
  rmSync(dist, { recursive: true, force: true });
  mkdirSync(dist);
  const [main, node, output] = ["podseidon.mjs", "node", "podseidon"].map((name) => path.join(dist, name)) as [
    string,
    string,
    string,
  ];

  const metafile = await bundle(root, entry, main, { commit });
  const licences = describeLicences(root, filesInBundle(metafile), process.execPath);
  writeFileSync(path.join(dist, "THIRD-PARTY-LICENSES.txt"), licences);
  copyNode(node);
  inject(main, node, output);
  for (const intermediate of ["podseidon.mjs", "node", "sea.json"]) rmSync(path.join(dist, intermediate));

  const took = ((performance.now() - startMs) / 1000).toFixed(1);
  const size = (statSync(output).size / 1e6).toFixed(1);
  console.log(`dist/podseidon: ${version} (${commit}), Node ${process.version}, ${size} MB, built in ${took} s`);
}

await build();
