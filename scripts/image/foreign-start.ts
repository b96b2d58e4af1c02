// Starts an executable for another architecture, where qemu's user-mode emulator is installed: with the loader and the
// libraries of the assembled root alone, as a container would start it.
import { spawnSync } from "node:child_process";
import path from "node:path";
import { type Architecture } from "../sea/foreign-node.ts";

export const emulators = { amd64: "qemu-x86_64-static", arm64: "qemu-aarch64-static" } as const;
/** A start takes seconds under emulation; the limit only ends one that hangs. */
const startTimeoutMs = 300_000;

export interface ForeignStart {
  readonly architecture: Architecture;
  /** The assembled root file system. */
  readonly root: string;
  /** The absolute path of the executable in it. */
  readonly executablePath: string;
  /** Of the product, which `--version` has to print. */
  readonly version: string;
}

/** Throws an Error if what `--version` printed is not of this product and of the pinned Node. */
export function checkVersionLine(printed: string, version: string): void {
  const missing = [`podseidon ${version} `, `Node ${process.version})`].filter((part) => !printed.includes(part));
  if (missing.length > 0) throw new Error(`--version prints "${printed}" without "${missing.join('" and "')}"`);
}

/**
 * Runs `--version` under qemu and returns one line about it, or about qemu not being there. Throws an Error if it does
 * not start, or prints something else.
 */
export function startForeign({ architecture, root, executablePath, version }: ForeignStart): string {
  const emulator = emulators[architecture];
  const args = ["-L", root, path.join(root, executablePath), "--version"];
  const result = spawnSync(emulator, args, { encoding: "utf8", timeout: startTimeoutMs });
  if (result.error !== undefined && "code" in result.error && result.error.code === "ENOENT")
    return `image: not started, because ${emulator} is not installed (Debian: qemu-user-static)`;
  if (result.status !== 0) throw new Error(`${emulator}: ${result.error?.message ?? result.stderr.trim()}`);
  const printed = result.stdout.trim();
  checkVersionLine(printed, version);
  return `image: started by ${emulator}: ${printed}`;
}
