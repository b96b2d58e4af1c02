/**
 * Writes what a core cluster has for its cells, as a component of kustomize: for each an account of its own, limited to
 * the Lease of that cell, and the flags of the webhook that name them. One list of names, given once:
 *
 *     node scripts/n.mjs scripts/core-cells.ts --out my-core/cells worker-1 worker-2
 *
 * Run again with other names, it adds and removes cells. docs/install.md has the rest.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { parseArgs } from "node:util";
import { isCellID } from "../src/api/cell-id.ts";
import { cellLeaseName } from "../src/api/cell-lease.ts";
import { cellFlags } from "../src/commands/install/objects.ts";
import { ArgumentError, readArguments, runProgram } from "./command-line.ts";

/** Of a cell that has an account: it stands in the name of a ServiceAccount. */
const nameRule = 'lower-case letters, digits, "-" and "." between them, at most 63 characters';
const usage = `usage: node scripts/n.mjs scripts/core-cells.ts --out DIR CELL...
  --out DIR      the folder that is written; nothing else may be in it
  CELL           the names of all worker clusters: ${nameRule}`;

const account = path.join(import.meta.dirname, "../manifests/base/aggregator/cell-account");
const begin = "# Made by scripts/core-cells.ts.";

/** All files by their names relative to `out`, which they depend on by the way to manifests/. */
export function coreCellFiles(out: string, cells: readonly string[]): ReadonlyMap<string, string> {
  const files = new Map([["kustomization.yaml", component(cells)]]);
  for (const cell of cells) {
    const base = path.relative(path.join(out, cell), account);
    files.set(path.join(cell, "kustomization.yaml"), ofCell(cell, base));
  }
  return files;
}

function component(cells: readonly string[]): string {
  const { configs, callers } = cellFlags("certificates", cells);
  return `${begin} The cells of a core cluster: run it again for others.
apiVersion: kustomize.config.k8s.io/v1alpha1
kind: Component
resources:
${cells.map((cell) => `  - ${cell}\n`).join("")}patches:
  - target:
      kind: Deployment
      name: podseidon-webhook
    patch: |-
      # A key of the Secret podseidon-worker-kubeconfigs for each cell.
      - op: add
        path: /spec/template/spec/containers/0/args/-
        value: >-
          ${configs}
      # The client certificate of a cell's API server has the name of the cell.
      - op: add
        path: /spec/template/spec/containers/0/args/-
        value: >-
          ${callers.join(" ")}
`;
}

function ofCell(cell: string, base: string): string {
  return `${begin}
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources:
  - ${base}
nameSuffix: "-${cell}"
patches:
  # The name of the cell's Lease: a hash of the cell's name.
  - target:
      kind: Role
      name: podseidon-aggregator
    patch: |-
      - op: replace
        path: /rules/1/resourceNames/0
        value: ${cellLeaseName(cell)}
`;
}

/** Reads and checks the command line. Throws an ArgumentError. */
export function parseCoreCells(args: readonly string[]): { readonly out: string; readonly cells: readonly string[] } {
  const options = { out: { type: "string" } } as const;
  const { values, positionals: cells } = readArguments(() =>
    parseArgs({ args: [...args], options, allowPositionals: true }),
  );
  if (values.out === undefined || values.out === "") throw new ArgumentError("--out is required, and not empty");
  if (cells.length === 0) throw new ArgumentError("give the name of at least one cell");
  for (const cell of cells) {
    if (!isCellID(cell) || !/^[a-z0-9]+((-+|[.])[a-z0-9]+)*$/.test(cell))
      throw new ArgumentError(`the cell "${cell}" is no name for an account; allowed: ${nameRule}`);
  }
  const twice = cells.find((cell, index) => cells.indexOf(cell) !== index);
  if (twice !== undefined) throw new ArgumentError(`the cell "${twice}" stands twice`);
  return { out: values.out, cells };
}

/** Takes away what an earlier run wrote. Throws an ArgumentError when `out` has anything else in it. */
function removeEarlier(out: string): void {
  if (!existsSync(out)) return;
  const files = readdirSync(out, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => path.join(entry.parentPath, entry.name));
  const foreign = files.find((file) => !readFileSync(file, "utf8").startsWith(begin));
  if (foreign !== undefined) throw new ArgumentError(`--out: ${foreign} is not of an earlier run; name a new folder`);
  rmSync(out, { recursive: true });
}

async function main(args: readonly string[]): Promise<void> {
  const { out, cells } = parseCoreCells(args);
  removeEarlier(out);
  for (const [name, content] of coreCellFiles(out, cells)) {
    mkdirSync(path.dirname(path.join(out, name)), { recursive: true });
    writeFileSync(path.join(out, name), content);
  }
  process.stdout.write(`Wrote the component ${out} with ${cells.length} cells: ${cells.join(", ")}.\n`);
}

if (import.meta.main) await runProgram("core-cells", usage, main);
