import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { createCredentialSource } from "../../../../src/kube/transport/credentials.ts";
import { silentLogger } from "../../../../src/util/logger.ts";
import { plainCluster } from "../../../support/cluster-config.ts";
import { createVirtualClock } from "../../../support/virtual-clock.ts";
import { temporaryFolder } from "./kubeconfigs.ts";

test("a context that is chosen takes the place of the current one, with its cluster and its user", async (t) => {
  const file = path.join(temporaryFolder(t), "config");
  const names = ["a", "b"];
  const document = {
    clusters: names.map((name) => ({ name, cluster: { server: `http://${name}.example` } })),
    users: names.map((name) => ({ name, user: { token: `of-${name}` } })),
    contexts: [
      ...names.map((name) => ({ name, context: { cluster: name, user: name } })),
      { name: "torn", context: { cluster: "none" } },
    ],
    "current-context": "a",
  };
  writeFileSync(file, JSON.stringify(document));
  const load = async (context?: string) => {
    const config = { ...plainCluster, kubeConfigPath: file, ...(context !== undefined && { context }) };
    const source = await createCredentialSource(config, { clock: createVirtualClock(), logger: silentLogger });
    const { server, headers } = await source.current();
    return [server, headers["authorization"]];
  };
  assert.deepEqual(await load(), ["http://a.example", "Bearer of-a"]);
  assert.deepEqual(await load("b"), ["http://b.example", "Bearer of-b"]);
  await assert.rejects(load("c"), /config": it lacks the context "c"$/);
  await assert.rejects(load("torn"), /the cluster "none" of the context "torn" is missing$/);
});
