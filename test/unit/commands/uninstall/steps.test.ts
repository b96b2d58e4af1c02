import assert from "node:assert/strict";
import { test } from "node:test";
import { type Part, type Step, stepsOf } from "../../../../src/commands/uninstall/steps.ts";
import { systemNamespace } from "../support/fleet.ts";
import { installed, named } from "./installed-cluster.ts";

function step(part: Part, title: RegExp): Step {
  const found = stepsOf(part).find((one) => title.test(one.title));
  assert(found !== undefined, String(title));
  return found;
}

test("the webhook configuration goes first, finalizers before the CRD, rights after all that, namespaces last", () => {
  const order = stepsOf("single").map(({ title }) => title.split(" ").slice(0, 4).join(" "));
  assert.deepEqual(order, [
    "Delete the webhook configurations:",
    "Delete the Deployments of",
    "Take the finalizer of",
    "Delete all PodProtectors, those",
    "Delete the CRD",
    "Delete the dummy pods",
    "Delete rights, policies, accounts,",
    "Delete the namespaces of",
  ]);
});

test("in a worker nothing of the core is looked for, and no generator is waited for", () => {
  const steps = stepsOf("worker");
  assert.equal(steps.length, 5);
  assert(steps.every((one) => !("afterwards" in one)));
});

test("a namespace with objects of others stays, and says which", async () => {
  const { cluster } = await installed({ isSmall: true });
  const namespaces = step("single", /^Delete the namespaces/);
  assert.equal((await namespaces.find(cluster.site)).targets.length, 2);
  for (const name of ["a", "b", "c", "d"]) await cluster.make("Secret", systemNamespace, named("Secret", name));
  const { targets, kept } = await namespaces.find(cluster.site);
  assert.deepEqual(
    targets.map(({ name }) => name),
    ["podseidon-update-trigger"],
  );
  assert.deepEqual(kept, [
    "Namespace podseidon-system stays: it holds Secret podseidon-system/a, Secret podseidon-system/b, Secret " +
      "podseidon-system/c and 1 more, not of Podseidon",
  ]);
  const { exitCode, stdout } = await cluster.uninstall("single", "--yes");
  assert.equal(exitCode, 0);
  assert.match(stdout, /^Podseidon is gone, except what is named above$/m);
});

test("a PodProtector that others hold is left, and so is the CRD", async () => {
  const { cluster } = await installed({ isSmall: true });
  await cluster.protect("held", ["example.com/mine"]);
  const { exitCode, stdout } = await cluster.uninstall("single", "--yes");
  assert.equal(exitCode, 1);
  assert.match(
    stdout.replaceAll(/\s+/g, " "),
    /step 4: not done, 4 changed left: PodProtector shop\/held: it waits for the finalizers example\.com\/mine/,
  );
  assert.equal((await step("single", /^Delete the CRD/).find(cluster.site)).targets.length, 1);
});

test("a generator that runs elsewhere is named before any finalizer is taken off", async () => {
  const { cluster } = await installed({ isSmall: true });
  cluster.isGeneratorElsewhere = true;
  const { exitCode, stdout } = await cluster.uninstall("single", "--yes");
  assert.equal(exitCode, 1);
  assert.match(stdout.replaceAll(/\s+/g, " "), /left: the generator generator-1 still leads/);
  assert.equal((await step("single", /^Take the finalizer/).find(cluster.site)).targets.length, 3);
});
