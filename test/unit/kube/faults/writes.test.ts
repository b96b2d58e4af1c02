import assert from "node:assert/strict";
import test, { type TestContext } from "node:test";
import { isKubeError, type KubeClient, resourcePath } from "../../../../src/kube/kube-client.ts";
import { sleep } from "../../../../src/util/clock.ts";
import { builtInResources, type Fault } from "../../../double/index.ts";
import { exhaust, type Rig, startRig, strikes } from "./rig.ts";
import { type Answers, withStaleReads } from "./stale-reads.ts";

const type = builtInResources.configMaps;
const resource = { group: "", version: "v1", resource: "configmaps" };
const path = resourcePath(resource, { namespace: "default", name: "counter" });

const faults: readonly Fault[] = [
  { type: "delay", delayMs: 40_000 },
  { type: "reset" },
  { type: "stall" },
  { type: "truncate" },
  { type: "corrupt" },
  { type: "tooManyRequests", retryAfterSeconds: 1 },
  { type: "tooManyRequests" },
  { type: "serverError" },
  { type: "conflict" },
  { type: "loseResponse" },
];

const incrementsPerRun = 3;
const operationsMax = 30;

interface Counter {
  readonly metadata: { readonly resourceVersion: string };
  readonly data: { readonly count: string; readonly by: string };
}

/** Counts up with compare-and-swap until it knows that `by` has been counted; a lost answer is found out by reading. */
async function increment(rig: Rig, client: KubeClient, by: string): Promise<void> {
  for (;;) {
    try {
      const counter = (await client.request({ method: "GET", path })) as Counter;
      if (counter.data.by === by) return;
      const data = { count: String(Number(counter.data.count) + 1), by };
      await client.request({ method: "PUT", path, body: { ...counter, data } });
      return;
    } catch (error) {
      if (!isKubeError(error)) throw error;
      await sleep(rig.clock, 500);
    }
  }
}

async function run(rig: Rig, client: KubeClient): Promise<void> {
  const count = (): number =>
    Number((rig.server.engine.get(type, "default", "counter") as unknown as Counter).data.count);
  const before = count();
  let done = false;
  const work = (async (): Promise<void> => {
    for (let index = 1; index <= incrementsPerRun; index++) await increment(rig, client, `${before}-${index}`);
    done = true;
  })();
  await rig.until(() => done, "the increments");
  await work;
  // A delayed request may still be executed after its client has given up; it then meets a newer version.
  await rig.clock.advance(60_000);
  assert.equal(count(), before + incrementsPerRun);
  await client.close();
}

async function startCounter(t: TestContext): Promise<Rig> {
  const rig = await startRig(t);
  const metadata = { name: "counter" };
  const data = { count: "0", by: "" };
  await rig.server.engine.create(type, "default", { apiVersion: "v1", kind: "ConfigMap", metadata, data });
  return rig;
}

async function survive(t: TestContext, fault: Fault): Promise<void> {
  const rig = await startCounter(t);
  const nothingIsLeft = (): Promise<void> => rig.until(() => rig.clock.pendingTimers === 0, "no timer is left");
  await exhaust(rig, fault, operationsMax, async () => run(rig, await rig.connect()), nothingIsLeft);
}

for (const fault of faults) {
  const { type: name } = fault;
  test(`compare-and-swap counts each increment exactly once through ${name}`, (t) => survive(t, fault));

  test(`a write that no version guards is executed at most once through ${name}`, async (t) => {
    const rig = await startRig(t);
    const body = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "patched" } };
    await rig.server.engine.create(type, "default", body);
    const client = await rig.connect();
    const before = rig.server.engine.revision;
    const strike = strikes(1, 1);
    rig.setFaults(() => (strike.next() ? fault : undefined));
    let settled = false;
    const patching = client
      .request({
        method: "PATCH",
        path: resourcePath(resource, { namespace: "default", name: "patched" }),
        contentType: "application/merge-patch+json",
        body: { data: { at: "once" }, metadata: { annotations: { each: "write counts" } } },
      })
      .catch((error: unknown) => assert.ok(isKubeError(error), String(error)))
      .finally(() => (settled = true));
    await rig.until(() => settled, "an answer or an error");
    await patching;
    await rig.clock.advance(60_000);
    await rig.untilQuiet();
    assert.ok(rig.server.engine.revision - before <= 1, "executed again");
    const again = name === "tooManyRequests" && fault.retryAfterSeconds !== undefined;
    assert.equal(rig.requests(), again ? 2 : 1);
    await client.close();
  });
}

test("compare-and-swap counts each increment exactly once through reads from a lagging replica", async (t) => {
  const rig = await startCounter(t);
  for (const times of [1, 6]) {
    for (let nth = 1; ; nth++) {
      assert.ok(nth < operationsMax, "the runs never become clean");
      const strike = strikes(nth, times);
      const answers: Answers = [];
      await run(rig, withStaleReads(await rig.connect(), answers, strike.next));
      if (strike.struck() === 0) break;
    }
  }
});
