// `make build`: dist/podseidon, a Node single executable application. Steps: bundle the sources; copy and strip the
// pinned Node; inject the bundle, with its code cache. Two builds of one commit on one kind of machine have the same
// bytes. Reasons and measurements: docs/decisions/0001-toolchain.md.
//
//   node scripts/n.mjs scripts/build.ts [FOLDER]      the folder is emptied first; default: dist
import { execFileSync, spawnSync } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { pageFiles } from "../src/commands/dashboard/page-files.ts";
import { bundle, filesInBundle } from "./sea/bundle.ts";
import { describeLicences } from "./sea/licences.ts";
import { billOfMaterials } from "./sea/sbom.ts";

const root = path.join(import.meta.dirname, "..");
const dist = path.resolve(root, process.argv[2] ?? "dist");
const entry = "src/main.ts";
const assetFolder = "assets";
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

/** The files of the dashboard's page, by the names under which the program asks for them. */
function copyAssets(): Record<string, string> {
  const from = path.join(root, "src/commands/dashboard/page");
  mkdirSync(path.join(dist, assetFolder));
  return Object.fromEntries(
    pageFiles.map((name) => {
      copyFileSync(path.join(from, name), path.join(dist, assetFolder, name));
      return [`dashboard/${name}`, `${assetFolder}/${name}`];
    }),
  );
}

/** All names are relative to `dist`: they are part of the executable, which must not depend on where it is built. */
function inject(main: string, executable: string, output: string): void {
  const config = "sea.json";
  writeFileSync(
    path.join(dist, config),
    JSON.stringify({
      main,
      mainFormat: "module",
      executable,
      output,
      assets: copyAssets(),
      disableExperimentalSEAWarning: true,
      useSnapshot: false, // node:http cannot be in a snapshot
      useCodeCache: true, // saves 35 ms and 10 MB at each start
      execArgv: ["--disable-sigusr1"], // nobody opens a debugger's port by a signal
      execArgvExtension: "env", // honors NODE_OPTIONS, for the heap limit and diagnosis
    }),
  );
  // V8 numbers what it compiles at random, so that the code cache of each build would differ. A fixed hash seed would
  // do the same, but then the executable does not accept its cache.
  const args = ["--random-seed=1", "--build-sea", config];
  execFileSync(process.execPath, args, { cwd: dist, stdio: "pipe", timeout: stepTimeoutMs });
}

async function build(): Promise<void> {
  const startMs = performance.now();
  const { version } = JSON.parse(readFileSync(path.join(root, "package.json"), "utf8")) as { version: string };
  const commit = readCommit();
  rmSync(dist, { recursive: true, force: true });
  mkdirSync(dist);
  const [main, node, output] = ["podseidon.mjs", "node", "podseidon"] as const;

  const metafile = await bundle(root, entry, path.join(dist, main), { commit });
  const licences = describeLicences(root, filesInBundle(metafile), process.execPath);
  writeFileSync(path.join(dist, "THIRD-PARTY-LICENSES.txt"), licences);
  writeFileSync(path.join(dist, "sbom.cdx.json"), billOfMaterials(root));
  copyNode(path.join(dist, node));
  inject(main, node, output);
  for (const intermediate of [main, node, "sea.json", assetFolder])
    rmSync(path.join(dist, intermediate), { recursive: true });
  // By this name kubectl finds its plug-ins: `kubectl podseidon status`.
  symlinkSync(output, path.join(dist, "kubectl-podseidon"));

  const took = ((performance.now() - startMs) / 1000).toFixed(1);
  const size = (statSync(path.join(dist, output)).size / 1e6).toFixed(1);
  console.log(`dist/podseidon: ${version} (${commit}), Node ${process.version}, ${size} MB, built in ${took} s`);
}

await build();
