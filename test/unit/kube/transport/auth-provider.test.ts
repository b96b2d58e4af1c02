import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { AuthProvider } from "../../../../src/kube/transport/auth-provider.ts";
import { createCredentialSource } from "../../../../src/kube/transport/credentials.ts";
import { silentLogger } from "../../../../src/util/logger.ts";
import { plainCluster } from "../../../support/cluster-config.ts";
import { createVirtualClock } from "../../../support/virtual-clock.ts";
import { temporaryFolder, writeKubeConfig } from "./kubeconfigs.ts";

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
