/**
 * The image for another processor architecture than this machine's, by `make image`: assembled from the pinned packages
 * of that architecture, and started under qemu where that is installed.
 */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { emulators } from "../../../../scripts/image/foreign-start.ts";
import { ownArchitecture } from "../../../../scripts/sea/foreign-node.ts";
import { type CaseContext, e2eCases, type Figures } from "../../runner/runner.ts";

const second = 1_000;
const program = fileURLToPath(new URL("../../../../scripts/image/main.ts", import.meta.url));
const architecture = ownArchitecture === "amd64" ? "arm64" : "amd64";
/** What `make image` says where mirrors or the registry cannot be asked, or have no such version any more. */
const networkComplaint = /^image: .*(?:apt-get|this machine's apt|the mirrors do not have|npm pack).*$/m;

export const foreignImageCases = e2eCases({
  // Half a minute; the first time it downloads 60 MB.
  "packaging: the image for the other architecture is assembled, and starts under qemu where that is": [
    300 * second,
    run,
  ],
});

async function run(context: CaseContext): Promise<Figures> {
  const made = context.processes.start({
    name: "image",
    command: process.execPath,
    args: [program, `--architecture=${architecture}`],
    logFile: path.join(context.directory, "image.log"),
  });
  const { code } = await made.exited;
  const [complaint] = networkComplaint.exec(made.log()) ?? [];
  if (code === 1 && complaint !== undefined) {
    context.say(`the image for ${architecture} was NOT made: ${complaint}`);
    return { [architecture]: "not made" };
  }
  assert.equal(code, 0, made.log());
  assert.match(made.log(), new RegExp(`image/podseidon-${architecture}\\.tar: sha256 [0-9a-f]{64}$`, "m"));
  const emulator = emulators[architecture];
  if (spawnSync(emulator, ["--version"]).status === 0) {
    assert.match(made.log(), new RegExp(`^image: started by ${emulator}: podseidon `, "m"));
    return { [architecture]: "made and started" };
  }
  assert.match(made.log(), /^image: not started, because/m);
  context.say(`the image for ${architecture} was NOT started: ${emulator} is not installed`);
  return { [architecture]: "made" };
}
