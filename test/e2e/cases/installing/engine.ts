/**
 * The image by a container engine, where one is installed: built from the Dockerfile, and every role run from it
 * against a real API server.
 */
import assert from "node:assert/strict";
import { copyFileSync, mkdirSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { assembleImageRoot } from "../../../../scripts/image/image-root.ts";
import { Engine } from "../../../packaging/engine.ts";
import { dockerfile } from "../../installed/manifest-pods.ts";
import { removeOverlay } from "../../overlay.ts";
import { type CaseContext, e2eCases, type Figures } from "../../runner/runner.ts";
import { installAllRoles, runRoles } from "./packaging.ts";

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
