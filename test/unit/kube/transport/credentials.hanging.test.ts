/** Credentials whose exec plugin does not end. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { createCredentialSource } from "../../../../src/kube/transport/credentials.ts";
import { StartError } from "../../../../src/lifecycle/component.ts";
import { silentLogger, type LogFields } from "../../../../src/util/logger.ts";
import { createVirtualClock, drainMicrotasks } from "../../../support/virtual-clock.ts";
import { createHangingPlugin } from "./hanging-plugin.ts";
import { plainCluster } from "../../../support/cluster-config.ts";
import { temporaryFolder, writeKubeConfig } from "./kubeconfigs.ts";
import { createRecordingLogger } from "../../observability/recording-logger.ts";
import { AuthProvider } from "../../../../src/kube/transport/auth-provider.ts";

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

/** A kubeconfig that does not ask who its server is. */
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

test("the token of a cloud's auth-provider is used while it is valid", async () => {
  const config = { "access-token": "cloud", expiry: "2999-01-01T00:00:00Z" };
  assert.deepEqual(await new AuthProvider({ name: "gcp", config }).credential(), { token: "cloud" });
});

test("an auth-provider that client-node does not know gives no token", async () => {
  assert.deepEqual(await new AuthProvider({ name: "other", config: {} }).credential(), {});
});

test("the token file of an auth-provider is trimmed, and sent to the server of the kubeconfig", async (t) => {
  const folder = temporaryFolder(t);
  const tokenFile = path.join(folder, "token");
  writeFileSync(tokenFile, "from a file\n");
  const user = { "auth-provider": { name: "tokenFile", config: { tokenFile } } };
  const kubeConfigPath = writeKubeConfig(folder, { server: "http://127.0.0.1:1" }, user);
  const deps = { clock: createVirtualClock(), logger: silentLogger };
  const source = await createCredentialSource({ ...plainCluster, kubeConfigPath }, deps);
  assert.deepEqual((await source.current()).headers, { authorization: "Bearer from a file" });
});

test("an exec plugin may stand in an auth-provider, as it once did", async (t) => {
  const exec = { command: process.execPath, args: ["-e", 'console.log(\'{"status":{"token":"old form"}}\')'] };
  const user = { "auth-provider": { name: "exec", config: { exec } } };
  const kubeConfigPath = writeKubeConfig(temporaryFolder(t), { server: "http://127.0.0.1:1" }, user);
  const deps = { clock: createVirtualClock(), logger: silentLogger };
  const source = await createCredentialSource({ ...plainCluster, kubeConfigPath }, deps);
  assert.deepEqual((await source.current()).headers, { authorization: "Bearer old form" });
});
