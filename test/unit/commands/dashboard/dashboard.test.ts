import assert from "node:assert/strict";
import { request } from "node:http";
import { test, type TestContext } from "node:test";
import { startDashboard } from "../../../../src/commands/dashboard/dashboard.ts";
import { podExplainer } from "../../../../src/commands/dashboard/explain-pod.ts";
import { browserCommand, openBrowser } from "../../../../src/commands/dashboard/index.ts";
import { createSystemClock } from "../../../../src/util/system-clock.ts";
import { podBody } from "../../../double/cluster.ts";
import { builtInResources } from "../../../double/index.ts";
import { createSeededRng } from "../../../support/seeded-rng.ts";
import { createCellLease, createFleet, createProtector, systemNamespace } from "../support/fleet.ts";
import { EventReader } from "./http/reader.ts";

async function start(t: TestContext) {
  const { core } = await createFleet();
  await createProtector(core, "web", { cells: [{ cellID: "w1", available: 2 }] });
  const running = await startDashboard({
    cores: new Map([["core", core.client]]),
    namespace: undefined,
    leaseNamespace: systemNamespace,
    port: 0,
    token: "0123456789abcdef",
    clock: createSystemClock(),
    rng: createSeededRng(1),
    explain: async () => ({ text: "" }),
  });
  t.after(() => running.close());
  return running;
}

/** The status of an answer to a request with another Host. */
function statusFor(url: string, host: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { headers: { Host: host } }, (answer) => {
      answer.resume();
      resolve(answer.statusCode);
    });
    sent.on("error", reject);
    sent.end();
  });
}

test("the page and its updates come over a socket of this machine alone", async (t) => {
  const { url } = await start(t);
  assert.match(url, /^http:\/\/127\.0\.0\.1:\d+\/\?token=0123456789abcdef$/);
  assert.match(await (await fetch(url)).text(), /^<!doctype html>/);
  const stream = new EventReader(await fetch(url.replace("/?", "/events?")));
  let update = (await stream.next())?.update;
  while (update?.rows === undefined) update = (await stream.next())?.update;
  assert.equal(update.rows[0]?.id, "core/shop/web");
  await stream.cancel();
});

test("another Host and a wrong secret are refused", async (t) => {
  const { url } = await start(t);
  assert.equal(await statusFor(url, "evil.example"), 421);
  assert.equal(await statusFor(url, new URL(url).host), 200);
  assert.equal(await statusFor(url.replace("token=0", "token=1"), new URL(url).host), 403);
});

test("the secret is not part of what is sent to the page", async (t) => {
  const { url } = await start(t);
  const stream = new EventReader(await fetch(url.replace("/?", "/events?")));
  assert.doesNotMatch(JSON.stringify(await stream.next()), /0123456789/);
  await stream.cancel();
});

test("the end of the program ends what is open", async (t) => {
  const running = await start(t);
  const stream = new EventReader(await fetch(running.url.replace("/?", "/events?")));
  await stream.next();
  await running.close();
  while ((await stream.next()) !== undefined);
  await assert.rejects(fetch(running.url));
});

async function explainer() {
  const { core, clusters, clock } = await createFleet("worker");
  const worker = clusters.get("worker")!;
  await createCellLease(core, clock, "w1");
  await createProtector(core, "web", { minAvailable: 2, cells: [{ cellID: "w1", available: 2 }] });
  await worker.create(builtInResources.pods, "shop", podBody("web-1"));
  const choice = {
    kubeconfig: undefined,
    cores: new Map([["core", undefined]]),
    workers: new Map([["w1", "worker"]]),
    namespace: undefined,
    leaseNamespace: systemNamespace,
  };
  const open = {
    cores: new Map([["core", core.client]]),
    workers: new Map([["w1", worker.client]]),
    choice,
    objectNamespace: "default",
    close: async () => {},
  };
  const explain = podExplainer(open, { clock, program: "podseidon" });
  const { signal } = new AbortController();
  return (cell: string, pod: string) => explain({ cell, namespace: "shop", pod, columns: 52 }, signal);
}

test("the answer has the words of the command, and fits the given width", async () => {
  const answer = await (await explainer())("w1", "web-1");
  assert("text" in answer);
  assert.match(answer.text, /shop\/web/);
  for (const line of answer.text.split("\n")) assert(line.length <= 52, line);
});

test("a pod that does not exist, a cell without a cluster, and no name at all are problems", async () => {
  const ask = await explainer();
  for (const [cell, pod, expected] of [
    ["w1", "absent", /absent/],
    ["w9", "web-1", /no --worker was given for cell w9/],
    ["a b", "web-1", /^The name of the cell /],
    ["w1", "we/b", /./],
  ] as const) {
    const answer = await ask(cell, pod);
    assert("problem" in answer, pod);
    assert.match(answer.problem, expected);
  }
});

test("the command prints the URL of the page and runs until it is stopped", async () => {
  const fleet = await createFleet();
  const running = fleet.run("dashboard");
  while (fleet.printed.length === 0) await new Promise((resolve) => setImmediate(resolve));
  const text = fleet.printed.join("");
  const [url = ""] = /http:\/\/127\.0\.0\.1:\d+\/\?token=[0-9a-f]{32}/.exec(text) ?? [];
  assert.equal((await fetch(url, { headers: { Connection: "close" } })).status, 200);
  for (const line of text.split("\n")) assert(line.length <= 80, line);
  fleet.stop.abort();
  assert.equal((await running).exitCode, 0);
  await assert.rejects(fetch(url));
});

test("the secret of the URL is another one each time", async () => {
  const urls = new Set<string>();
  for (let run = 0; run < 2; run++) {
    const fleet = await createFleet();
    fleet.stop.abort();
    urls.add((await fleet.run("dashboard")).stdout.replace(/^.*token=/s, ""));
  }
  assert.equal(urls.size, 2);
});

test("a port that is none is wrong usage", async () => {
  const fleet = await createFleet();
  for (const port of ["70000", "-1", "http"]) {
    const { exitCode, problem } = await fleet.run("dashboard", `--port=${port}`);
    assert.equal(exitCode, 2);
    assert.match(problem ?? "", /^option --port: ".*" is no port; allowed: 0 \(any free one\) to 65535$/);
  }
});

test("each platform has its own program, which gets the URL as one argument", () => {
  const url = "http://127.0.0.1:1/?token=a&b";
  assert.deepEqual(browserCommand("linux", url), ["xdg-open", [url]]);
  assert.deepEqual(browserCommand("darwin", url), ["open", [url]]);
  assert.deepEqual(browserCommand("win32", url), ["explorer", [url]]);
});

test("a program that is not there is named", async (t) => {
  const { PATH } = process.env;
  t.after(() => void (process.env["PATH"] = PATH));
  process.env["PATH"] = "/nowhere";
  assert.match((await openBrowser("http://127.0.0.1:1/", "linux")) ?? "", /^cannot run xdg-open: /);
});
