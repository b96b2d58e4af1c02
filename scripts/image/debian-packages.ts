// Gets the pinned Debian packages through the machine's own apt client, from the Debian mirrors that it is set up for,
// and checks their hashes. apt's state is a folder of its own, so nothing of the machine changes.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { type Architecture, architectures } from "../sea/foreign-node.ts";
import { type Pin, type Pins } from "./pins.ts";

/** Lists of packages are 25 MB; the limit only ends a mirror that hangs. */
const aptTimeoutMs = 540_000;
const outputBytesMax = 16 * 2 ** 20;
const howToUpdate = "node scripts/n.mjs scripts/image/main.ts --update-pins";

function run(
  command: string,
  args: readonly string[],
  options: { cwd?: string; env?: NodeJS.ProcessEnv } = {},
): string {
  const limits = { encoding: "utf8", timeout: aptTimeoutMs, maxBuffer: outputBytesMax } as const;
  const result = spawnSync(command, args, { ...limits, ...options });
  if (result.error !== undefined)
    throw new Error(`cannot run ${command}: ${result.error.message}; see "Without apt" in docs/install.md`);
  if (result.status !== 0) throw new Error(`${command} ${args.join(" ")}: ${result.stderr.trim()}`);
  return result.stdout;
}

/**
 * The lines of a sources.list for `suite`, from what `apt-get indextargets` says of this machine ("address code-name
 * component", one a line): the same mirrors, another release. Throws an Error if none of them is Debian's.
 */
export function sourcesFor(suite: string, targets: string): string {
  const lines = targets.split("\n").flatMap((line) => {
    const [address, codeName = "", component] = line.split(" ");
    const part = /^[a-z]+(-updates|-security)?$/.exec(codeName);
    return part !== null && component === "main" ? [`deb ${address} ${suite}${part[1] ?? ""} main\n`] : [];
  });
  if (lines.length === 0)
    throw new Error('this machine\'s apt has no mirror of Debian; see "Without apt" in docs/install.md');
  return [...new Set(lines)].join("");
}

/** An apt with its own lists of packages, in `folder`. */
class PrivateApt {
  readonly #env: NodeJS.ProcessEnv;

  constructor(folder: string, suite: string) {
    const format = "$(REPO_URI) $(CODENAME) $(COMPONENT)";
    const targets = run("apt-get", ["indextargets", "--format", format, "Created-By: Packages", "Origin: Debian"]);
    for (const needed of ["state/lists/partial", "cache/archives/partial"])
      mkdirSync(path.join(folder, needed), { recursive: true });
    const file = (name: string, text: string): string => {
      writeFileSync(path.join(folder, name), text);
      return path.join(folder, name);
    };
    const settings = {
      "Dir::State": path.join(folder, "state"),
      "Dir::State::status": file("status", ""),
      "Dir::Cache": path.join(folder, "cache"),
      "Dir::Etc::sourcelist": file("sources.list", sourcesFor(suite, targets)),
      "Dir::Etc::sourceparts": "-",
      "APT::Sandbox::User": "root",
      "APT::Architecture": architectures[0],
    };
    const lines = Object.entries(settings).map(([name, value]) => `${name} "${value}";\n`);
    const config = [...lines, `APT::Architectures { ${architectures.map((name) => `"${name}";`).join(" ")} };\n`];
    this.#env = { ...process.env, LC_ALL: "C", APT_CONFIG: file("apt.conf", config.join("")) };
    run("apt-get", ["update", "-q"], { env: this.#env });
  }

  newest(name: string, architecture: Architecture): Pin {
    const said = run("apt-cache", ["show", "--no-all-versions", `${name}:${architecture}`], { env: this.#env });
    const field = (key: string): string => new RegExp(`^${key}: (\\S+)$`, "m").exec(said)?.[1] ?? "";
    return { version: field("Version"), sha256: field("SHA256") };
  }

  /** The file of a package, in `folder`. */
  download(folder: string, name: string, architecture: Architecture, version: string): string {
    try {
      run("apt-get", ["download", "-q", `${name}:${architecture}=${version}`], { cwd: folder, env: this.#env });
    } catch (error) {
      throw new Error(goneMessage(name, architecture, version), { cause: error });
    }
    return path.join(folder, readdirSync(folder)[0] ?? "");
  }
}

/** What is said when the mirrors do not have a pinned version, since they keep only the newest. */
export function goneMessage(name: string, architecture: Architecture, version: string): string {
  return `the mirrors do not have ${name} ${version} for ${architecture} any more; pin what they have: ${howToUpdate}`;
}

/** Throws an Error if the file does not have the pinned hash. */
export function verify(file: string, name: string, { version, sha256 }: Pin): void {
  const found = createHash("sha256").update(readFileSync(file)).digest("hex");
  if (found !== sha256) throw new Error(`${file}: not ${name} ${version}: its SHA-256 is ${found}, not ${sha256}`);
}

/** Where packages come from. */
export interface PackageSource {
  readonly pins: Pins;
  /** Keeps what was downloaded, for the next time. */
  readonly cache: string;
  /** A folder with the .deb files, by any name that apt gives them; undefined = the apt client. */
  readonly debs: string | undefined;
}

/** The .deb file of each pinned package, by its name, with its hash checked. */
export function packageFiles(source: PackageSource, architecture: Architecture): ReadonlyMap<string, string> {
  const { pins, cache, debs } = source;
  const kept = path.join(cache, "debs");
  mkdirSync(kept, { recursive: true });
  let apt: PrivateApt | undefined;
  const files = Object.entries(pins.packages).map(([name, pinned]): [string, string] => {
    const pin = pinned[architecture];
    const file = path.join(kept, `${pin.sha256}.deb`);
    if (debs !== undefined) {
      const given = `${name}_${pin.version.replaceAll(":", "%3a")}_${architecture}.deb`;
      if (!existsSync(path.join(debs, given))) throw new Error(`--debs ${debs}: ${given} is missing`);
      copyFileSync(path.join(debs, given), file);
    } else if (!existsSync(file)) {
      apt ??= new PrivateApt(path.join(cache, "apt"), pins.suite);
      const folder = mkdtempSync(path.join(cache, "download-"));
      copyFileSync(apt.download(folder, name, architecture, pin.version), file);
      rmSync(folder, { recursive: true });
    }
    try {
      verify(file, name, pin);
    } catch (error) {
      rmSync(file);
      throw error;
    }
    return [name, file];
  });
  return new Map(files);
}

/** The same packages in the versions that the mirrors have now. */
export function updatedPins(pins: Pins, cache: string): Pins {
  const apt = new PrivateApt(path.join(cache, "apt"), pins.suite);
  const packages = Object.keys(pins.packages).map((name) => {
    return [name, { amd64: apt.newest(name, "amd64"), arm64: apt.newest(name, "arm64") }] as const;
  });
  return { ...pins, packages: Object.fromEntries(packages) };
}
