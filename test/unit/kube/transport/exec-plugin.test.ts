import assert from "node:assert/strict";
import { test } from "node:test";
import { ExecPlugin } from "../../../../src/kube/transport/exec-plugin.ts";
import { createHangingPlugin } from "./hanging-plugin.ts";

const nowMs = Date.UTC(2026, 0, 1);
const node = JSON.stringify(process.execPath);

/** A plugin that runs `script`, with `environment` and nothing else. */
function pluginOf(script: string, environment: Readonly<Record<string, string>> = {}): ExecPlugin {
  return new ExecPlugin({ command: process.execPath, args: ["-e", script] }, environment);
}

/** A script that prints a status with this token, which expires at that time. */
function printing(token: string, expirationTimestamp?: string): string {
  return `const status = { token: ${token}, expirationTimestamp: ${JSON.stringify(expirationTimestamp)} };
    console.log(JSON.stringify({ status }));`;
}

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
    await assert.rejects(pluginOf(script).credential(nowMs), { message: `the credential plugin ${node} ${problem}` });
  }
});

test("a plugin that cannot be started is named, and one without a command is said to have none", async () => {
  await assert.rejects(new ExecPlugin({ command: "/nowhere/plugin" }, {}).credential(nowMs), {
    message: 'the credential plugin "/nowhere/plugin" cannot be started: spawn /nowhere/plugin ENOENT',
  });
  for (const entry of [{}, { command: "" }, { command: 7 }, "text"]) {
    await assert.rejects(new ExecPlugin(entry, {}).credential(nowMs), {
      message: "the credential plugin has no command",
    });
  }
});

test("a plugin that reads its input finds none", { timeout: 30_000 }, async () => {
  const plugin = pluginOf(`process.stdin.resume().on("end", () => { ${printing('"t"')} })`);
  assert.equal((await plugin.credential(nowMs)).token, "t");
});

test("a plugin gets the environment, overridden by its own variables, and a description of its task", async () => {
  const env = [
    { name: "OWN", value: "own" },
    { name: "BOTH", value: "own" },
    { name: "KUBERNETES_EXEC_INFO", value: "own" },
  ];
  const entry = {
    apiVersion: "client.authentication.k8s.io/v1beta1",
    command: process.execPath,
    args: ["-e", printing("JSON.stringify(process.env)")],
    env,
  };
  const { token } = await new ExecPlugin(entry, { INHERITED: "inherited", BOTH: "inherited" }).credential(nowMs);
  const { INHERITED, OWN, BOTH, KUBERNETES_EXEC_INFO } = JSON.parse(token ?? "") as Record<string, string>;
  assert.deepEqual([INHERITED, OWN, BOTH], ["inherited", "own", "own"]);
  assert.deepEqual(JSON.parse(KUBERNETES_EXEC_INFO ?? ""), {
    apiVersion: "client.authentication.k8s.io/v1beta1",
    kind: "ExecCredential",
    spec: { interactive: false },
  });
});

test("a client certificate and its key are taken as they are printed", async () => {
  const status = { clientCertificateData: "certificate", clientKeyData: "key" };
  const plugin = pluginOf(`console.log(${JSON.stringify(JSON.stringify({ status }))})`);
  assert.deepEqual(await plugin.credential(nowMs), { token: undefined, cert: "certificate", key: "key" });
});

test("a plugin runs again when what it printed has expired, and only then", async () => {
  const expiring = pluginOf(printing("String(process.pid)", "2026-01-01T00:10:00Z"));
  const { token } = await expiring.credential(nowMs);
  assert.equal((await expiring.credential(nowMs + 599_999)).token, token);
  assert.notEqual((await expiring.credential(nowMs + 600_000)).token, token);

  const lasting = pluginOf(printing("String(process.pid)"));
  assert.equal((await lasting.credential(nowMs)).token, (await lasting.credential(Number.MAX_SAFE_INTEGER)).token);

  const unreadable = pluginOf(printing("String(process.pid)", "tomorrow"));
  assert.notEqual((await unreadable.credential(nowMs)).token, (await unreadable.credential(nowMs)).token);
});

for (const viaWrapper of [false, true]) {
  test(`a ${viaWrapper ? "child of the " : ""}plugin that hangs can be killed`, async (t) => {
    const hangingPlugin = await createHangingPlugin(t, viaWrapper);
    const plugin = new ExecPlugin(hangingPlugin.exec, {});
    assert.equal(plugin.kill(), undefined);
    hangingPlugin.setHanging(true);
    const failed = assert.rejects(plugin.credential(nowMs), {
      message: `the credential plugin ${node} ended with SIGKILL and no message`,
    });
    const { ended } = await hangingPlugin.hanging();
    assert.equal(plugin.kill(), process.execPath);
    await ended;
    await failed;
    assert.equal(plugin.kill(), undefined);
  });
}
