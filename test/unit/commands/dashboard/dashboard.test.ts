import assert from "node:assert/strict";
import { request } from "node:http";
import { test, type TestContext } from "node:test";
import { startDashboard } from "../../../../src/commands/dashboard/dashboard.ts";
import { createSystemClock } from "../../../../src/util/system-clock.ts";
import { createSeededRng } from "../../../support/seeded-rng.ts";
import { createFleet, createProtector, systemNamespace } from "../support/fleet.ts";
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
