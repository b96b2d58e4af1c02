import assert from "node:assert/strict";
import { test } from "node:test";
import { Hono } from "hono";
import { guard } from "../../../../../src/commands/dashboard/http/access.ts";

const own = { Host: "127.0.0.1:4711" };

function appWith(code?: string): Hono {
  const app = new Hono();
  app.use(guard({ token: "secret", code, port: () => 4711, styleHash: "'sha256-a'", scriptHash: "'sha256-b'" }));
  app.get("/", (context) => context.text("the page"));
  return app;
}

function ask(headers: Record<string, string>, query = "?token=secret"): Response | Promise<Response> {
  return appWith().request(`/${query}`, { headers });
}

test("the page is for whoever has the secret", async () => {
  assert.equal((await ask(own)).status, 200);
  assert.equal((await ask({ Host: "localhost:4711" })).status, 200);
  for (const query of ["", "?token=", "?token=secre", "?token=secretx", "?Token=secret"]) {
    const answer = await ask(own, query);
    assert.equal(answer.status, 403, query);
    assert.match(await answer.text(), /^Open the whole URL/);
  }
});

test("a page of a stranger whose name leads here is not served, even with the secret", async () => {
  for (const host of ["evil.example:4711", "127.0.0.1", "127.0.0.1:1", "localhost.evil.example:4711"]) {
    assert.equal((await ask({ Host: host })).status, 421, host);
  }
});

test("requests that another site has made are refused", async () => {
  for (const site of ["cross-site", "same-site"]) {
    assert.equal((await ask({ ...own, "Sec-Fetch-Site": site })).status, 403, site);
  }
  for (const site of ["same-origin", "none"]) {
    assert.equal((await ask({ ...own, "Sec-Fetch-Site": site })).status, 200, site);
  }
});

test("every answer says that nothing else may be loaded, framed, kept or told", async () => {
  for (const answer of [await ask(own), await ask(own, "")]) {
    const policy = answer.headers.get("Content-Security-Policy") ?? "";
    assert.match(policy, /^default-src 'none'; style-src 'sha256-a'; script-src 'sha256-b'; connect-src 'self';/);
    assert.match(policy, /frame-ancestors 'none'$/);
    assert.doesNotMatch(policy, /unsafe|https?:/);
    assert.equal(answer.headers.get("Referrer-Policy"), "no-referrer");
    assert.equal(answer.headers.get("Cache-Control"), "no-store");
  }
});

test("the code of a started browser leads to the page once", async () => {
  const app = appWith("code");
  const open = (code: string): Response | Promise<Response> => app.request(`/open/${code}`, { headers: own });
  assert.equal((await open("other")).status, 403);
  const first = await open("code");
  assert.deepEqual([first.status, first.headers.get("Location")], [302, "/?token=secret"]);
  assert.equal((await open("code")).status, 403);
  assert.equal((await appWith().request("/open/undefined", { headers: own })).status, 403);
  assert.equal((await appWith("code").request("/open/code", { headers: { Host: "evil.example" } })).status, 421);
});
