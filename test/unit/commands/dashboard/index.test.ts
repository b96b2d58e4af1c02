import assert from "node:assert/strict";
import { test } from "node:test";
import { browserCommand, openBrowser } from "../../../../src/commands/dashboard/index.ts";
import { createFleet } from "../support/fleet.ts";

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
