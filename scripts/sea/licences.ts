// The licences of everything that dist/podseidon contains: the bundled packages, as esbuild lists them, and Node.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";

interface PackageManifest {
  readonly name?: string;
  readonly version?: string;
  readonly license?: string;
}

const packageFolder = /^.*node_modules\/(?:@[^/]+\/)?[^/]+/;
const licenceFile = /^(?:licen[cs]e|copying|notice)(?:$|[.-])/i;

/** A comment at the very beginning of a file, without what makes it a comment. */
function headOf(file: string): string {
  const [head = ""] = /^(?:\/\*[\s\S]*?\*\/|(?:\/\/.*\n)+)/.exec(readFileSync(file, "utf8")) ?? [];
  return head.replaceAll(/^\s*(?:\/\/+|\/\*+!?|\*+\/|\*)[ \t]?/gm, "").trim();
}

/**
 * What a package without a file for its licence says at the top of its files, and the whole text where that only names
 * the Apache License, which is our own as well.
 */
function textsInFiles(root: string, files: readonly string[], license: string): string[] {
  const heads = files.map((file) => headOf(path.join(root, file))).filter((head) => head.includes("Copyright"));
  const own = (): string => readFileSync(path.join(root, "LICENSE"), "utf8").trim();
  const apache = license.includes("Apache-2.0") ? [own()] : [];
  return heads.length === 0 ? [] : [...new Set(heads.toSorted()), ...apache];
}

function describePackage(root: string, packagePath: string, inputs: readonly string[]): string {
  const folder = path.join(root, packagePath);
  const manifest = JSON.parse(readFileSync(path.join(folder, "package.json"), "utf8")) as PackageManifest;
  const texts = readdirSync(folder)
    .filter((name) => licenceFile.test(name))
    .map((name) => readFileSync(path.join(folder, name), "utf8").trim());
  const { name = path.basename(folder), version = "", license = "see below" } = manifest;
  const title = `${name} ${version} (${license.replace(/^\((.*)\)$/, "$1")})`;
  if (texts.length === 0) {
    const files = inputs.filter((file) => packageFolder.exec(file)?.[0] === packagePath);
    texts.push(...textsInFiles(root, files, license));
  }
  if (texts.length === 0) throw new Error(`${title} comes without the text of its licence`);
  return [title, "-".repeat(title.length), ...texts].join("\n\n");
}

/**
 * Name, version and licence text of each package with a file in the bundle, and of Node. `inputs` are the files of the
 * bundle, relative to `root`; `nodeBinary` is the Node that runs it. Throws an Error that names the package, or Node,
 * that comes without a text.
 */
export function describeLicences(root: string, inputs: readonly string[], nodeBinary: string): string {
  const folders = new Set(inputs.flatMap((file) => packageFolder.exec(file)?.[0] ?? []));
  // A release of Node has its licence, with those of all that it contains, beside bin/.
  const nodeLicence = path.join(path.dirname(nodeBinary), "..", "LICENSE");
  const title = `Node.js ${process.version}`;
  if (!existsSync(nodeLicence)) throw new Error(`${title} comes without the text of its licence, ${nodeLicence}`);
  const node = `${title}\n${"-".repeat(title.length)}\n\n${readFileSync(nodeLicence, "utf8").trim()}`;
  const packages = Array.from(folders).toSorted();
  return (
    [
      "Podseidon is licensed under the Apache License 2.0. Its executable contains the following works of others.",
      ...packages.map((folder) => describePackage(root, folder, inputs)),
      node,
    ].join("\n\n\n") + "\n"
  );
}
