import assert from "node:assert/strict";
import { test } from "node:test";
import { BeatingCells, leaseEvents } from "../beating-cells.ts";
import { createCore } from "../core-cluster.ts";

test("annotations that cannot be read are told once, by an Event on the Lease that says what is allowed", async () => {
  const core = await createCore();
  const cells = new BeatingCells(core);
  await cells.start("a", "b");
  const generator = core.startGenerator();
  await generator.ready();
  const messages = (): string[] =>
    core
      .events()
      .map((event) => String(event["message"]))
      .toSorted();
  await cells.annotate("a", "keepUntil", "2099-01-01T00:00:00Z");
  await cells.annotate("a", "adopt", "0b1c2d3e-0000-4000-8000-0123456789ab");
  await cells.advance(60_000);
  assert.deepEqual(leaseEvents(core), []);

  await cells.annotate("a", "adopt", "x".repeat(1_000));
  await cells.annotate("a", "keepUntil", "2h");
  await cells.annotate("b", "forget", "yes");
  await cells.advance(120_000);
  assert.deepEqual(messages(), [
    'Ignoring the annotation podseidon.kubewharf.io/forget="yes": it must be true or now',
    'Ignoring the annotation podseidon.kubewharf.io/keep-until="2h": it must be an RFC 3339 time, such as ' +
      '2026-01-31T14:00:00Z. Ignoring the annotation podseidon.kubewharf.io/adopt="' +
      `${"x".repeat(64)}…": it must be the UID of the namespace kube-system of the cluster that takes over`,
  ]);
  assert.deepEqual(leaseEvents(core), ["AnnotationIgnored", "AnnotationIgnored"]);

  await cells.annotate("b", "forget", "True");
  await cells.advance(600_000);
  assert.match(messages()[0] ?? "", /forget="True"/, "another value is told again");
});
