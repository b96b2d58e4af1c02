/** Credentials whose exec plugin does not end. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { createCredentialSource } from "../../../../src/kube/transport/credentials.ts";
import { StartError } from "../../../../src/lifecycle/component.ts";
import { silentLogger, type LogFields } from "../../../../src/util/logger.ts";
import { createVirtualClock, drainMicrotasks } from "../../../support/virtual-clock.ts";
import { createHangingPlugin } from "./hanging-plugin.ts";
import { plainCluster } from "../../../support/cluster-config.ts";
import { temporaryFolder, writeKubeConfig } from "./kubeconfigs.ts";

const server = "http://127.0.0.1:1";

test("a plugin that hangs at the start is killed after 30 s and named", async (t) => {
  const plugin = await createHangingPlugin(t);
  plugin.setHanging(true);
  const kubeConfigPath = writeKubeConfig(temporaryFolder(t), { server }, { exec: plugin.exec });
  const clock = createVirtualClock();
  const start = createCredentialSource({ ...plainCluster, kubeConfigPath }, { clock, logger: silentLogger });
  const failed = assert.rejects(start, (error) => {
    assert.ok(error instanceof StartError);
    const reason = `no credentials within 30 s: the credential plugin "${process.execPath}" does not end`;
    assert.equal(error.message, `kubeconfig "${kubeConfigPath}": ${reason}`);
    return true;
  });
  const { ended } = await plugin.hanging();
  await clock.advance(30_000);
  await failed;
  await ended;
  assert.equal(clock.pendingTimers, 0);
});

test("while a plugin hangs, requests use the old credentials after a second, and one warning names it", async (t) => {
  const plugin = await createHangingPlugin(t);
  const kubeConfigPath = writeKubeConfig(temporaryFolder(t), { server }, { exec: plugin.exec });
  const clock = createVirtualClock();
  const warnings: string[] = [];
  const warn = (_message: string, fields?: LogFields): void => void warnings.push(String(fields?.["err"]));
  const source = await createCredentialSource(
    { ...plainCluster, kubeConfigPath },
    { clock, logger: { ...silentLogger, warn } },
  );
  const old = (await source.current()).headers;
  plugin.setHanging(true);
  await clock.advance(10_000);
  let served = 0;
  const use = async (): Promise<void> => {
    assert.equal((await source.current()).headers, old);
    served++;
  };
  const waiting = [use(), use()];
  const { ended } = await plugin.hanging();
  await clock.advance(999);
  assert.equal(served, 0);
  await clock.advance(1);
  await Promise.all(waiting);
  const late = use();
  await drainMicrotasks();
  assert.equal(served, 3, "a later request does not wait at all");
  await late;
  await clock.advance(29_000);
  await ended;
  assert.equal(warnings.length, 1);
  assert.match(warnings[0] ?? "", /no credentials within 30 s: the credential plugin ".*" does not end/);
  assert.equal(clock.pendingTimers, 0);

  plugin.setHanging(false);
  await clock.advance(10_000);
  assert.notEqual((await source.current()).headers, old, "it has recovered");
});
