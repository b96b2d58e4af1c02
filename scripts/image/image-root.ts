/**
 * Assembles a root file system like the container image's in a folder, for hosts without apt: the executable, the
 * shared libraries that it needs, as this host has them, and the few files of /etc that the C library reads. The image
 * itself has Debian's packages, pinned (scripts/image/main.ts).
 *
 * The Dockerfile decides the path, the user and the environment; all of them are read from it. An executable that needs
 * a package which is not pinned is an error, so the two cannot drift apart. Documentation (/usr/share/doc) is left out.
 *
 *   node scripts/n.mjs scripts/image/image-root.ts [--executable dist/podseidon] [--out dist/image-root]
 */
import { spawnSync } from "node:child_process";
import { chmodSync, copyFileSync, existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { parseArgs } from "node:util";
import { readPins } from "./pins.ts";

/** What the Dockerfile decides. */
export interface ImageFacts {
  /** The absolute path of the executable in the image. */
  readonly executablePath: string;
  readonly env: Readonly<Record<string, string>>;
  readonly ports: readonly number[];
  readonly user: { readonly uid: number; readonly gid: number };
}

/** A folder with the assembled root file system. */
export interface ImageRoot {
  readonly folder: string;
  readonly facts: ImageFacts;
}

/** Shared libraries, each with its Debian package. The C library's own are in every base image. */
const packageOfLibrary: Readonly<Record<string, string>> = {
  "libatomic.so.1": "libatomic1",
  "libgcc_s.so.1": "libgcc-s1",
  "libstdc++.so.6": "libstdc++6",
};
const basePackage = "libc6";
const baseLibrary = /^(lib(c|dl|m|pthread|rt)\.so\.\d+|ld-linux[-\w]*\.so\.\d+)$/;

function instructions(dockerfile: string): { name: string; value: string }[] {
  return dockerfile
    .split("\n")
    .filter((line) => !/^\s*#/.test(line))
    .join("\n")
    .replaceAll(/\\\n/g, " ")
    .split("\n")
    .flatMap((line) => {
      const match = /^([A-Z]+)\s+(.*\S)\s*$/.exec(line);
      if (match?.[1] === undefined || match[2] === undefined) return [];
      return [{ name: match[1], value: match[2].replaceAll(/\s+/g, " ") }];
    });
}

/** Reads a Dockerfile. Throws an Error that names the instruction if one is missing or has an unknown form. */
export function readDockerfile(dockerfile: string): ImageFacts {
  const all = instructions(dockerfile);
  const only = (name: string, form: RegExp): RegExpExecArray => {
    const values = all.filter((instruction) => instruction.name === name).map((instruction) => instruction.value);
    const match = values.length === 1 ? form.exec(values[0] ?? "") : null;
    if (match === null)
      throw new Error(`Dockerfile: expected one ${name} like ${String(form)}, found ${JSON.stringify(values)}`);
    return match;
  };
  only("FROM", /^scratch$/);
  only("COPY", /^dist\/image\/root-\$\{TARGETARCH\}\/ \/$/);
  const [, executablePath = ""] = only("ENTRYPOINT", /^\["(\/[^"]+)"\]$/);
  const [, uid = "", gid = ""] = only("USER", /^(\d+):(\d+)$/);
  const [, ports = ""] = only("EXPOSE", /^([\d ]+)$/);
  const env = all
    .filter(({ name }) => name === "ENV")
    .map(({ value }): [string, string] => {
      const at = value.indexOf("=");
      if (at < 1) throw new Error(`Dockerfile: ENV ${value} is not NAME=value`);
      return [value.slice(0, at), value.slice(at + 1)];
    });
  return {
    executablePath,
    env: Object.fromEntries(env),
    ports: ports.split(" ").map(Number),
    user: { uid: Number(uid), gid: Number(gid) },
  };
}

/** The files of the libraries in the output of `ldd`. Throws if one was not found. */
export function parseLdd(output: string): string[] {
  const missing = /^\s*(\S+) => not found/m.exec(output);
  if (missing !== null) throw new Error(`the shared library ${missing[1]} is not on this machine`);
  const files = [...output.matchAll(/^\s*(?:\S+ => )?(\/\S+) \(0x[0-9a-f]+\)$/gm)].map((match) => match[1] ?? "");
  return [...new Set(files)].toSorted();
}

/** The shared libraries of an executable and its dynamic loader, as absolute paths. Needs `ldd` on the host. */
export function sharedLibraries(executable: string): string[] {
  const ldd = spawnSync("ldd", [path.resolve(executable)], { encoding: "utf8", timeout: 30_000 });
  if (ldd.error !== undefined) throw new Error(`cannot run ldd: ${ldd.error.message}`);
  if (ldd.status !== 0) throw new Error(`ldd ${executable}: ${ldd.stderr.trim()}`);
  return parseLdd(ldd.stdout);
}

/** The Debian packages of these libraries, without those of every base image. Throws if a library is unknown. */
export function packagesOf(libraries: readonly string[]): string[] {
  const packages = libraries.map((file) => {
    const name = path.basename(file);
    const found = packageOfLibrary[name] ?? (baseLibrary.test(name) ? basePackage : undefined);
    if (found === undefined)
      throw new Error(
        `the package of ${name} is unknown; add it to scripts/image/packages.json and to scripts/image/image-root.ts`,
      );
    return found;
  });
  return [...new Set(packages)].filter((name) => name !== basePackage).toSorted();
}

/** Files of /etc as in a container, where the engine provides name servers and hosts, and the base image users. */
export const etcFiles: Readonly<Record<string, string>> = {
  "etc/passwd": "root:x:0:0:root:/root:/usr/sbin/nologin\nnobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n",
  "etc/group": "root:x:0:\nnogroup:x:65534:\n",
  "etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
  "etc/hosts": "127.0.0.1 localhost\n::1 localhost\n",
  "etc/resolv.conf": "",
};

/**
 * Fills `folder`, which must be absent or empty, with the image's root file system. Throws an Error if the executable
 * does not exist or needs a package that is not pinned.
 */
export function assembleImageRoot(options: {
  readonly executable: string;
  readonly dockerfile: string;
  readonly folder: string;
}): ImageRoot {
  const facts = readDockerfile(readFileSync(options.dockerfile, "utf8"));
  if (!existsSync(options.executable)) throw new Error(`${options.executable} does not exist; run "make build"`);
  const libraries = sharedLibraries(options.executable);
  const missing = packagesOf(libraries).filter((name) => !(name in readPins().packages));
  if (missing.length > 0) throw new Error(`scripts/image/packages.json does not pin ${missing.join(", ")}`);
  const folder = path.resolve(options.folder);
  if (existsSync(folder) && readdirSync(folder).length > 0) throw new Error(`${folder} is not empty`);
  const copy = (from: string, to: string): void => {
    const target = path.join(folder, to);
    mkdirSync(path.dirname(target), { recursive: true });
    copyFileSync(from, target);
    chmodSync(target, 0o755);
  };
  copy(options.executable, facts.executablePath);
  for (const library of libraries) copy(library, library);
  for (const empty of ["dev", "proc", "sys", "tmp"]) mkdirSync(path.join(folder, empty), { recursive: true });
  mkdirSync(path.join(folder, "etc"), { recursive: true });
  for (const [name, content] of Object.entries(etcFiles))
    writeFileSync(path.join(folder, name), content, { mode: 0o644 });
  return { folder, facts };
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { executable: { type: "string" }, out: { type: "string" } } });
  try {
    const { folder } = assembleImageRoot({
      executable: values.executable ?? "dist/podseidon",
      dockerfile: path.join(import.meta.dirname, "../..", "Dockerfile"),
      folder: values.out ?? "dist/image-root",
    });
    process.stdout.write(`Assembled ${folder}.\n`);
  } catch (error) {
    process.stderr.write(`image-root: ${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 1;
  }
}
