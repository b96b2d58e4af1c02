import assert from "node:assert/strict";
import { test } from "node:test";
import { KubeError } from "../../../src/kube/kube-client.ts";
import { UpdateTrigger, type UpdateTriggerSettings } from "../../../src/update-trigger/update-trigger.ts";
import { type LogFields, silentLogger } from "../../../src/util/logger.ts";
import { createCountingMetrics } from "../kube/counting-metrics.ts";
import { createScriptedKubeClient } from "../kube/scripted-kube-client.ts";
import { createVirtualClock } from "../../support/virtual-clock.ts";

const config: UpdateTriggerSettings = {
  updateFrequencyMs: 10_000,
  dummyPod: {
    name: "dummy",
    namespace: "default",
    labels: { cell: "one" },
    annotations: { note: "dummy" },
    image: ":",
    scheduler: "do-not-schedule",
  },
};

function bench(overrides: Partial<UpdateTriggerSettings> = {}) {
  const clock = createVirtualClock();
  const client = createScriptedKubeClient();
  const metrics = createCountingMetrics();
  const warnings: (LogFields | undefined)[] = [];
  const logger = { ...silentLogger, warn: (_: string, fields?: LogFields) => void warnings.push(fields) };
  const touched: number[] = [];
  const trigger = new UpdateTrigger(
    { ...config, ...overrides },
    {
      worker: client,
      clock,
      logger,
      metrics,
      onTouched: (touchedAtMs) => void touched.push(touchedAtMs),
    },
  );
  const life = new AbortController();
  const sentAtMs: number[] = [];
  client.onRequest = () => {
    sentAtMs.push(clock.monotonicMs());
    return {};
  };
  const spins = (event: string, error: string): number =>
    metrics.value("aggregator_update_trigger_spin", { event, error });
  return { clock, client, trigger, life, sentAtMs, touched, spins, warnings, running: () => trigger.run(life.signal) };
}

test("the pod is touched at once and then in each period, with the time of the touch", async () => {
  const { clock, client, life, sentAtMs, running, spins } = bench();
  const done = running();
  await clock.advance(25_000);
  assert.deepEqual(sentAtMs, [0, 10_000, 20_000]);
  const [, second] = client.requests;
  assert.equal(`${second?.method} ${second?.path}`, "PATCH /api/v1/namespaces/default/pods/dummy");
  assert.equal(second?.contentType, "application/merge-patch+json");
  assert.deepEqual(second?.body, {
    metadata: { annotations: { "podseidon.kubewharf.io/update-trigger-time": "2026-01-01T00:00:10.000000Z" } },
  });
  assert.equal(spins("update", "nil"), 3);
  life.abort();
  await done;
  assert.equal(clock.pendingTimers, 0);
});

test("a pod that is not there is created, unscheduled and with what the flags say", async () => {
  const { clock, client, life, running, spins } = bench();
  client.onRequest = ({ method }) => {
    if (method === "PATCH") throw new KubeError("notFound", "no");
    return {};
  };
  const done = running();
  await clock.advance(0);
  const created = client.requests[1];
  assert.equal(`${created?.method} ${created?.path}`, "POST /api/v1/namespaces/default/pods");
  const body = created?.body as { metadata: Record<string, unknown>; spec: Record<string, unknown> };
  assert.equal(body.metadata["name"], "dummy");
  assert.deepEqual(body.metadata["labels"], { cell: "one" });
  assert.deepEqual(body.metadata["annotations"], {
    "podseidon.kubewharf.io/update-trigger-time": "2026-01-01T00:00:00.000000Z",
    note: "dummy",
  });
  assert.deepEqual(body.spec, { schedulerName: "do-not-schedule", containers: [{ name: "main", image: ":" }] });
  assert.equal(spins("create", "nil"), 1);
  life.abort();
  await done;
});

test("a pod that somebody else creates first is no error", async () => {
  const { clock, client, life, running, spins, warnings } = bench();
  client.onRequest = ({ method }) => {
    throw new KubeError(method === "PATCH" ? "notFound" : "alreadyExists", "no");
  };
  const done = running();
  await clock.advance(0);
  assert.equal(spins("create", "nil"), 1);
  assert.deepEqual(warnings, []);
  life.abort();
  await done;
});

test("a failure is counted, logged and retried in the next period", async () => {
  const { clock, client, life, running, spins, warnings } = bench();
  client.onRequest = () => {
    throw new KubeError("timeout", "no");
  };
  const done = running();
  await clock.advance(10_000);
  assert.equal(spins("update", "timeout"), 2);
  assert.equal(warnings.length, 1);
  assert.equal(warnings[0]?.["pod"], "default/dummy");
  life.abort();
  await done;
});

test("failures in a row are logged once a minute, and the first after a success at once", async () => {
  const { clock, client, life, running, spins, warnings } = bench({ updateFrequencyMs: 1000 });
  let isBroken = true;
  client.onRequest = () => {
    if (isBroken) throw new KubeError("timeout", "no");
    return {};
  };
  const done = running();
  await clock.advance(150_500);
  assert.equal(spins("update", "timeout"), 151);
  assert.equal(warnings.length, 3);
  isBroken = false;
  await clock.advance(1000);
  isBroken = true;
  await clock.advance(1000);
  assert.equal(warnings.length, 4);
  life.abort();
  await done;
});

for (const [method, event] of [
  ["PATCH", "update"],
  ["POST", "create"],
] as const) {
  test(`without the right to ${event} the pod, that is said once, and tried again once a minute`, async () => {
    const { clock, client, trigger, life, sentAtMs, running, spins, warnings } = bench({ updateFrequencyMs: 1000 });
    let isAllowed = false;
    client.onRequest = (request) => {
      if (!isAllowed && request.method === method) throw new KubeError("forbidden", "no");
      if (!isAllowed) throw new KubeError("notFound", "no");
      sentAtMs.push(clock.monotonicMs());
      return {};
    };
    const done = running();
    for (let second = 0; second < 150; second++) {
      await clock.advance(1000);
      trigger.touch();
    }
    assert.equal(spins(event, "forbidden"), 3);
    assert.equal(warnings.length, 1);
    isAllowed = true;
    await clock.advance(32_000);
    assert.deepEqual(sentAtMs, [180_000, 181_000, 182_000], "granted: every second again");
    life.abort();
    await done;
  });
}

test("a 403 where there was the right before is tried again every second, for half a minute", async () => {
  const { clock, client, life, sentAtMs, running, spins } = bench({ updateFrequencyMs: 1000 });
  let isAllowed = true;
  client.onRequest = () => {
    if (!isAllowed) throw new KubeError("forbidden", "no");
    sentAtMs.push(clock.monotonicMs());
    return {};
  };
  const done = running();
  await clock.advance(500);
  isAllowed = false;
  await clock.advance(3000);
  isAllowed = true;
  await clock.advance(1000);
  assert.deepEqual(sentAtMs, [0, 4000]);
  isAllowed = false;
  await clock.advance(90_000);
  assert.equal(spins("update", "forbidden"), 3 + 31, "one more a minute later");
  life.abort();
  await done;
});

test("a touch that is asked for comes at once, but not within 200 ms of another", async () => {
  const { clock, trigger, life, sentAtMs, running } = bench();
  const done = running();
  await clock.advance(50);
  for (let wish = 0; wish < 10; wish++) trigger.touch();
  await clock.advance(4950);
  trigger.touch();
  await clock.advance(1000);
  assert.deepEqual(sentAtMs, [0, 200, 5000]);
  await clock.advance(9000);
  assert.deepEqual(sentAtMs, [0, 200, 5000, 15_000], "the period starts again");
  life.abort();
  await done;
});

test("a touch that is asked for while another is in flight follows it: that one may come too early", async () => {
  const { clock, client, trigger, life, sentAtMs, running } = bench();
  let release = (): void => {};
  client.onRequest = () => {
    sentAtMs.push(clock.monotonicMs());
    return new Promise((resolve) => (release = () => resolve({})));
  };
  const done = running();
  await clock.advance(100);
  trigger.touch();
  release();
  await clock.advance(1000);
  assert.deepEqual(sentAtMs, [0, 200]);
  release();
  await clock.advance(5000);
  assert.equal(sentAtMs.length, 2);
  life.abort();
  await done;
});

test("a touch never delays the next regular one", async () => {
  const { clock, trigger, life, sentAtMs, running } = bench({ updateFrequencyMs: 50 });
  const done = running();
  await clock.advance(10);
  trigger.touch();
  await clock.advance(41);
  assert.deepEqual(sentAtMs, [0, 50]);
  life.abort();
  await done;
});

test("a touch that is asked for after the end of a term does nothing", async () => {
  const { clock, trigger, life, sentAtMs, running } = bench();
  trigger.touch();
  assert.equal(clock.pendingTimers, 0);
  const done = running();
  await clock.advance(0);
  life.abort();
  await done;
  trigger.touch();
  await clock.advance(20_000);
  assert.deepEqual(sentAtMs, [0]);
  assert.equal(clock.pendingTimers, 0);
});

test("a touch that was carried out is told by when it was sent; a failed one, and a creation, are not", async () => {
  const { clock, client, life, touched, running } = bench();
  const answers = [
    () => new KubeError("timeout", "late"),
    () => new KubeError("notFound", "no"),
    async () => {
      await new Promise<void>((resolve) => void clock.setTimer(300, resolve));
      return {};
    },
  ];
  client.onRequest = async ({ method }) => {
    const answer = method === "POST" ? {} : await answers.shift()?.();
    if (answer instanceof Error) throw answer;
    return answer ?? {};
  };
  const done = running();
  await clock.advance(25_000);
  assert.deepEqual(touched, [20_000]);
  life.abort();
  await done;
});
