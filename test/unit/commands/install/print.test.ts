import assert from "node:assert/strict";
import { test } from "node:test";
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
