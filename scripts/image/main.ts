/**
 * `make image`: assembles the root file system of the image in dist/image/root-amd64, from which the Dockerfile takes
 * it, and the same as a tar file whose bytes depend on nothing but the executable and the pinned packages. For another
 * architecture than this machine's (--architecture) it builds the executable as well, and starts it under qemu.
 */
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { parseArgs } from "node:util";
import { messageOf } from "../../src/util/printable.ts";
import { ArgumentError, readArguments, runProgram } from "../command-line.ts";
import { readDockerfile } from "./image-root.ts";
import { type Architecture, foreignNode, ownArchitecture, readArchitecture } from "../sea/foreign-node.ts";
import { archive, assemble } from "./assemble.ts";
import { packageFiles, updatedPins } from "./debian-packages.ts";
import { startForeign } from "./foreign-start.ts";
import { pinsFile, readPins } from "./pins.ts";

const usage = "usage: node scripts/n.mjs scripts/image/main.ts [--architecture A] [--debs FOLDER | --update-pins]";
const repository = path.join(import.meta.dirname, "../..");
/** Takes ten seconds, and a download of 60 MB; the limit only ends one that hangs. */
const buildTimeoutMs = 900_000;
const cache = path.join(repository, "node_modules/.cache/image");

/** The same executable for another architecture, in a folder of its own. */
function buildForeign(folder: string, architecture: Architecture): void {
  foreignNode(repository, architecture); // what is wrong with a download is told here
  const args = [path.join(repository, "scripts/build.ts"), folder, `--architecture=${architecture}`];
  const built = spawnSync(process.execPath, args, { stdio: "inherit", timeout: buildTimeoutMs });
  if (built.status !== 0) throw new Error(`scripts/build.ts ended with ${built.status ?? built.signal}`);
}

function makeImage(architecture: Architecture, debs: string | undefined): void {
  const pins = readPins();
  const { executablePath } = readDockerfile(readFileSync(path.join(repository, "Dockerfile"), "utf8"));
  const isForeign = architecture !== ownArchitecture;
  const dist = path.join(repository, "dist");
  const built = isForeign ? path.join(dist, architecture) : dist;
  if (isForeign) buildForeign(built, architecture);
  const image = path.join(dist, "image");
  mkdirSync(image, { recursive: true });
  const root = path.join(image, `root-${architecture}`);
  const files = packageFiles({ pins, cache, debs }, architecture);
  assemble({ architecture, pins, debs: files, built, executablePath, root });
  if (isForeign) {
    const { version } = JSON.parse(readFileSync(path.join(repository, "package.json"), "utf8")) as { version: string };
    console.log(startForeign({ architecture, root, executablePath, version }));
  }
  const tar = path.join(image, `podseidon-${architecture}.tar`);
  console.log(`${path.relative(repository, tar)}: sha256 ${archive(root, tar)}`);
}

await runProgram("image", usage, async (args) => {
  const options = {
    architecture: { type: "string", default: ownArchitecture },
    debs: { type: "string" },
    "update-pins": { type: "boolean" },
  } as const;
  const { values } = readArguments(() => parseArgs({ args: [...args], options }));
  if (values.debs !== undefined && values["update-pins"] === true)
    throw new ArgumentError("--update-pins asks apt, so it cannot be combined with --debs");
  const architecture = readArchitecture(values.architecture);
  try {
    if (values["update-pins"] !== true) return makeImage(architecture, values.debs);
    writeFileSync(pinsFile, `${JSON.stringify(updatedPins(readPins(), cache), null, 2)}\n`);
  } catch (error) {
    process.stderr.write(`image: ${messageOf(error)}\n`);
    process.exitCode = 1;
  }
});
