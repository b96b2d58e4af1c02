import assert from "node:assert/strict";
import { test } from "node:test";
import { inTurns, waitEstablished, waitGone } from "../../../../src/commands/restore/restored-definition.ts";
import { KubeError } from "../../../../src/kube/kube-client.ts";
import { createVirtualClock } from "../../../support/virtual-clock.ts";
import { createScriptedKubeClient } from "../../kube/scripted-kube-client.ts";

const { signal } = new AbortController();
const there = { metadata: { uid: "u", deletionTimestamp: "x" } };

function bench() {
  const [core, clock] = [createScriptedKubeClient(), createVirtualClock()];
  return { core, clock, site: { core, clock, signal } };
}

test("a CRD that does not go is waited for a minute", async () => {
  const { core, clock, site } = bench();
  core.onRequest = () => there;
  const waiting = waitGone(site);
  await clock.advance(61_000);
  assert.equal(await waiting, false);
  assert.equal(clock.pendingTimers, 0);
});

test("a CRD that goes ends the wait", async () => {
  const { core, clock, site } = bench();
  core.onRequest = () => {
    if (core.requests.length < 3) return there;
    throw new KubeError("notFound", "404", { code: 404, status: { code: 404 } });
  };
  const waiting = waitGone(site);
  await clock.advance(1_500);
  assert.equal(await waiting, true);
});

test("a CRD is served when its condition says so and its objects can be listed", async () => {
  const { core, clock, site } = bench();
  let isServed = false;
  core.onRequest = ({ path }) => {
    if (!path.endsWith("/podprotectors")) return { status: { conditions: [{ type: "Established", status: "True" }] } };
    if (isServed) return {};
    throw new KubeError("notFound", "404");
  };
  const waiting = waitEstablished(site);
  await clock.advance(2_000);
  isServed = true;
  await clock.advance(500);
  assert.equal(await waiting, true);
});

test("work is done on all items, a few at once, and the first failure ends it", async () => {
  let [running, most] = [0, 0];
  const done: number[] = [];
  await inTurns([...Array(50).keys()], async (item) => {
    most = Math.max(most, ++running);
    await Promise.resolve();
    running -= 1;
    done.push(item);
  });
  assert.equal(done.length, 50);
  assert.ok(most > 1 && most <= 8);
  await assert.rejects(inTurns([1], async () => Promise.reject(new Error("no"))));
});
