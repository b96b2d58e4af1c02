// The software bill of materials of dist/podseidon, by npm: every package that a build may take code from, and Node.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import path from "node:path";
import { type Architecture, lockedPackage, nodePackages } from "./foreign-node.ts";

/** The fields of a CycloneDX document that differ between two builds of one commit, or between two checkouts. */
interface BillOfMaterials {
  serialNumber?: string;
  readonly metadata: { timestamp?: string; readonly component: { name: string } };
}

/** npm reads node_modules; the limit only ends one that hangs. */
const npmTimeoutMs = 120_000;
/** 130 packages take 200 kB. */
const outputBytesMax = 32 * 2 ** 20;

/**
 * A CycloneDX document as JSON text, the same for each build of one commit. `root` has package.json and node_modules.
 * Throws an Error with what npm said when npm fails.
 */
export function billOfMaterials(root: string): string {
  const args = ["sbom", "--omit=dev", "--sbom-format=cyclonedx", "--sbom-type=application"];
  const npm = spawnSync("npm", args, {
    cwd: root,
    encoding: "utf8",
    timeout: npmTimeoutMs,
    maxBuffer: outputBytesMax,
  });
  if (npm.error !== undefined) throw npm.error;
  if (npm.status !== 0) throw new Error(`npm sbom: ${npm.stderr}`);
  const { name } = JSON.parse(readFileSync(path.join(root, "package.json"), "utf8")) as { name: string };
  return normalized(npm.stdout, name);
}

/** Without what is random or the time, and with the name of the product instead of that of the checkout's folder. */
export function normalized(document: string, name: string): string {
  const bill = JSON.parse(document) as BillOfMaterials;
  delete bill.serialNumber;
  delete bill.metadata.timestamp;
  bill.metadata.component.name = name;
  return `${JSON.stringify(bill, null, 2)}\n`;
}

interface Component {
  "bom-ref": string;
  readonly name: string;
  version: string;
  purl: string;
  hashes: object[];
}

/**
 * The same document for an executable with another architecture's Node: instead of the installed package of Node it
 * names that of `architecture`, as package-lock.json (`lockFile`) has it.
 */
export function withNodeOf(document: string, architecture: Architecture, lockFile: string): string {
  const { name, version, integrity } = lockedPackage(lockFile, nodePackages[architecture]);
  const known = /"node(?:-bin)?-(?:linux|darwin)-(?:x64|arm64)@[^"]+"/g;
  const bill = JSON.parse(document.replaceAll(known, `"${name}@${version}"`)) as { components: Component[] };
  const node = bill.components.find((component) => component["bom-ref"] === `${name}@${version}`);
  if (node === undefined) throw new Error("the bill of materials does not have Node's npm package");
  const content = Buffer.from(integrity.slice("sha512-".length), "base64").toString("hex");
  Object.assign(node, { name, version, purl: `pkg:npm/${name}@${version}`, hashes: [{ alg: "SHA-512", content }] });
  return `${JSON.stringify(bill, null, 2)}\n`;
}
