/**
 * The blocks of commands of README and docs that are marked `run` (test/pages/command-blocks.ts), run as they stand by
 * bash on the fleet of `make playground`, with the real kubectl and the built executable.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { spawn } from "node:child_process";
import { mkdirSync, symlinkSync } from "node:fs";
import path from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { startPlayground } from "../../../../scripts/playground/playground.ts";
import { createSystemClock } from "../../../../src/util/system-clock.ts";
import { allCommandBlocks, type CommandBlock } from "../../../pages/command-blocks.ts";
import { type CaseContext, e2eCases, type Figures } from "../../runner/runner.ts";

const second = 1_000;
const root = fileURLToPath(new URL("../../../..", import.meta.url));
const executable = fileURLToPath(new URL("../../../../dist/podseidon", import.meta.url));

export const pageCases = e2eCases({
  "pages: every block of commands that is marked as run works on a guarded fleet": [240 * second, pages],
});

/** What the pages leave to their readers, as they write it. */
const placeholders: Readonly<Record<string, string>> = {
  NAMESPACE: "shop",
  NAME: "deployment-web",
  WORKER: "worker-1",
  CONTEXT: "worker-1",
  CELL: "worker-1",
  NODE: "node-1",
  WORKLOAD: "web",
  "SOME-POD": "$(kubectl --context worker-1 get pods -o name | head -1 | cut -d/ -f2)",
};
const placeholder = new RegExp(`(?<![-\\w])(?:${Object.keys(placeholders).join("|")})(?![-\\w:])`, "g");
/** A list that is empty, in the words of kubectl. */
const nothingFound = /^No resources found.*\n?/gm;

async function pages(context: CaseContext): Promise<Figures> {
  const blocks = allCommandBlocks().filter(({ mark }) => mark?.kind === "run");
  const fleet = await startPlayground({
    clock: createSystemClock(),
    signal: context.signal,
    onCrash: (report) => context.say(report),
    onStarted: (started) => context.cleanup(() => started.close()),
  });
  const programs = path.join(context.directory, "bin");
  mkdirSync(programs, { recursive: true });
  symlinkSync(context.assets.kubectl, path.join(programs, "kubectl"));
  symlinkSync(executable, path.join(programs, "podseidon"));
  const env = {
    ...process.env,
    PATH: `${programs}:${process.env["PATH"] ?? ""}`,
    KUBECONFIG: fleet.kubeconfigFile,
    HOME: context.directory,
    KUBECACHEDIR: path.join(context.directory, "cache"),
  };
  const failed: string[] = [];
  for (const block of blocks) {
    const complaint = await complaintOf(context, block, env);
    if (complaint !== undefined) failed.push(`${block.file}:${block.line}\n${complaint}`);
  }
  assert.deepEqual(failed, [], failed.join("\n\n"));
  return { blocks: blocks.length };
}

/**
 * What is wrong with the commands of a block; undefined = nothing. A command that finds something amiss, or nothing,
 * ends with 1 and says so on stdout, if at all; one that is wrong itself says so on stderr.
 */
async function complaintOf(
  context: CaseContext,
  { text: commands }: CommandBlock,
  env: NodeJS.ProcessEnv,
): Promise<string | undefined> {
  const script = commands.replaceAll(placeholder, (name) => placeholders[name] ?? name);
  const child = spawn("bash", ["-uc", script], {
    cwd: root,
    env,
    stdio: ["ignore", "pipe", "pipe"],
    timeout: 60 * second,
    killSignal: "SIGKILL",
  });
  context.processes.track(child);
  const [stdout, stderr, [code, signal]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, "close") as Promise<[number | null, NodeJS.Signals | null]>,
  ]);
  const said = stderr.replaceAll(nothingFound, "").trim();
  if (said === "" && (code === 0 || code === 1)) return undefined;
  return `${script}\nended with ${signal ?? code}:\n${stdout.slice(-500)}${stderr.slice(-1_500)}`;
}
