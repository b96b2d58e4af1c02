import assert from "node:assert/strict";
import { test } from "node:test";
import { digestOfUID } from "../../../../src/accounting/history/uid-digest.ts";
import { type ObjectKey, objectKey } from "../../../../src/api/object-key.ts";
import { annotations } from "../../../../src/api/v1alpha1/names.ts";
import { ReleaseList } from "../../../../src/generator/protectors/releases.ts";
import { configMaps, encodeReleases, generatorStateName, type Release } from "../../../../src/kube/generator-state.ts";
import { KubeError, resourcePath } from "../../../../src/kube/kube-client.ts";
import { type EpochMicros, longAgo } from "../../../../src/util/clock.ts";
import { EngineClient } from "../../../support/engine-client.ts";
import { createRecordingLogger } from "../../observability/recording-logger.ts";
import { createCountingMetrics } from "../../kube/counting-metrics.ts";
import { createCore, isInForce, startLeading } from "../core-cluster.ts";

const secondMs = 1_000;
const source = objectKey("default", "web");
const path = resourcePath(configMaps, { namespace: "default", name: generatorStateName });

/** A list that is led, in a core of its own or in `core`. */
async function bench(core?: Awaited<ReturnType<typeof createCore>>) {
  const made = core ?? (await createCore());
  const client = new EngineClient("core", made.engine);
  const logger = createRecordingLogger();
  const metrics = createCountingMetrics();
  const woken: ObjectKey[] = [];
  const watch = { lastError: () => undefined, isCatchingUp: () => false, stalenessMs: () => 0 };
  let reads = 0;
  const list = new ReleaseList({
    core: client,
    namespace: "default",
    clock: made.clock,
    logger,
    protectors: watch,
    failures: metrics.counter("failures", "", ["error"]),
    onWritten: (sources) => void woken.push(...sources),
    onRead: () => void reads++,
  });
  const life = new AbortController();
  const running = list.lead(life.signal);
  await made.clock.advance(2 * secondMs);
  return {
    core: made,
    client,
    list,
    woken,
    reads: () => reads,
    failures: (error: string) => metrics.value("failures", { error }),
    warnings: () => logger.entries.filter(({ level }) => level === "warn").map(({ message }) => message),
    writes: () => client.writes.length,
    causes: () => made.state().releases.map(({ cause }) => cause),
    write: async (releases: readonly Release[], data: Record<string, string> = {}, dropped = 0): Promise<void> => {
      const numbers = { newest: Math.max(0, ...releases.map(({ number }) => number)), dropped };
      const body = { data: { ...data, ...encodeReleases(releases, numbers) } };
      const metadata = { name: generatorStateName };
      if (made.state().resourceVersion === undefined)
        await client.request({
          method: "POST",
          path: path.slice(0, path.lastIndexOf("/")),
          body: { ...body, metadata },
        });
      else await client.request({ method: "PATCH", path, body, contentType: "application/merge-patch+json" });
    },
    stop: async (): Promise<void> => {
      life.abort();
      await made.clock.advance(0);
      await running;
    },
  };
}

function entry(digest: string, atMicros: number, number = 1, namespace = "shop"): Release {
  return { digest, releasedAt: atMicros as EpochMicros, cause: digest, number, namespace };
}

test("a release may begin when its entry is written, and whoever waits for it is woken then", async () => {
  const { core, list, woken, causes, stop } = await bench();
  assert.equal(list.mayRelease("u-1", "deleted", source), false);
  assert.deepEqual([woken, list.waiting], [[], 1]);
  await core.clock.advance(0);
  assert.deepEqual([woken, list.waiting, causes()], [[source], 0, ["deleted"]]);
  assert.equal(list.mayRelease("u-1", "deleted", source), true);
  await stop();
});

test("releases are written together, a thousand of them in no more than one write a second", async () => {
  const { core, list, writes, stop } = await bench();
  for (let index = 0; index < 1_000; index++) {
    list.mayRelease(`u-${index}`, "deleted", source);
    await core.clock.advance(3);
  }
  await core.clock.advance(secondMs);
  assert.equal(core.state().releases.length, 1_000);
  assert.ok(writes() <= 5, `${writes()} writes in four seconds`);
  await stop();
});

test("entries of other generators and what people have added are kept", async () => {
  const one = await bench();
  const other = await bench(one.core);
  await one.write([], { "uid.u-9": "by hand" });
  for (let index = 0; index < 20; index++) {
    one.list.mayRelease(`one-${index}`, "one", source);
    other.list.mayRelease(`other-${index}`, "other", source);
    await one.core.clock.advance(300);
  }
  await one.core.clock.advance(20 * secondMs);
  assert.equal(one.core.state().releases.length, 40);
  assert.equal(one.core.state().data["uid.u-9"], "by hand");
  await other.stop();
  await one.stop();
});

test("no clock decides what is remembered: entries of any age stay, and those of the future", async () => {
  const { core, list, causes, write, stop } = await bench();
  const now = core.clock.epochMicros();
  const dayMicros = 86_400_000_000;
  await write([entry("old", now - 400 * dayMicros, 1), entry("early", now + 400 * dayMicros, 2)]);
  list.mayRelease("u-1", "third", source);
  await core.clock.advance(secondMs);
  assert.deepEqual(causes(), ["old", "early", "third"]);
  assert.deepEqual(
    core.state().releases.map(({ number }) => number),
    [1, 2, 3],
  );
  await stop();
});

test("a release that begins when a thousand came after its entry gets a new one", async () => {
  const { core, list, write, stop } = await bench();
  const now = core.clock.epochMicros();
  list.mayRelease("u-1", "first", source);
  await core.clock.advance(secondMs);
  assert.equal(list.mayRelease("u-1", "again", source), true);
  const others = Array.from({ length: 999 }, (_, index) => entry(`d-${index}`, now, index + 2));
  await write([...core.state().releases, ...others]);
  list.mayRelease("u-2", "other", source);
  await core.clock.advance(secondMs);
  assert.equal(list.mayRelease("u-1", "again", source), false);
  await core.clock.advance(secondMs);
  assert.equal(list.mayRelease("u-1", "again", source), true);
  assert.equal(core.state().releases.length, 1_001);
  await stop();
});

test("a full list has the newest, and says up to which number entries have left it", async () => {
  const { core, list, write, woken, stop } = await bench();
  const now = core.clock.epochMicros();
  await write(Array.from({ length: 4_999 }, (_, index) => entry(`d-${index}`, now, index + 11, `n-${index % 9}`)));
  for (const uid of ["u-1", "u-2", "u-3"]) list.mayRelease(uid, "deleted", source);
  await core.clock.advance(secondMs);
  const { releases, numbers } = core.state();
  assert.deepEqual(
    [woken.length, releases.length, releases[0]?.digest, numbers],
    [3, 5_000, "d-2", { newest: 5_012, dropped: 12 }],
  );
  await stop();
});

test("one namespace has half of the list at most, and only the newest entries have a cause", async () => {
  const { core, list, write, stop } = await bench();
  const now = core.clock.epochMicros();
  const previews = Array.from({ length: 2_500 }, (_, index) => entry(`p-${index}`, now, index + 2, "previews"));
  await write([entry("d-1", now, 1), ...previews]);
  list.mayRelease("u-1", "deleted", objectKey("previews", "web"));
  await core.clock.advance(secondMs);
  const { releases, numbers } = core.state();
  assert.deepEqual(
    releases.slice(0, 2).map(({ digest }) => digest),
    ["d-1", "p-1"],
  );
  assert.deepEqual(numbers, { newest: 2_502, dropped: 2 });
  assert.equal(releases.filter(({ cause }) => cause !== "").length, 500);
  assert.equal(releases.at(-1)?.cause, "deleted");
  await stop();
});

test("what is found absent after more were released than the list holds may have been released", async () => {
  const { core, list, write, stop } = await bench();
  const { signal } = new AbortController();
  await core.clock.advance(secondMs);
  const absentMs = core.clock.monotonicMs();
  await core.clock.advance(secondMs);
  await write([entry("d-1", 0, 20)], {}, 19);
  await core.clock.advance(10 * secondMs);
  assert.equal(await list.fateOf("u-1", absentMs, signal), "unknown");
  await core.clock.advance(1);
  assert.equal(await list.fateOf("u-2", core.clock.monotonicMs(), signal), "lost");
  await stop();
});

test("a cause is cut and has no characters that would blow up the list", async () => {
  const { core, list, causes, stop } = await bench();
  list.mayRelease("u-1", `a "b" \\ ü ${"x".repeat(100)}`, source);
  await core.clock.advance(secondMs);
  assert.match(causes()[0] ?? "", /^a \?b\? \? \? x{70}$/);
  await stop();
});

for (const kind of ["forbidden", "notFound", "invalid"] as const) {
  test(`when the list is refused as ${kind}, releases go on without it, which one line of the log says`, async () => {
    const { core, client, list, warnings, failures, woken, stop } = await bench();
    client.onWrite = () => new KubeError(kind, "scripted");
    for (const uid of ["u-1", "u-2"]) {
      assert.equal(list.mayRelease(uid, "deleted", source), false);
      await core.clock.advance(2 * secondMs);
      assert.equal(list.mayRelease(uid, "deleted", source), true);
    }
    assert.deepEqual([woken.length, warnings().length, failures(kind)], [2, 1, 2]);
    assert.equal(await list.fateOf("u-1", longAgo, new AbortController().signal), "let-go", "it knows by itself");
    await stop();
  });
}

test("trouble of the core holds releases back, for ten minutes at most", async () => {
  const { core, client, list, warnings, woken, causes, stop } = await bench();
  let isBroken = true;
  client.onWrite = () => (isBroken ? new KubeError("serverError", "503") : undefined);
  list.mayRelease("u-1", "deleted", source);
  await core.clock.advance(590 * secondMs);
  assert.deepEqual([woken.length, list.waiting, warnings().length], [0, 1, 1]);
  assert.ok(client.count(/^POST /) < 40, "it is tried with backoff");
  await core.clock.advance(60 * secondMs);
  assert.deepEqual([woken.length, list.waiting], [1, 0]);
  assert.equal(list.mayRelease("u-1", "deleted", source), true);
  isBroken = false;
  list.mayRelease("u-2", "deleted", source);
  await core.clock.advance(60 * secondMs);
  assert.deepEqual([woken.length, causes()], [2, ["deleted"]]);
  await stop();
});

test("a ConfigMap that a person deletes between read and write is made again", async () => {
  const { core, client, list, woken, causes, write, stop } = await bench();
  await write([]);
  client.onWrite = async (_, { method }) => {
    if (method === "PATCH") await client.request({ method: "DELETE", path });
    return undefined;
  };
  list.mayRelease("u-1", "deleted", source);
  await core.clock.advance(5 * secondMs);
  assert.deepEqual([woken.length, causes()], [1, ["deleted"]]);
  await stop();
});

test("a release that is called off before its entry is written leaves nothing", async () => {
  const { core, list, causes, woken, stop } = await bench();
  list.mayRelease("u-1", "deleted", source);
  assert.equal(list.mayKeep("u-1", source), false);
  await core.clock.advance(2 * secondMs);
  assert.deepEqual([causes(), woken], [[], [source]]);
  assert.equal(list.mayKeep("u-1", source), true);
  await stop();
});

test("an object that is to be kept waits until its entry has left the list", async () => {
  const { core, list, causes, woken, stop } = await bench();
  list.mayRelease("u-1", "deleted", source);
  list.mayRelease("u-2", "deleted", source);
  await core.clock.advance(2 * secondMs);
  assert.equal(list.isListed("u-1"), true);
  assert.equal(list.mayKeep("u-1", source), false);
  await core.clock.advance(secondMs);
  assert.deepEqual([causes(), woken.length], [["deleted"], 3]);
  assert.equal(list.mayKeep("u-1", source), true);
  assert.equal(list.isListed("u-2"), true);
  await stop();
});

test("an entry that is written while its release is called off is removed before the object is kept", async () => {
  const { core, client, list, causes, stop } = await bench();
  client.onWrite = async (index) => {
    if (index === 1) assert.equal(list.mayKeep("u-1", source), false);
    return undefined;
  };
  list.mayRelease("u-1", "deleted", source);
  await core.clock.advance(0);
  assert.deepEqual(causes(), ["deleted"]);
  assert.equal(list.mayKeep("u-1", source), false);
  await core.clock.advance(2 * secondMs);
  assert.deepEqual(causes(), []);
  assert.equal(list.mayKeep("u-1", source), true);
  await stop();
});

test("an object is kept only by a list that was read since, as another leader may have written it", async () => {
  const { core, list, write, causes, stop } = await bench();
  await write([entry(digestOfUID("u-1"), core.clock.epochMicros())]);
  assert.equal(list.isListed("u-1"), false, "not known yet");
  assert.equal(list.mayKeep("u-1", source), false);
  await core.clock.advance(2 * secondMs);
  assert.deepEqual(causes(), []);
  assert.equal(list.mayKeep("u-1", source), true);
  await stop();
});

test("what another leader has written is told within a minute, and the own writes are not", async () => {
  const { core, list, reads, write, stop } = await bench();
  list.mayRelease("u-1", "deleted", source);
  await core.clock.advance(200 * secondMs);
  assert.equal(reads(), 0);
  await write([entry("d-1", core.clock.epochMicros())]);
  await core.clock.advance(61 * secondMs);
  assert.equal(reads(), 1);
  await stop();
});

test("a release by a person, or of another generator, is known when the list is read after the absence", async () => {
  const { core, client, list, write, stop } = await bench();
  const { signal } = new AbortController();
  assert.equal(await list.fateOf("u-1", core.clock.monotonicMs(), signal), "lost");
  await write([], { "uid.u-1": "" });
  await core.clock.advance(1);
  const requests = client.log.length;
  assert.equal(await list.fateOf("u-1", longAgo, signal), "lost", "what was read lately is used again");
  assert.equal(client.log.length, requests);
  assert.equal(await list.fateOf("u-1", core.clock.monotonicMs(), signal), "let-go");
  await stop();
});

for (const isMadeAgain of [true, false]) {
  const what = isMadeAgain ? "kept" : "kept dangling";
  test(`a protector whose release ended with its generator is off the list when it is ${what}`, async () => {
    const core = await createCore();
    const first = core.startGenerator();
    await first.ready();
    await core.createDeployment("web");
    await core.clock.advance(2 * secondMs);
    first.client.onWrite = (_, { path: at }) => {
      if (!at.includes("/podprotectors/")) return undefined;
      first.kill();
      return "before";
    };
    await core.deleteDeployment("web");
    await core.clock.advance(secondMs);
    assert.equal(core.state().releases.length, 1);
    assert.ok(isInForce(core.protector("deployment-web")));
    // By force.
    await core.patchDeployment("web", { metadata: { finalizers: null } });
    if (isMadeAgain) await core.createDeployment("web", { replicas: 100 });
    const next = core.startGenerator();
    await next.ready();
    await core.clock.advance(2 * secondMs);
    assert.equal(core.state().releases.length, 0);
    assert.ok(isInForce(core.protector("deployment-web")));
    assert.equal(next.actions("Dangling"), isMadeAgain ? 0 : 1);
    if (isMadeAgain) assert.equal(core.protector("deployment-web")?.spec?.["minAvailable"], 75);
    await next.stop();
  });
}

test("a mark of release on a protector that is kept goes only when its entry has left the list", async () => {
  const { core, generator } = await startLeading();
  await core.createDeployment("web");
  await core.clock.advance(2 * secondMs);
  const { uid } = core.protector("deployment-web")!.metadata;
  const other = await bench(core);
  other.list.mayRelease(uid, "deleted", source);
  await core.clock.advance(secondMs);
  const listed: number[] = [];
  generator.client.onWrite = (_, { path: at }) => {
    if (at.includes("/podprotectors/")) listed.push(core.state().releases.length);
    return undefined;
  };
  await core.patchProtector("deployment-web", { metadata: { annotations: { [annotations.released]: "true" } } });
  await core.clock.advance(100 * secondMs);
  assert.ok(isInForce(core.protector("deployment-web")));
  assert.equal(core.state().releases.length, 0);
  assert.equal(listed.at(-1), 0);
});
