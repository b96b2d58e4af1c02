/**
 * `make image`: assembles the root file system of the image in dist/image/root-amd64, from which the Dockerfile takes
 * it, and the same as a tar file whose bytes depend on nothing but the executable and the pinned packages.
 */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { parseArgs } from "node:util";
import { messageOf } from "../../src/util/error-message.ts";
import { ArgumentError, readArguments, runProgram } from "../command-line.ts";
import { readDockerfile } from "../image-root.ts";
import { archive, assemble } from "./assemble.ts";
import { packageFiles, updatedPins } from "./debian-packages.ts";
import { pinsFile, readPins } from "./pins.ts";

const usage = "usage: node scripts/n.mjs scripts/image/main.ts [--debs FOLDER | --update-pins]";
const repository = path.join(import.meta.dirname, "../..");
const cache = path.join(repository, "node_modules/.cache/image");

function makeImage(debs: string | undefined): void {
  const pins = readPins();
  const { executablePath } = readDockerfile(readFileSync(path.join(repository, "Dockerfile"), "utf8"));
  const architecture = process.arch === "arm64" ? "arm64" : "amd64";
  const built = path.join(repository, "dist");
  const image = path.join(built, "image");
  mkdirSync(image, { recursive: true });
  const root = path.join(image, `root-${architecture}`);
  const files = packageFiles({ pins, cache, debs }, architecture);
  assemble({ architecture, pins, debs: files, built, executablePath, root });
  const tar = path.join(image, `podseidon-${architecture}.tar`);
  console.log(`${path.relative(repository, tar)}: sha256 ${archive(root, tar)}`);
}

await runProgram("image", usage, async (args) => {
  const options = { debs: { type: "string" }, "update-pins": { type: "boolean" } } as const;
  const { values } = readArguments(() => parseArgs({ args: [...args], options }));
  if (values.debs !== undefined && values["update-pins"] === true)
    throw new ArgumentError("--update-pins asks apt, so it cannot be combined with --debs");
  try {
    if (values["update-pins"] !== true) return makeImage(values.debs);
    writeFileSync(pinsFile, `${JSON.stringify(updatedPins(readPins(), cache), null, 2)}\n`);
  } catch (error) {
    process.stderr.write(`image: ${messageOf(error)}\n`);
    process.exitCode = 1;
  }
});
