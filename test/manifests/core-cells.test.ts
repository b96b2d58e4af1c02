/** Cells of a fleet as the installation guide adds them: scripts/core-cells.ts for the core, one folder per worker. */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { test, type TestContext } from "node:test";
import { cellLeaseName } from "../../src/api/cell-lease.ts";
import { coreCellFiles, parseCoreCells } from "../../scripts/core-cells.ts";
import { configOf, type Deployment, type Manifest, manifestsFolder, onlyOne, render } from "./manifest-files.ts";
import { rightsIn } from "./rights/rights.ts";

interface Configuration extends Manifest {
  readonly webhooks: readonly { readonly clientConfig: { readonly url: string } }[];
}

const urlsOf = (objects: readonly Manifest[]): ReadonlySet<string> =>
  new Set(
    onlyOne<Configuration>(objects, "ValidatingWebhookConfiguration").webhooks.map(
      ({ clientConfig }) => clientConfig.url,
    ),
  );

/** Beside nothing of the repository: the files lead to it by relative paths. */
function newFolder(t: TestContext): string {
  const folder = mkdtempSync(path.join(os.tmpdir(), "podseidon-cells-"));
  t.after(() => rmSync(folder, { recursive: true }));
  return folder;
}

function writeFiles(folder: string, files: ReadonlyMap<string, string>): void {
  for (const [name, content] of files) {
    mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
    writeFileSync(path.join(folder, name), content);
  }
}

test("the cells of the overlay are what the script writes for worker-1", () => {
  const folder = path.join(manifestsFolder, "overlays/core/cells");
  for (const [name, content] of coreCellFiles(folder, ["worker-1"]))
    assert.equal(
      readFileSync(path.join(folder, name), "utf8"),
      content,
      `${name} is behind: run scripts/core-cells.ts`,
    );
});

test("a second cell gets an account with the rights of the first, limited to its own Lease", (t) => {
  const folder = newFolder(t);
  writeFiles(path.join(folder, "cells"), coreCellFiles(path.join(folder, "cells"), ["worker-1", "worker-2"]));
  const core = path.relative(folder, path.join(manifestsFolder, "components/core"));
  writeFileSync(path.join(folder, "kustomization.yaml"), `kind: Kustomization\ncomponents: ["${core}", cells]\n`);
  const objects = render(folder);
  const rightsOf = (cell: string) => {
    const rights = rightsIn(objects).filter(({ account }) => account === `podseidon-aggregator-${cell}`);
    return JSON.stringify(rights).replaceAll(cellLeaseName(cell), "LEASE").replaceAll(cell, "CELL");
  };
  assert.match(rightsOf("worker-2"), /"names":\["LEASE"\]/);
  assert.equal(rightsOf("worker-2"), rightsOf("worker-1"));
  const { webhook } = configOf(objects, "podseidon-webhook");
  const cells = ["worker-1", "worker-2"];
  assert.deepEqual(webhook.clientCells, new Map(cells.map((cell) => [cell, new Set([cell])])));
  const { args } = onlyOne<Deployment>(objects, "Deployment", "podseidon-webhook").spec.template.spec.containers[0];
  const flag = args.find((arg) => arg.includes("map-configs"));
  assert.equal(flag?.replace(/^[^=]*=/, ""), cells.map((cell) => `${cell}=/etc/podseidon/workers/${cell}`).join(","));
});

test("a worker differs from the overlay by its cell and the address of the webhook, each given once", (t) => {
  const folder = newFolder(t);
  const overlay = readFileSync(path.join(manifestsFolder, "overlays/worker/kustomization.yaml"), "utf8");
  const text = overlay
    .replace("../../components/worker", path.relative(folder, path.join(manifestsFolder, "components/worker")))
    .replace("worker-1", "worker-2")
    .replace("podseidon.example.com", "198.51.100.7:8443");
  writeFileSync(path.join(folder, "kustomization.yaml"), text);
  const objects = render(folder);
  assert.deepEqual(urlsOf(objects), new Set(["https://198.51.100.7:8443/worker-2"]));
  assert.equal(configOf(objects, "podseidon-aggregator").aggregator.cellID, "worker-2");
  const back = JSON.stringify(objects).replaceAll("worker-2", "worker-1");
  assert.deepEqual(
    JSON.parse(back.replaceAll("198.51.100.7:8443", "podseidon.example.com")),
    render("overlays/worker"),
  );
});

test("the folders and commands of the installation guide make a fleet of two workers that agree", (t) => {
  const root = newFolder(t);
  symlinkSync(manifestsFolder, path.join(root, "manifests"));
  const guide = readFileSync(path.join(manifestsFolder, "../docs/install.md"), "utf8");
  const block = (name: string): string =>
    new RegExp(`\`my-${name}/kustomization.yaml\`[^\`]*\`\`\`yaml\n(.*?)\`\`\``, "s").exec(
      guide.slice(guide.indexOf("**3.1")),
    )?.[1] ?? assert.fail(`the guide has no my-${name}/kustomization.yaml`);
  const write = (name: string, text: string): void =>
    writeFiles(path.join(root, name), new Map([["kustomization.yaml", text]]));
  const section = guide.slice(guide.indexOf("### Another worker"));
  const command = /core-cells\.ts (--out my-core\/cells .*)/.exec(section)?.[1] ?? assert.fail("no core-cells.ts");
  const { out, cells } = parseCoreCells(command.split(" "));
  const folder = path.join(root, out);
  writeFiles(folder, coreCellFiles(folder, cells));
  write("my-core", block("core"));
  write("my-worker-1", block("worker-1"));
  const [, from = "", to = ""] = /sed -i 's\/(.*)\/(.*)\/' my-worker-2\/kustomization.yaml/.exec(section) ?? [];
  write("my-worker-2", block("worker-1").replace(from, to));
  const core = render(path.join(root, "my-core"));
  const { webhook } = configOf(core, "podseidon-webhook");
  for (const cell of ["worker-1", "worker-2"]) {
    const worker = render(path.join(root, `my-${cell}`));
    assert.equal(configOf(worker, "podseidon-aggregator").aggregator.cellID, cell);
    assert.deepEqual(urlsOf(worker), new Set([`https://podseidon.example.com/${cell}`]));
    assert.deepEqual(webhook.clientCells.get(cell), new Set([cell]));
    onlyOne(core, "ServiceAccount", `podseidon-aggregator-${cell}`);
    assert.ok(section.includes(`create token podseidon-aggregator-${cell} `) || cell === "worker-1");
  }
});

test("the script refuses names that no account can have, and says what is allowed", () => {
  for (const [args, message] of [
    [["worker-1"], /--out is required/],
    [["--out", "x"], /at least one cell/],
    [["--out", "x", "Worker"], /"Worker".*lower-case letters/],
    [["--out", "x", "a/b"], /"a\/b"/],
    [["--out", "x", "a".repeat(64)], /at most 63/],
    [["--out", "x", "a", "a"], /"a" stands twice/],
    [["--out", "x", "--cells", "a"], /--cells/],
  ] as const)
    assert.throws(() => parseCoreCells(args), message);
  assert.deepEqual(parseCoreCells(["--out", "x", "a", "b.c"]), { out: "x", cells: ["a", "b.c"] });
});
