/** A run of uninstall that is disturbed at any of its requests. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { errorOfResponse } from "../../../../src/kube/kube-errors.ts";
import { installed } from "./installed-cluster.ts";

const forbidden = errorOfResponse("", 403, JSON.stringify({ kind: "Status", reason: "Forbidden" }), "");

/** Writes of a run, Leases left out, that is not disturbed. */
async function writesOf(): Promise<number> {
  const { cluster } = await installed({ isSmall: true });
  const { writes } = cluster.fleet.core.client;
  await cluster.uninstall("single", "--yes");
  return writes.length;
}

test("a run that is cut off at any write goes on where it was", async () => {
  const count = await writesOf();
  assert(count > 15, `only ${count} writes`);
  for (let fatal = 1; fatal <= count; fatal += 1) {
    const { cluster, before } = await installed({ isSmall: true });
    const { client } = cluster.fleet.core;
    client.onWrite = (index) => (index >= fatal ? forbidden : undefined);
    const cut = await cluster.uninstall("single", "--yes");
    assert.equal(cut.exitCode, 1, `cut off at write ${fatal}`);
    client.onWrite = () => undefined;
    const { exitCode, problem } = await cluster.uninstall("single", "--yes");
    assert.equal(exitCode, 0, `write ${fatal}: ${problem}`);
    assert.deepEqual(cluster.inventory(), before, `write ${fatal}`);
  }
});

test("a request that fails once, or whose answer is lost, delays a run, or ends it before any change", async () => {
  const undisturbed = await installed({ isSmall: true });
  await undisturbed.cluster.uninstall("single", "--yes");
  // Reads come again and again: the last of each is the one that the most depends on.
  const last = new Map(undisturbed.cluster.fleet.core.client.log.map((what, index) => [what, index + 1]));
  assert(last.size > 50, `only ${last.size} requests`);
  for (const [what, failing] of last) {
    // The lost answer of a read is as good as one that fails.
    for (const fault of what.startsWith("GET") ? (["before"] as const) : (["before", "after"] as const)) {
      const { cluster, before } = await installed({ isSmall: true });
      const { client } = cluster.fleet.core;
      let number = 0;
      client.onRequest = () => (++number === failing ? fault : undefined);
      const { exitCode, problem } = await cluster.uninstall("single", "--yes");
      const isUntouched = /nothing was changed/.test(problem ?? "") && client.writes.length === 0;
      assert(exitCode === 0 || isUntouched, `${fault} ${what}: ${problem}`);
      if (exitCode === 0) assert.deepEqual(cluster.inventory(), before, `${fault} ${what}`);
    }
  }
});
