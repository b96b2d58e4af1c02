/** A kubeconfig that does not ask who its server is. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { createCredentialSource } from "../../../../src/kube/transport/credentials.ts";
import { plainCluster } from "../../../support/cluster-config.ts";
import { createVirtualClock } from "../../../support/virtual-clock.ts";
import { createRecordingLogger } from "../../observability/recording-logger.ts";
import { temporaryFolder, writeKubeConfig } from "./kubeconfigs.ts";

for (const [cluster, warnings] of [
  [{ "insecure-skip-tls-verify": true }, 1],
  [{ "insecure-skip-tls-verify": false }, 0],
  [{}, 0],
] as const) {
  test(`a kubeconfig with ${JSON.stringify(cluster)} gives ${warnings} warnings at the start`, async (t) => {
    const server = "https://127.0.0.1:1";
    const kubeConfigPath = writeKubeConfig(temporaryFolder(t), { server, ...cluster }, { token: "secret" });
    const logger = createRecordingLogger();
    await createCredentialSource({ ...plainCluster, kubeConfigPath }, { clock: createVirtualClock(), logger });
    assert.equal(logger.entries.length, warnings);
    for (const { level, message, fields } of logger.entries) {
      assert.equal(level, "warn");
      assert.match(message, /^insecure-skip-tls-verify: /);
      assert.deepEqual(fields, { origin: `kubeconfig "${kubeConfigPath}"`, server });
    }
  });
}
