import assert from "node:assert/strict";
import { test } from "node:test";
import { loadConfig } from "../../../../src/config/load-config.ts";
import { loadGood } from "../load.ts";

function problemWith(...argv: readonly string[]): string {
  const readFile = (): never => assert.fail("no file is named");
  const loaded = loadConfig({ argv: ["--role=generator", ...argv], env: {}, readFile });
  return loaded.kind === "error" ? loaded.message : loaded.kind;
}

test("Deployments are the only sources by default, as upstream has it, and others are named", () => {
  assert.deepEqual(loadGood(["--role=generator"]).generator.sources, ["deployments.apps"]);
  const { generator } = loadGood([
    "--role=generator",
    "--generator-sources=statefulsets.apps,replicationcontrollers",
    "--generator-source-selector=guard=yes",
  ]);
  assert.deepEqual(generator.sources, ["statefulsets.apps", "replicationcontrollers"]);
  assert.deepEqual(generator.sourceSelector, {
    matchExpressions: [{ key: "guard", operator: "In", values: ["yes"] }],
  });
});

test("the generator works on eight objects at once by default, an aggregator on one, as upstream's do", () => {
  const { generator, aggregator } = loadGood(["--role=generator"]);
  assert.deepEqual([generator.queue.concurrency, aggregator.queue.concurrency], [8, 1]);
  assert.equal(loadGood(["--role=generator", "--generator-worker-concurrency=1"]).generator.queue.concurrency, 1);
});

test("an unknown kind of source is refused, with the flag, the value and what is allowed", () => {
  const problem = problemWith("--generator-sources=statefulset.apps");
  for (const part of [
    "--generator-sources",
    "statefulset.apps",
    "deployments.apps, statefulsets.apps, replicasets.apps",
  ])
    assert.ok(problem.includes(part), problem);
});

test("a custom resource is named by its plural and group, whose dot tells it from a mistake", () => {
  const named = "--generator-sources=deployments.apps,databases.example.com";
  assert.deepEqual(loadGood(["--role=generator", named]).generator.sources, [
    "deployments.apps",
    "databases.example.com",
  ]);
  for (const wrong of ["databases.apps", "Databases.example.com", "databases..com", `${"d".repeat(150)}.example.com`])
    assert.match(problemWith(`--generator-sources=${wrong}`), /custom resources such as databases\.example\.com/);
});
