import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { after, test } from "node:test";
import { loadAll } from "js-yaml";
import { createStage } from "./empty-cluster.ts";

const image = "--image=images.example.com/podseidon:1";

async function printed(...argv: readonly string[]): Promise<readonly string[]> {
  const stage = createStage();
  const { exitCode, stdout, problem } = await stage.install(...argv, "-o", "yaml");
  assert.equal(exitCode, 0, problem ?? "");
  assert.deepEqual(
    Object.values(stage.clusters).flatMap(({ writes }) => writes),
    [],
  );
  return (loadAll(stdout) as readonly { readonly kind: string }[]).map(({ kind }) => kind);
}

test("each part is printed in an order in which it can be applied, without a cluster", async () => {
  const single = await printed("single", image);
  assert.deepEqual([single[0], single.at(-1)], ["CustomResourceDefinition", "ValidatingWebhookConfiguration"]);
  const core = await printed("core", image, "--cells=a,b");
  assert.equal(core.filter((kind) => kind === "ServiceAccount").length, 4);
  const worker = await printed("worker", image, "--cells=a", "--webhook-address=x.example.com");
  assert.equal(worker.at(-1), "ValidatingWebhookConfiguration");
});

test("what cannot be printed without is asked for", async () => {
  const problem = async (...argv: readonly string[]) => (await createStage().install(...argv, "-o", "yaml")).problem;
  assert.match((await problem("single")) ?? "", /--image is required/);
  assert.match((await problem("core", image)) ?? "", /--cells is required: the names of all cells/);
  assert.match((await problem("worker", image)) ?? "", /--cells is required: the name of this cell/);
  assert.match(
    (await problem("worker", image, "--cells=a,b")) ?? "",
    /--cells: "a,b" is more than one cell; allowed: the name of this worker's cell/,
  );
  assert.match((await problem("worker", image, "--cells=a")) ?? "", /--webhook-address is required/);
});

const folder = mkdtempSync(path.join(os.tmpdir(), "podseidon-systemd-"));
after(() => rmSync(folder, { recursive: true }));

test("unit and environment files are printed with where they belong", async () => {
  const { exitCode, stdout } = await createStage().install("systemd", "--cells=w1");
  assert.equal(exitCode, 0);
  assert.match(stdout, /^# \/etc\/systemd\/system\/podseidon@\.service$/m);
  assert.match(stdout, /^# \/etc\/podseidon\/aggregator\.env$/m);
  assert.match(stdout, /^PODSEIDON_FLAG_AGGREGATOR_CELL_ID=w1$/m);
});

test("they are written into a folder, and a dry run writes none", async () => {
  const out = path.join(folder, "out");
  const dry = await createStage().install("systemd", `--out=${out}`, "--dry-run");
  assert.match(dry.stdout, /^would write .*aggregator\.env, for \/etc\/podseidon\/aggregator\.env$/m);
  assert.ok(!existsSync(out));
  const { exitCode } = await createStage().install("systemd", `--out=${out}`);
  assert.equal(exitCode, 0);
  assert.equal(readdirSync(out).length, 5);
  assert.match(readFileSync(path.join(out, "podseidon@.service"), "utf8"), /^ExecStart=/m);
});

test("a second cell, and a folder that cannot be made, are problems", async () => {
  const { problem = "" } = await createStage().install("systemd", "--cells=a,b");
  assert.match(problem, /--cells: "a,b" is more than one cell; allowed: that of the aggregator on this host/);
  const file = path.join(folder, "out", "webhook.env", "below");
  assert.match((await createStage().install("systemd", `--out=${file}`)).problem ?? "", /cannot write/);
});
