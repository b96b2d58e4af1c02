// `make build`: dist/podseidon, a Node single executable application. Steps: bundle the sources; copy and strip the
// pinned Node; inject the bundle, with its code cache. Two builds of one commit on one kind of machine have the same
// bytes. Reasons and measurements: docs/decisions/0001-toolchain.md.
//
// FOLDER is emptied first (default: dist). Another architecture than this machine's is for its image.
import { execFileSync, spawnSync } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  cpSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { parseArgs } from "node:util";
import { readArguments, runProgram } from "./command-line.ts";
import { bundle, filesInBundle } from "./sea/bundle.ts";
import { type Architecture, foreignNode, ownArchitecture, readArchitecture } from "./sea/foreign-node.ts";
import { describeLicences } from "./sea/licences.ts";
import { billOfMaterials, withNodeOf } from "./sea/sbom.ts";

const root = path.join(import.meta.dirname, "..");
const usage = "usage: node scripts/n.mjs scripts/build.ts [FOLDER] [--architecture amd64|arm64]";
const entry = "src/main.ts";
/** What the program carries, by the names under which it asks for them (src/carried/files.ts). */
const carriedFolders = [
  "assets",
  ...["base", "components", "systemd", "api-server"].map((name) => `manifests/${name}`),
];
const carriedCopy = "carried";
/** Each step takes seconds on a quiet machine; the limit only ends one that hangs. */
const stepTimeoutMs = 600_000;

function readCommit(): string {
  const git = (...args: string[]): string | undefined => {
    const result = spawnSync("git", args, { cwd: root, encoding: "utf8", timeout: stepTimeoutMs });
    return result.status === 0 ? result.stdout.trim() : undefined;
  };
  const commit = git("rev-parse", "--short=12", "HEAD");
  if (commit === undefined) return "unknown";
  return git("status", "--porcelain", "--untracked-files=no") === "" ? commit : `${commit}-dirty`;
}

/** Strips files of another architecture, by Debian's packages binutils-ARCHITECTURE. */
const foreignStrips = { amd64: "x86_64-linux-gnu-strip", arm64: "aarch64-linux-gnu-strip" } as const;

/**
 * Copies a Node and strips its symbols, which saves 34 MB. Stripping after the injection would break the executable.
 * Debian's `strip` knows the files of its own architecture alone.
 */
function copyNode(from: string, to: string, strip: string): void {
  copyFileSync(from, to);
  chmodSync(to, 0o755);
  const stripped = spawnSync(strip, [to], { encoding: "utf8", timeout: stepTimeoutMs });
  if (stripped.error !== undefined)
    console.log(`build: ${strip} (binutils) is not installed: the executable keeps 34 MB of symbols`);
  else if (stripped.status !== 0) throw new Error(`${strip}: ${stripped.stderr}`);
}

/** Copies what is carried; resolves to the copies by the names of the originals. */
function copyCarried(dist: string): Record<string, string> {
  for (const folder of carriedFolders)
    cpSync(path.join(root, folder), path.join(dist, carriedCopy, folder), { recursive: true });
  const entries = readdirSync(path.join(dist, carriedCopy), { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((file) => path.join(file.parentPath, file.name));
  return Object.fromEntries(
    files
      .map((file) => path.relative(dist, file))
      .toSorted()
      .map((file) => [path.relative(carriedCopy, file), file]),
  );
}

/** All names are relative to `dist`: they are part of the executable, which must not depend on where it is built. */
function inject(
  dist: string,
  { main, executable, output }: { main: string; executable: string; output: string },
  isForeign: boolean,
): void {
  const config = "sea.json";
  writeFileSync(
    path.join(dist, config),
    JSON.stringify({
      main,
      mainFormat: "module",
      executable,
      output,
      assets: copyCarried(dist),
      disableExperimentalSEAWarning: true,
      useSnapshot: false, // node:http cannot be in a snapshot
      useCodeCache: !isForeign, // saves 35 ms and 10 MB at each start; only the same V8 can make it
      execArgv: ["--disable-sigusr1"], // nobody opens a debugger's port by a signal
      execArgvExtension: "env", // honors NODE_OPTIONS, for the heap limit and diagnosis
    }),
  );
  // V8 numbers what it compiles at random, so that the code cache of each build would differ. A fixed hash seed would
  // do the same, but then the executable does not accept its cache.
  const args = ["--random-seed=1", "--build-sea", config];
  execFileSync(process.execPath, args, { cwd: dist, stdio: "pipe", timeout: stepTimeoutMs });
}

async function build(dist: string, architecture: Architecture): Promise<void> {
  const startMs = performance.now();
  const { version } = JSON.parse(readFileSync(path.join(root, "package.json"), "utf8")) as { version: string };
  const commit = readCommit();
  rmSync(dist, { recursive: true, force: true });
  mkdirSync(dist, { recursive: true });
  const isForeign = architecture !== ownArchitecture;
  const nodeBinary = isForeign ? foreignNode(root, architecture) : process.execPath;
  const [main, node, output] = ["podseidon.mjs", "node", "podseidon"] as const;

  const metafile = await bundle(root, entry, path.join(dist, main), { commit });
  const licences = describeLicences(root, filesInBundle(metafile), nodeBinary);
  writeFileSync(path.join(dist, "THIRD-PARTY-LICENSES.txt"), licences);
  const bill = billOfMaterials(root);
  const lockFile = readFileSync(path.join(root, "package-lock.json"), "utf8");
  writeFileSync(path.join(dist, "sbom.cdx.json"), isForeign ? withNodeOf(bill, architecture, lockFile) : bill);
  copyNode(nodeBinary, path.join(dist, node), isForeign ? foreignStrips[architecture] : "strip");
  inject(dist, { main, executable: node, output }, isForeign);
  for (const intermediate of [main, node, "sea.json", carriedCopy])
    rmSync(path.join(dist, intermediate), { recursive: true });
  // By this name kubectl finds its plug-ins: `kubectl podseidon status`.
  symlinkSync(output, path.join(dist, "kubectl-podseidon"));

  const took = ((performance.now() - startMs) / 1000).toFixed(1);
  const size = (statSync(path.join(dist, output)).size / 1e6).toFixed(1);
  const built = path.relative(root, path.join(dist, output));
  console.log(`${built}: ${version} (${commit}), Node ${process.version}, ${size} MB, built in ${took} s`);
}

await runProgram("build", usage, async (args) => {
  const options = { architecture: { type: "string", default: ownArchitecture } } as const;
  const { values, positionals } = readArguments(() => parseArgs({ args: [...args], options, allowPositionals: true }));
  await build(path.resolve(root, positionals[0] ?? "dist"), readArchitecture(values.architecture));
});
