import assert from "node:assert/strict";
import { test } from "node:test";
import { KubeError } from "../../../../src/kube/kube-client.ts";
import { createCore, isInForce, startLeading } from "../core-cluster.ts";
import { EngineClient, type Fault } from "../../../support/engine-client.ts";
import { createRecordingLogger } from "../../observability/recording-logger.ts";
import { ProtectorCrd } from "../../../../src/generator/protectors/protector-crd.ts";

const secondMs = 1_000;
const crdPath = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/podprotectors.podseidon.kubewharf.io";
const list = "GET /apis/podseidon.kubewharf.io/v1alpha1/podprotectors";

/** A leader that looks for the CRD. `fault` decides about each request. */
async function bench() {
  const core = await createCore();
  const client = new EngineClient("core", core.engine);
  const logger = createRecordingLogger();
  const recorded: string[] = [];
  const regarding: unknown[] = [];
  let fault: (what: string) => Fault = () => undefined;
  client.onRequest = (_, what) => fault(what);
  let backs = 0;
  const crd = new ProtectorCrd({
    core: client,
    namespace: undefined,
    events: {
      record(object, type, reason) {
        recorded.push(`${type} ${reason}`);
        regarding.push(object);
      },
      close() {},
    },
    clock: core.clock,
    logger,
    onBack: () => void backs++,
  });
  const life = new AbortController();
  const running = crd.lead(life.signal);
  await core.clock.advance(0);
  return {
    core,
    client,
    crd,
    recorded,
    regarding,
    errors: () => logger.entries.filter(({ level }) => level === "error").length,
    backs: () => backs,
    set: async (next: typeof fault): Promise<void> => {
      fault = next;
      await core.clock.advance(25 * secondMs);
    },
    stop: async (): Promise<void> => {
      life.abort();
      await core.clock.advance(0);
      await running;
    },
  };
}

const gone = new KubeError("notFound", "404");
const forbidden = new KubeError("forbidden", "403");

test("a CRD that is gone is told once by log and Event on it, and its return as well", async () => {
  for (const mayRead of [true, false]) {
    const { crd, recorded, regarding, errors, backs, set, stop } = await bench();
    await set((what) => (mayRead ? undefined : what.includes("customresource") ? forbidden : undefined));
    assert.deepEqual([crd.isLost, recorded], [false, []]);
    await set((what) => (!mayRead && what.includes("customresource") ? forbidden : gone));
    assert.deepEqual([crd.isLost, recorded, errors(), backs()], [true, ["Warning CRDLost"], 1, 0]);
    assert.deepEqual((regarding[0] as { name: string }).name, crdPath.split("/").at(-1));
    await set((what) => (mayRead ? undefined : what.includes("customresource") ? forbidden : undefined));
    assert.deepEqual([crd.isLost, recorded.at(-1), backs()], [false, "Normal CRDBack", 1]);
    await stop();
    assert.equal(crd.isLost, false);
  }
});

test("a terminating CRD is lost", async () => {
  const { client, crd, recorded, stop, core } = await bench();
  const original = client.request.bind(client);
  client.request = async (request) =>
    request.path === crdPath
      ? { metadata: { uid: "crd-1", deletionTimestamp: "2026-01-02T00:00:00Z" } }
      : await original(request);
  await core.clock.advance(25 * secondMs);
  assert.deepEqual([crd.isLost, recorded], [true, ["Warning CRDLost"]]);
  await stop();
});

test("trouble of the core says nothing about the CRD", async () => {
  const { client, crd, recorded, set, stop } = await bench();
  for (const kind of ["serverError", "timeout", "unauthorized"] as const)
    await set(() => new KubeError(kind, "scripted"));
  await set((what) => (what.includes("customresource") ? forbidden : new KubeError("serverError", "503")));
  assert.deepEqual([crd.isLost, recorded], [false, []]);
  assert.ok(client.count(/podprotectors/) < 20);
  assert.ok(client.log.includes(list));
  await stop();
});

test("what is gone went with its CRD when that is gone, is being deleted, or is younger", async () => {
  const { core, crd, client, stop } = await bench();
  const request = client.request.bind(client);
  let answer: object | KubeError = forbidden;
  client.request = async (asked) => {
    if (asked.path !== crdPath) return await request(asked);
    if (answer instanceof KubeError) throw answer;
    return { metadata: answer };
  };
  const signal = new AbortController().signal;
  const isTaken = (creationTimestamp = "2026-01-01T00:01:00Z"): Promise<boolean> =>
    crd.hasTaken({ name: "a", namespace: "b", uid: "c", resourceVersion: "1", creationTimestamp }, signal);
  assert.equal(await isTaken(), false, "who may not read the CRD believes deletions");
  answer = gone;
  assert.equal(await isTaken(), true);
  answer = { creationTimestamp: "2025-01-01T00:00:00Z", deletionTimestamp: "2026-01-01T00:02:00Z" };
  assert.equal(await isTaken(), true);
  answer = { creationTimestamp: "2026-01-01T00:02:00Z" };
  assert.equal(await isTaken(), true);
  assert.equal(await isTaken("2026-01-01T00:02:00Z"), false);
  answer = { creationTimestamp: "2025-01-01T00:00:00Z" };
  assert.equal(await isTaken(), false);
  answer = new KubeError("serverError", "503");
  await assert.rejects(isTaken(), KubeError);
  await core.clock.advance(0);
  await stop();
});

test("Deployments that came while the CRD was lost get their protectors as soon as it is back", async () => {
  const { core, generator } = await startLeading();
  let isGone = true;
  generator.client.onRequest = (_, what) =>
    isGone && (what.includes(crdPath) || /^(GET|POST) .*\/podprotectors(\/|$)/.test(what)) ? gone : undefined;
  await core.createDeployment("web");
  await core.clock.advance(3_600 * secondMs);
  assert.equal(generator.troubles().isCrdLost, true);
  assert.ok(core.events().some((event) => event["reason"] === "CRDLost"));
  isGone = false;
  await core.clock.advance(15 * secondMs);
  assert.ok(isInForce(core.protector("deployment-web")));
  assert.equal(generator.troubles().isCrdLost, false);
});
