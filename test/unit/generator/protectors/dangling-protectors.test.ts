import assert from "node:assert/strict";
import { test } from "node:test";
import { DanglingProtectors } from "../../../../src/generator/protectors/dangling-protectors.ts";
import { readProtector, type StoredProtector } from "../../../../src/kube/resources.ts";
import { deployments } from "../../../../src/sources/deployment.ts";
import { createRecordingLogger } from "../../observability/recording-logger.ts";

const source = { kind: deployments, namespace: "default", name: "web" };

function stored(metadata: object = {}): StoredProtector {
  const read = readProtector({
    metadata: { name: "deployment-web", namespace: "default", uid: "p-1", resourceVersion: "7", ...metadata },
    spec: { minAvailable: 1, minReadySeconds: 0, selector: {} },
  });
  assert(read.ok);
  return read.stored;
}

function bench() {
  const told: string[] = [];
  const logger = createRecordingLogger();
  const dangling = new DanglingProtectors({
    events: { record: (_regarding, type, reason) => void told.push(`${type} ${reason}`) },
    logger,
    onAction: (action, _, { name }) => void told.push(`${action} ${name}`),
  });
  return { dangling, told, lines: () => logger.entries.length };
}

test("a dangling protector is told once, and again when it dangles a second time", () => {
  const { dangling, told, lines } = bench();
  for (let time = 0; time < 3; time++) dangling.report(stored(), deployments);
  assert.deepEqual(told, ["Dangling deployment-web", "Warning Dangling"]);
  assert.deepEqual([lines(), dangling.has(stored().key)], [1, true]);
  dangling.forget(stored().key);
  dangling.report(stored({ deletionTimestamp: "2026-01-01T00:00:00Z" }), deployments);
  assert.deepEqual(told.slice(2), ["Finalizing deployment-web", "Warning Dangling"]);
});

test("the condition names the source that vanished, once that is known", () => {
  const { dangling } = bench();
  assert.deepEqual(dangling.found(stored(), source), {});
  dangling.report(stored(), deployments);
  const { Dangling } = dangling.found(stored(), source);
  assert(Dangling !== undefined && Dangling !== false);
  assert.match(Dangling.message, /^Deployment web vanished/);
});
