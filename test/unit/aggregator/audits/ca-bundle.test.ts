import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { applyPatch, type Operation } from "rfc6902";
import { CaBundle } from "../../../../src/aggregator/audits/ca-bundle.ts";
import { issueServerCertificate } from "../../../../src/certificates/index.ts";
import { KubeError, type KubeClient, type KubeRequest } from "../../../../src/kube/kube-client.ts";
import { createVirtualClock } from "../../../support/virtual-clock.ts";
import { StoredObjects } from "../../certificates/stored-objects.ts";
import { createCountingMetrics } from "../../kube/counting-metrics.ts";
import { createRecordingLogger } from "../../observability/recording-logger.ts";

const authority = async (): Promise<string> =>
  (await issueServerCertificate({ dnsNames: ["a"], ipAddresses: [], days: 30, now: new Date("2026-01-01") }))
    .caCertificate;
const [first, second] = [await authority(), await authority()];
const base64 = (text: string): string => Buffer.from(text).toString("base64");
const problem = "aggregator_ca_bundle_problem";

interface ClientConfig {
  readonly url: string;
  readonly caBundle?: string;
}

/** The worker's object, with what an operator has put into it. */
function configuration() {
  return {
    metadata: { name: "podseidon", resourceVersion: "5", labels: { mine: "yes" } },
    webhooks: [
      { name: "one", clientConfig: { url: "https://webhook/a" } as ClientConfig, failurePolicy: "Fail" },
      { name: "two", clientConfig: { url: "https://webhook/a", caBundle: base64("old") }, failurePolicy: "Ignore" },
    ],
  };
}

function start(t: TestContext, coreCount = 1) {
  const clock = createVirtualClock();
  const cores = Array.from({ length: coreCount }, (_, index) => {
    const client = new StoredObjects(clock);
    return { name: `core-${index + 1}`, client };
  });
  const stored = configuration();
  const patches: KubeRequest[] = [];
  let fault: KubeError | undefined;
  const request = async (asked: KubeRequest): Promise<unknown> => {
    if (fault !== undefined) throw fault;
    if (asked.method === "PATCH") {
      patches.push(asked);
      const failures = applyPatch(stored, asked.body as Operation[]).filter((failure) => failure !== null);
      if (failures.length > 0) throw new KubeError("invalid", "422");
    }
    return structuredClone(stored);
  };
  const worker = { cluster: "worker", request } as unknown as KubeClient;
  const events: string[] = [];
  const event = (_type: string, reason: string, message: string) => void events.push(`${reason} ${message}`);
  const [logger, metrics] = [createRecordingLogger(), createCountingMetrics()];
  const parts = { worker, cores, namespace: "podseidon-system", configuration: "podseidon", event };
  const end = new AbortController();
  t.after(() => end.abort());
  void new CaBundle({ ...parts, clock, logger, metrics }).run(end.signal);
  const publish = (index: number, pem: string): void =>
    void cores[index]?.client.objects.set("podseidon-webhook-ca", { version: 2, data: { "ca.crt": pem } });
  const fail = (error?: KubeError): void => void (fault = error);
  return { clock, stored, patches, events, metrics, publish, fail };
}

test("the caBundle of every entry becomes what the core publishes, and nothing else changes", async (t) => {
  const { clock, stored, patches, publish, metrics } = start(t);
  publish(0, first);
  await clock.advance(10_000);
  const expected = configuration();
  for (const { clientConfig } of expected.webhooks) Object.assign(clientConfig, { caBundle: base64(first) });
  assert.deepEqual(stored, expected);
  publish(0, first + second);
  await clock.advance(30_000);
  assert.equal(stored.webhooks[1]?.clientConfig.caBundle, base64(first + second));
  assert.equal(patches.length, 2, "nothing is written while nothing has changed");
  assert.equal(metrics.value(problem), 0);
});

test("nothing published, and what is no certificate, never reach the caBundle; people are told", async (t) => {
  const { clock, patches, publish, metrics, events } = start(t);
  await clock.advance(10_000);
  assert.match(events[0] ?? "", /^CaBundleNotKept .*podseidon-webhook-ca of core core-1 has no authority yet/);
  publish(0, "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
  await clock.advance(10_000);
  assert.match(events.at(-1) ?? "", /is broken/);
  assert.equal(metrics.value(problem), 1);
  assert.equal(patches.length, 0);
});

test("with several cores all their authorities are trusted, and none is left out while its core is away", async (t) => {
  const { clock, stored, publish, patches } = start(t, 2);
  publish(0, first);
  await clock.advance(10_000);
  assert.equal(patches.length, 0, "the second core has published nothing yet");
  publish(1, second);
  await clock.advance(10_000);
  assert.equal(stored.webhooks[0]?.clientConfig.caBundle, base64(first + second));
});

test("a missing right is told by metric and Event, and the end of it by the metric", async (t) => {
  const { clock, publish, fail, metrics, events } = start(t);
  publish(0, first);
  fail(new KubeError("forbidden", "PATCH podseidon: 403"));
  await clock.advance(10_000);
  assert.equal(metrics.value(problem), 1);
  assert.match(events.at(-1) ?? "", /403/);
  fail();
  await clock.advance(10_000);
  assert.equal(metrics.value(problem), 0);
});
