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

function describePackage(folder: string): string {
  const manifest = JSON.parse(readFileSync(path.join(folder, "package.json"), "utf8")) as PackageManifest;
  const texts = readdirSync(folder)
    .filter((name) => licenceFile.test(name))
    .map((name) => readFileSync(path.join(folder, name), "utf8").trim());
  const { name = path.basename(folder), version = "", license = "see below" } = manifest;
  const title = `${name} ${version} (${license})`;
  return [title, "-".repeat(title.length), ...texts].join("\n\n");
}

/**
 * Name, version and licence text of each package with a file in the bundle, and of Node. `inputs` are the files of the
 * bundle, relative to `root`; `nodeBinary` is the Node that runs it.
 */
export function describeLicences(root: string, inputs: readonly string[], nodeBinary: string): string {
  const folders = new Set(inputs.flatMap((file) => packageFolder.exec(file)?.[0] ?? []));
  // A release of Node has its licence, with those of all that it contains, beside bin/.
  const nodeLicence = path.join(path.dirname(nodeBinary), "..", "LICENSE");
  const title = `Node.js ${process.version}`;
  const node = existsSync(nodeLicence)
    ? [`${title}\n${"-".repeat(title.length)}\n\n${readFileSync(nodeLicence, "utf8").trim()}`]
    : [];
  const packages = Array.from(folders).toSorted();
  return (
    [
      "Podseidon is licensed under the Apache License 2.0. Its executable contains the following works of others.",
      ...packages.map((folder) => describePackage(path.join(root, folder))),
      ...node,
    ].join("\n\n\n") + "\n"
  );
}
