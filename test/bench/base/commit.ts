/** A commit of this repository as files of its own in a temporary folder, with its packages, ready to be run. */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync } from "node:fs";
import os from "node:os";
import path from "node:path";

/** What stands in the way of a comparison, in one sentence. */
export class CommitError extends Error {
  override readonly name = "CommitError";
}

export interface CommitFiles {
  readonly root: string;
  /** Its first digits. */
  readonly name: string;
  remove(): void;
}

/** Throws a CommitError where there is no such commit, or its packages are not to be had. */
export function checkOutBeside(repository: string, wanted: string, say: (line: string) => void): CommitFiles {
  const commit = run(repository, `there is no commit ${wanted}`, "git", "rev-parse", "--verify", `${wanted}^{commit}`);
  const name = commit.slice(0, 8);
  const folder = mkdtempSync(path.join(os.tmpdir(), `podseidon-${name}-`));
  const files = {
    root: path.join(folder, "podseidon"),
    name,
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
  try {
    mkdirSync(files.root);
    const archive = path.join(folder, "files.tar");
    run(repository, `${name} cannot be read`, "git", "archive", `--output=${archive}`, commit);
    run(files.root, `${name} cannot be unpacked`, "tar", "-xf", archive);
    install(repository, files, say);
    return files;
  } catch (error) {
    files.remove();
    throw error;
  }
}

/** The packages of this repository where the lock files are the same: then nothing is fetched. */
function install(repository: string, { root, name }: CommitFiles, say: (line: string) => void): void {
  const [own, other] = [repository, root].map((folder) => readFileSync(path.join(folder, "package-lock.json"), "utf8"));
  if (own === other) {
    symlinkSync(realpathSync(path.join(repository, "node_modules")), path.join(root, "node_modules"), "dir");
    return;
  }
  say(`the packages of ${name} are installed`);
  const problem = `${name} has another package-lock.json, and its packages cannot be installed`;
  run(root, problem, "npm", "ci", "--loglevel=error", "--no-update-notifier", "--prefer-offline");
}

function run(cwd: string, problem: string, program: string, ...args: readonly string[]): string {
  const { status, stdout, stderr, error } = spawnSync(program, args, { cwd, encoding: "utf8" });
  if (status !== 0)
    throw new CommitError(`${problem}: ${error?.message ?? (stderr.trim() || `${program} has failed`)}`);
  return stdout.trim();
}
