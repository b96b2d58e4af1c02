import assert from "node:assert/strict";
import { test } from "node:test";
import { type Breakable, carryOut, consoleHelp } from "../../scripts/playground/console.ts";
import { type TestCluster, createTestCluster, installWebhook, podBody } from "../double/cluster.ts";
import { builtInResources as types } from "../double/engine/resources.ts";

/** Two processes, and whatever cells there are; `calls` is what was done to the processes. */
function breakable(clusters: readonly TestCluster[] = []): { fleet: Breakable; calls: string[] } {
  const calls: string[] = [];
  const role = (name: string, pid: number, state: "ready" | "gone"): Breakable["podseidon"]["roles"][number] => ({
    name,
    pid,
    state,
    logFile: `/logs/${name}.log`,
    kill: async () => void calls.push(`kill ${name}`),
  });
  const podseidon = {
    roles: [role("generator", 11, "ready"), role("webhook-1", 12, "gone")],
    restart: async (name: string) => void calls.push(`restart ${name}`),
  };
  return { fleet: { cells: clusters.map(({ engine }) => ({ server: { engine } })), podseidon }, calls };
}

async function type(line: string, clusters: readonly TestCluster[] = []): Promise<{ text: string; calls: string[] }> {
  const { fleet, calls } = breakable(clusters);
  return { text: (await carryOut(line, fleet, ["the help"])).join("\n"), calls };
}

/** A cluster with pods of the services; its webhook refuses all but the first `admitted` deletions. */
async function clusterWithPods(pods: number, admitted: number): Promise<TestCluster> {
  const cluster = await createTestCluster();
  const namespace = { apiVersion: "v1", kind: "Namespace", metadata: { name: "shop" } };
  await cluster.engine.create(types.namespaces, undefined, namespace);
  for (let index = 0; index < pods; index += 1) {
    await cluster.engine.create(types.pods, "shop", podBody(`web-${index}`));
  }
  await installWebhook(cluster.engine);
  const free = new Set(Array.from({ length: admitted }, (_, index) => `web-${index}`));
  cluster.decide(({ name }) =>
    free.has(String(name)) ? { allowed: true } : { allowed: false, status: { code: 429, message: "all 3 must stay" } },
  );
  return cluster;
}

test("runaway asks for every pod of every cell, and says how many were refused and why", async () => {
  const clusters = [await clusterWithPods(4, 1), await clusterWithPods(2, 2)];
  const { text } = await type("runaway", clusters);
  assert.match(text, /^6 deletions: 3 admitted, 3 refused\.\nOne of the answers:\n {2}.*all 3 must stay/);
});

test("runaway tells deletions that nobody could judge from refused ones", async () => {
  const cluster = await clusterWithPods(1, 0);
  cluster.decide(() => Promise.reject(new Error("connection refused")));
  const { text } = await type("runaway", [cluster]);
  assert.match(text, /^1 deletions: 0 admitted, 0 refused, 1 not answered\.\n[^]*connection refused/);
});

test("stop kills the process of that name, and start brings back one that has gone", async () => {
  const stopped = await type(" stop  generator ");
  assert.deepEqual(stopped.calls, ["kill generator"]);
  assert.equal(stopped.text, "generator (pid 11) is killed; start generator brings it back");
  const started = await type("start webhook-1");
  assert.deepEqual(started.calls, ["restart webhook-1"]);
  assert.equal(started.text, "webhook-1 is ready");
});

test("what is gone is not stopped, and what runs is not started a second time", async () => {
  const stopped = await type("stop webhook-1");
  const started = await type("start generator");
  assert.deepEqual([...stopped.calls, ...started.calls], []);
  assert.match(stopped.text, /does not run/);
  assert.match(started.text, /runs already \(pid 11\)/);
});

test("a process that there is not is named, with the way to those that there are", async () => {
  assert.equal((await type("stop webhook-9")).text, "no process is called webhook-9; processes lists them");
  assert.equal((await type("start")).text, "which process? processes lists them");
});

test("processes says of each whether it runs, and names the folders with their logs", async () => {
  const lines = (await type("processes")).text.split("\n");
  assert.match(lines[0] ?? "", /^ {2}generator +ready, pid 11$/);
  assert.match(lines[1] ?? "", /^ {2}webhook-1 +gone$/);
  assert.deepEqual(lines.slice(2), ["Their logs:", "  /logs"]);
});

test("an empty line does nothing, help prints the help, and anything else says how to get it", async () => {
  assert.equal((await type("")).text, "");
  assert.equal((await type("help")).text, "the help");
  assert.match((await type("quit")).text, /^unknown: quit\. Type help, or end the playground with Ctrl-C$/);
});

test("the help fits 80 columns and names each verb", () => {
  for (const line of consoleHelp) assert.ok(line.length <= 80, line);
  for (const verb of ["stop", "start", "runaway", "processes", "help"]) {
    assert.ok(
      consoleHelp.some((line) => line.includes(verb)),
      verb,
    );
  }
});
