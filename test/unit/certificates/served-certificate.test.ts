import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { ServedCertificate } from "../../../src/certificates/served-certificate.ts";
import { KubeError } from "../../../src/kube/kube-client.ts";
import { createVirtualClock } from "../../support/virtual-clock.ts";
import { createRecordingLogger } from "../observability/recording-logger.ts";
import { StoredObjects } from "./stored-objects.ts";

const secret = "podseidon-webhook-tls";

function start(t: TestContext) {
  const clock = createVirtualClock();
  const client = new StoredObjects(clock);
  const logger = createRecordingLogger();
  const served = new ServedCertificate({ client, namespace: "podseidon-system", clock, logger });
  const end = new AbortController();
  t.after(() => end.abort());
  const running = served.run(end.signal);
  const write = (cert: string): void => {
    const data = { "tls.crt": Buffer.from(cert).toString("base64"), "tls.key": Buffer.from("key").toString("base64") };
    client.objects.set(secret, { version: 2, data });
  };
  return { clock, client, logger, served, write, running, end };
}

test("a certificate is there ten seconds after it is issued, and so is each later one", async (t) => {
  const { clock, served, write, logger } = start(t);
  await clock.advance(25_000);
  assert.equal(served.latest(), undefined);
  assert.deepEqual(logger.messages(), ["No certificate is issued yet"], "told once");
  for (const cert of ["one", "two"]) {
    write(cert);
    await clock.advance(10_000);
    assert.deepEqual(served.latest(), { cert, key: "key" });
  }
});

test("while the core cannot be reached, or the Secret is emptied, the last certificate stays", async (t) => {
  const { clock, client, served, write, logger } = start(t);
  write("one");
  await clock.advance(10_000);
  client.fault = () => new KubeError("network", "gone");
  await clock.advance(60_000);
  client.fault = () => undefined;
  client.objects.set(secret, { version: 3, data: {} });
  await clock.advance(60_000);
  assert.deepEqual(served.latest(), { cert: "one", key: "key" });
  assert.ok(logger.messages().includes("Cannot read the certificate, keeping the old one"));
});

test("reading ends with its signal, and leaves no timer", async (t) => {
  const { clock, running, end } = start(t);
  await clock.advance(1);
  end.abort();
  await running;
  assert.equal(clock.pendingTimers, 0);
});
