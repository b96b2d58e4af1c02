import assert from "node:assert/strict";
import test from "node:test";
import { KubeConfig } from "@kubernetes/client-node/dist/config.js";
import { superviseExecPlugin } from "../../../../src/kube/transport/exec-plugin.ts";
import { createHangingPlugin } from "./hanging-plugin.ts";

function kubeConfigOf(exec: object): KubeConfig {
  const kubeConfig = new KubeConfig();
  kubeConfig.loadFromClusterAndUser(
    { name: "c", server: "https://127.0.0.1:1", skipTLSVerify: true },
    { name: "u", exec },
  );
  return kubeConfig;
}

const node = JSON.stringify(process.execPath);

test("a plugin that fails is named with its exit code and the first words on its stderr", async () => {
  const cases: readonly [string, string][] = [
    ["process.exit(3)", "ended with exit code 3 and no message"],
    ['console.error("\\nno login\\nmore"); process.exit(1)', "ended with exit code 1: no login"],
    ['process.kill(process.pid, "SIGTERM")', "ended with SIGTERM and no message"],
    ['console.log("token")', "printed no ExecCredential with a status"],
    ["console.log('{}')", "printed no ExecCredential with a status"],
    ["console.log('null')", "printed no ExecCredential with a status"],
    ['console.log("x".repeat(2 ** 20 + 1))', "printed more than 1048576 characters"],
    ['console.error("x".repeat(2 ** 20 + 1))', "printed more than 1048576 characters"],
  ];
  for (const [script, problem] of cases) {
    const kubeConfig = kubeConfigOf({ command: process.execPath, args: ["-e", script] });
    superviseExecPlugin(kubeConfig);
    await assert.rejects(kubeConfig.applyToHTTPSOptions({}), { message: `the credential plugin ${node} ${problem}` });
  }
});

test("a plugin that cannot be started is named", async () => {
  const kubeConfig = kubeConfigOf({ command: "/nowhere/plugin" });
  superviseExecPlugin(kubeConfig);
  await assert.rejects(kubeConfig.applyToHTTPSOptions({}), {
    message: 'the credential plugin "/nowhere/plugin" cannot be started: spawn /nowhere/plugin ENOENT',
  });
});

test("a plugin that reads its input finds none", { timeout: 30_000 }, async () => {
  const script = 'process.stdin.resume().on("end", () => console.log(\'{"status":{"token":"t"}}\'))';
  const kubeConfig = kubeConfigOf({ command: process.execPath, args: ["-e", script] });
  superviseExecPlugin(kubeConfig);
  const options: { headers?: unknown } = {};
  await kubeConfig.applyToHTTPSOptions(options);
  assert.deepEqual(options.headers, { Authorization: "Bearer t" });
});

for (const viaWrapper of [false, true]) {
  test(`a ${viaWrapper ? "child of the " : ""}plugin that hangs can be killed`, async (t) => {
    const hangingPlugin = await createHangingPlugin(t, viaWrapper);
    const kubeConfig = kubeConfigOf(hangingPlugin.exec);
    const plugin = superviseExecPlugin(kubeConfig);
    assert.equal(plugin.kill(), undefined);
    hangingPlugin.setHanging(true);
    const failed = assert.rejects(kubeConfig.applyToHTTPSOptions({}), {
      message: `the credential plugin ${node} ended with SIGKILL and no message`,
    });
    const { ended } = await hangingPlugin.hanging();
    assert.equal(plugin.kill(), process.execPath);
    await ended;
    await failed;
    assert.equal(plugin.kill(), undefined);
  });
}
