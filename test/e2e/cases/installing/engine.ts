/**
 * The image by a container engine, where one is installed: built from the Dockerfile, and every role run from it
 * against a real API server. And the image for another processor architecture than this machine's, by `make image`:
 * assembled from the pinned packages of that architecture, and started under qemu where that is installed.
 */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { assembleImageRoot } from "../../../../scripts/image/image-root.ts";
import { emulators } from "../../../../scripts/image/foreign-start.ts";
import { ownArchitecture } from "../../../../scripts/sea/foreign-node.ts";
import { installAllRoles, runRoles } from "./packaging.ts";
import { dockerfile } from "../../installed/manifest-pods.ts";
import { removeOverlay } from "../../overlay.ts";
import { type CaseContext, e2eCases, type Figures } from "../../runner/runner.ts";
import { Engine } from "../../../packaging/engine.ts";

const second = 1_000;
const executable = fileURLToPath(new URL("../../../../dist/podseidon", import.meta.url));
const architecture = process.arch === "arm64" ? "arm64" : "amd64";

export const engineCases = e2eCases({
  // The engine is waited for by this process, which serves the clusters of other cases, too.
  "packaging: a container engine builds the image from the Dockerfile and runs every role from it": [
    150 * second,
    run,
    { isAlone: true },
  ],
});

async function run(context: CaseContext): Promise<Figures> {
  const obstacle = Engine.obstacle();
  if (obstacle !== undefined) {
    context.say(`the image was NOT built and run by a container engine: that ${obstacle}`);
    return { engine: `not run (${obstacle})` };
  }
  const core = await context.cluster("core");
  const folder = await installAllRoles(context, core);
  const { engine, root, image } = build(context);
  const { user, env, ports, executablePath } = root.facts;
  assert.equal(image.architecture, architecture);
  assert.equal(image.user, `${user.uid}:${user.gid}`);
  assert.deepEqual(new Set(image.ports), new Set(ports));
  assert.deepEqual(image.entrypoint, [executablePath]);
  for (const [name, value] of Object.entries(env)) assert.equal(image.env[name], value, name);
  const ran = await runRoles(context, core, root, {
    name: "engine's container",
    run: (options) => engine.run(options),
  });
  await removeOverlay(context, core, folder);
  return { engine: ran };
}

/** Builds in a folder like a checkout after `make image`, with the libraries of this machine. */
function build(context: CaseContext): { engine: Engine } & ReturnType<Engine["build"]> {
  const checkout = path.join(context.directory, "checkout");
  const folder = path.join(checkout, `dist/image/root-${architecture}`);
  mkdirSync(folder, { recursive: true });
  const { facts } = assembleImageRoot({ executable, dockerfile, folder });
  for (const name of ["Dockerfile", ".dockerignore"])
    copyFileSync(path.join(path.dirname(dockerfile), name), path.join(checkout, name));
  const engine = new Engine(path.join(context.directory, "engine"));
  context.cleanup(() => engine.close());
  return { engine, ...engine.build(checkout, facts) };
}

const program = fileURLToPath(new URL("../../../../scripts/image/main.ts", import.meta.url));
const foreignArchitecture = ownArchitecture === "amd64" ? "arm64" : "amd64";
/** What `make image` says where mirrors or the registry cannot be asked, or have no such version any more. */
const networkComplaint = /^image: .*(?:apt-get|this machine's apt|the mirrors do not have|npm pack).*$/m;

export const foreignImageCases = e2eCases({
  // Half a minute; the first time it downloads 60 MB.
  "packaging: the image for the other architecture is assembled, and starts under qemu where that is": [
    300 * second,
    runForeign,
  ],
});

async function runForeign(context: CaseContext): Promise<Figures> {
  const made = context.processes.start({
    name: "image",
    command: process.execPath,
    args: [program, `--architecture=${foreignArchitecture}`],
    logFile: path.join(context.directory, "image.log"),
  });
  const { code } = await made.exited;
  const [complaint] = networkComplaint.exec(made.log()) ?? [];
  if (code === 1 && complaint !== undefined) {
    context.say(`the image for ${foreignArchitecture} was NOT made: ${complaint}`);
    return { [foreignArchitecture]: "not made" };
  }
  assert.equal(code, 0, made.log());
  assert.match(made.log(), new RegExp(`image/podseidon-${foreignArchitecture}\\.tar: sha256 [0-9a-f]{64}$`, "m"));
  const emulator = emulators[foreignArchitecture];
  if (spawnSync(emulator, ["--version"]).status === 0) {
    assert.match(made.log(), new RegExp(`^image: started by ${emulator}: podseidon `, "m"));
    return { [foreignArchitecture]: "made and started" };
  }
  assert.match(made.log(), /^image: not started, because/m);
  context.say(`the image for ${foreignArchitecture} was NOT started: ${emulator} is not installed`);
  return { [foreignArchitecture]: "made" };
}
