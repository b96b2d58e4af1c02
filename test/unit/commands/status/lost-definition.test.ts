import assert from "node:assert/strict";
import { test } from "node:test";
import { lostDefinitionText } from "../../../../src/commands/status/lost-definition.ts";
import { plainTerminal } from "../support/fleet.ts";
import { onLostCore } from "../restore/lost-core.ts";

const view = { terminal: plainTerminal, program: "podseidon" };

test("the way back of a lost CRD is a command on a line of its own, and nothing is said of one that is there", () => {
  assert.equal(
    lostDefinitionText({ definition: "terminating" }, view),
    "The CRD of PodProtectors has been deleted; finalizers alone keep what is left.\n" +
      "  Do not restart webhooks. Stop the generator, leave it stopped, and then:\n  podseidon restore crd\n",
  );
  const gone = lostDefinitionText({ definition: "gone" }, view);
  assert.match(gone, /^The CRD of PodProtectors is gone, .*\n.*\n {2}podseidon restore crd --file=FILE\n$/);
  assert.equal(lostDefinitionText({ definition: "there" }, view), "");
  assert.equal(lostDefinitionText({ definition: undefined }, view), "");
});

test("status begins with a CRD that somebody has deleted, though every line below looks well", () =>
  onLostCore(async (core) => {
    await core.lose();
    const { exitCode, stdout } = await core.fleet.run("status");
    assert.equal(exitCode, 1);
    assert.match(stdout, /^The CRD of PodProtectors has been deleted; .*\n.*\n {2}podseidon restore crd\n/);
    assert.match(stdout, /\n2 PodProtectors: /);
  }));

test("explain begins with a CRD that somebody has deleted, since its advice is for a core that has one", () =>
  onLostCore(async (core) => {
    const before = await core.fleet.run("explain", "protector", "a", "-n", "shop");
    await core.lose();
    const { exitCode, stdout } = await core.fleet.run("explain", "protector", "a", "-n", "shop");
    assert.equal(exitCode, before.exitCode);
    assert.match(stdout, /^The CRD of PodProtectors has been deleted; .*\n.*\n {2}podseidon restore crd\n\nPodP/);
    assert.match(before.stdout, /^PodProtector /);
  }));
