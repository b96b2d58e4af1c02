import assert from "node:assert/strict";
import { test } from "node:test";
import { browserCommand, openBrowser } from "../../../../src/commands/dashboard/open-browser.ts";

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
