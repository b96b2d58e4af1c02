// The root file system of the image, from the executable and Debian's packages: of these only the libraries that the
// executable needs, the licences, and what tells scanners which packages are inside. There is no shell.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { etcFiles } from "./image-root.ts";
import { type Architecture } from "../sea/foreign-node.ts";
import { type DebianComponent, imageBill } from "./bill.ts";
import { type Pins } from "./pins.ts";

export interface Assembly {
  readonly architecture: Architecture;
  readonly pins: Pins;
  /** The .deb file of each pinned package. */
  readonly debs: ReadonlyMap<string, string>;
  /** The folder that `make build` fills for this architecture. */
  readonly built: string;
  /** The absolute path of the executable in the image. */
  readonly executablePath: string;
  /** Emptied first. */
  readonly root: string;
}

const triplets = { amd64: "x86_64-linux-gnu", arm64: "aarch64-linux-gnu" } as const;
/** ELF's e_machine. */
const machines = { amd64: 62, arm64: 183 } as const;
/** Each step takes a second; the limit only ends one that hangs. */
const stepTimeoutMs = 120_000;

function run(command: string, args: readonly string[]): string {
  const options = { encoding: "utf8", timeout: stepTimeoutMs, env: { ...process.env, LC_ALL: "C" } } as const;
  const result = spawnSync(command, args, options);
  if (result.error !== undefined) throw new Error(`cannot run ${command}: ${result.error.message}`);
  if (result.status !== 0) throw new Error(`${command} ${args.join(" ")}: ${result.stderr.trim()}`);
  return result.stdout;
}

/** Throws an Error if the file is not a 64-bit ELF file for this architecture. Reads only its first bytes. */
export function checkElfHeader(head: Buffer, architecture: Architecture, name: string): void {
  if (head.toString("latin1", 0, 5) !== "\u007fELF\u0002") throw new Error(`${name} is not a 64-bit ELF file`);
  const machine = head.readUInt16LE(18);
  if (machine !== machines[architecture])
    throw new Error(`${name} is for ELF machine ${machine}, not ${machines[architecture]} (${architecture})`);
}

/** The names in the output of `readelf -dl`: libraries, and the loader's path. */
export function parseReadelf(output: string): { readonly needed: readonly string[]; readonly loader?: string } {
  const needed = Array.from(output.matchAll(/\(NEEDED\).*\[(.+)\]/g), (match) => match[1] ?? "");
  const [, loader] = /Requesting program interpreter: (\S+)\]/.exec(output) ?? [];
  return loader === undefined ? { needed } : { needed, loader };
}

/** Copies from unpacked packages, and remembers which package each file is of. */
class Unpacked {
  readonly files = new Map<string, string[]>();
  readonly #folder: string;
  readonly #root: string;

  constructor(debs: ReadonlyMap<string, string>, folder: string, root: string) {
    this.#folder = folder;
    this.#root = root;
    mkdirSync(folder, { recursive: true });
    for (const [name, deb] of debs) {
      run("dpkg-deb", ["-x", deb, path.join(folder, name)]);
      this.files.set(name, []);
    }
  }

  /** Copies a file, a link as it is, or a folder, to the same or another place. */
  take(from: string, to: string = from): void {
    for (const [name, taken] of this.files) {
      const source = path.join(this.#folder, name, from);
      const stat = lstatSync(source, { throwIfNoEntry: false });
      if (stat === undefined) continue;
      const target = path.join(this.#root, to);
      mkdirSync(path.dirname(target), { recursive: true });
      if (stat.isSymbolicLink()) symlinkSync(readlinkSync(source), target);
      else if (stat.isDirectory()) for (const one of readdirSync(source)) this.take(`${from}/${one}`, `${to}/${one}`);
      else {
        copyFileSync(source, target);
        taken.push(to);
      }
      return;
    }
    throw new Error(`no pinned package has ${from}`);
  }

  /** Where a link points to, or the same path if it is none. */
  behind(file: string): string {
    for (const name of this.files.keys()) {
      const source = path.join(this.#folder, name, file);
      if (lstatSync(source, { throwIfNoEntry: false })?.isSymbolicLink() === true)
        return path.posix.join(path.posix.dirname(file), readlinkSync(source));
    }
    return file;
  }
}

/** Copies all libraries that the executable needs, and theirs, under the names by which they are asked for. */
function takeLibraries(unpacked: Unpacked, { architecture, root, executablePath }: Assembly): void {
  const queue = [path.join(root, executablePath)];
  const seen = new Set<string>();
  for (const file of queue) {
    const { needed, loader } = parseReadelf(run("readelf", ["-dlW", file]));
    // The C library has one as well, since it can be run.
    if (loader !== undefined && file === queue[0]) unpacked.take(`usr${loader}`);
    for (const name of needed.filter((one) => !seen.has(one))) {
      seen.add(name);
      const library = `usr/lib/${triplets[architecture]}/${name}`;
      unpacked.take(unpacked.behind(library), library);
      checkElfHeader(readFileSync(path.join(root, library)), architecture, name);
      queue.push(path.join(root, library));
    }
  }
}

/** Modes that do not depend on who assembles; nothing is writable but by root. */
function settleModes(folder: string): void {
  chmodSync(folder, 0o755);
  for (const name of readdirSync(folder)) {
    const file = path.join(folder, name);
    const stat = lstatSync(file);
    if (stat.isDirectory()) settleModes(file);
    else if (stat.isFile()) chmodSync(file, (stat.mode & 0o100) === 0 ? 0o644 : 0o755);
  }
}

const sha256 = (file: string): string => createHash("sha256").update(readFileSync(file)).digest("hex");

/** Fills `root`. Throws an Error if a library is in no pinned package, or something is for another architecture. */
export function assemble(assembly: Assembly): void {
  const { architecture, pins, debs, built, executablePath, root } = assembly;
  const executable = path.join(built, "podseidon");
  if (!existsSync(executable)) throw new Error(`${executable} does not exist; run "make build"`);
  rmSync(root, { recursive: true, force: true });
  const documents = path.join(root, "usr/share/doc/podseidon");
  for (const folder of [
    path.dirname(path.join(root, executablePath)),
    documents,
    path.join(root, "var/lib/dpkg/status.d"),
  ])
    mkdirSync(folder, { recursive: true });
  for (const empty of ["dev", "etc", "proc", "sys", "tmp"]) mkdirSync(path.join(root, empty), { recursive: true });
  copyFileSync(executable, path.join(root, executablePath));
  checkElfHeader(readFileSync(executable), architecture, executable);
  const work = `${root}.unpacked`;
  rmSync(work, { recursive: true, force: true });
  const unpacked = new Unpacked(debs, work, root);
  for (const name of ["lib", "lib64", "usr/lib/os-release", "etc/os-release", "usr/share/common-licenses"])
    if (name !== "lib64" || architecture === "amd64") unpacked.take(name);
  takeLibraries(unpacked, assembly);
  for (const [name, deb] of debs) {
    const doc = `usr/share/doc/${name}`;
    unpacked.take(`${unpacked.behind(doc)}/copyright`, `${doc}/copyright`);
    writeFileSync(path.join(root, "var/lib/dpkg/status.d", name), run("dpkg-deb", ["-f", deb]));
  }
  rmSync(work, { recursive: true });
  for (const [name, content] of Object.entries(etcFiles)) writeFileSync(path.join(root, name), content);
  copyFileSync(path.join(built, "THIRD-PARTY-LICENSES.txt"), path.join(documents, "THIRD-PARTY-LICENSES.txt"));
  const components = [...unpacked.files].map(([name, files]): DebianComponent => {
    const hashed = files.toSorted().map((file) => ({ path: `/${file}`, sha256: sha256(path.join(root, file)) }));
    const pin = pins.packages[name]?.[architecture];
    if (pin === undefined) throw new Error(`${name} is not pinned`);
    return { name, ...pin, architecture, suite: pins.suite, files: hashed };
  });
  const bill = imageBill(readFileSync(path.join(built, "sbom.cdx.json"), "utf8"), components);
  writeFileSync(path.join(documents, "sbom.cdx.json"), bill);
  settleModes(root);
  chmodSync(path.join(root, executablePath), 0o755);
}

/** Writes a tar file that has the same bytes for the same root, and returns its SHA-256. */
export function archive(root: string, file: string): string {
  const fixed = ["--sort=name", "--mtime=@0", "--owner=0", "--group=0", "--numeric-owner", "--format=ustar"];
  run("tar", [...fixed, "-cf", file, "-C", root, "."]);
  return sha256(file);
}
