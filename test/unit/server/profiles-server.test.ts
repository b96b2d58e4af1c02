import assert from "node:assert/strict";
import { test } from "node:test";
import { type Profile } from "../../../src/observability/profiler.ts";
import { createProfilesApp } from "../../../src/server/profiles-server.ts";

function appOf(profile: Profile): {
  readonly app: ReturnType<typeof createProfilesApp>;
  readonly seconds: number[];
} {
  const seconds: number[] = [];
  const cpu = async (asked: number): Promise<Profile> => {
    seconds.push(asked);
    return profile;
  };
  return { app: createProfilesApp({ cpu, heap: async () => profile }), seconds };
}

const found: Profile = { kind: "profile", text: "{}" };

test("a profile is a file to save, which no cache keeps", async () => {
  const { app, seconds } = appOf(found);
  for (const [path, name] of [
    ["/debug/pprof/profile?seconds=3", "profile.cpuprofile"],
    ["/debug/pprof/heap", "heap.heapprofile"],
  ] as const) {
    const response = await app.request(path);
    assert.equal(response.status, 200);
    assert.equal(response.headers.get("content-type"), "application/json");
    assert.equal(response.headers.get("content-disposition"), `attachment; filename="${name}"`);
    assert.equal(response.headers.get("cache-control"), "no-store");
    assert.equal(await response.text(), "{}");
  }
  assert.deepEqual(seconds, [3]);
});

test("without a number it takes 30 seconds, and a number out of bounds is told what is allowed", async () => {
  const { app, seconds } = appOf(found);
  await app.request("/debug/pprof/profile");
  assert.deepEqual(seconds, [30]);
  for (const bad of ["0", "61", "-1", "1.5", "", "x", "9".repeat(30)]) {
    const response = await app.request(`/debug/pprof/profile?seconds=${bad}`);
    assert.equal(response.status, 400, bad);
    assert.match(await response.text(), /^seconds: ".*" is invalid; allowed: 1 to 60\n$/);
  }
  assert.deepEqual(seconds, [30]);
});

test("who comes while another profile is taken is told when to try again", async () => {
  const { app } = appOf({ kind: "busy", retryAfterMs: 2_100, reason: "a profile is being taken" });
  const response = await app.request("/debug/pprof/profile");
  assert.equal(response.status, 429);
  assert.equal(response.headers.get("retry-after"), "3");
  assert.equal(await response.text(), "a profile is being taken; try again in 3 s\n");
});

test("a profile that is too large is an error that says so", async () => {
  const response = await appOf({ kind: "tooLarge", bytes: 99 }).app.request("/debug/pprof/heap");
  assert.equal(response.status, 500);
  assert.match(await response.text(), /99 bytes.*fewer seconds/);
});

test("other paths of pprof are not there, and both the index and the error say what is", async () => {
  const { app } = appOf(found);
  assert.equal((await app.request("/debug/pprof/")).status, 200);
  for (const path of ["/", "/debug/pprof/cmdline", "/debug/pprof/goroutine"]) {
    const response = await app.request(path);
    assert.equal(response.status, 404, path);
    assert.match(await response.text(), /\/debug\/pprof\/profile\?seconds=30/);
  }
});
