import assert from "node:assert/strict";
import { test } from "node:test";
import { Announcements } from "../../../../src/generator/mass-changes/announcements.ts";
import { createCountingMetrics } from "../../kube/counting-metrics.ts";
import { createRecordingLogger } from "../../observability/recording-logger.ts";
import { deployment, noon } from "./samples.ts";

function bench() {
  const logger = createRecordingLogger();
  const metrics = createCountingMetrics();
  const told: { kind: string; namespace?: string | undefined; reason: string; message: string }[] = [];
  const events = {
    record: ({ kind, namespace }: { kind: string; namespace?: string | undefined }, _: string, ...rest: string[]) =>
      void told.push({ kind, namespace, reason: rest[0] ?? "", message: rest[1] ?? "" }),
  };
  const announcements = new Announcements({ events, namespace: "podseidon-system", logger, metrics });
  return { logger, metrics, told, announcements };
}

const change = { from: 6, to: 0, cause: { text: "manager/x", isHalfTooMany: true }, evidence: undefined };
const held = { source: deployment(8), change, heldBy: "manager/x", kept: undefined, terminatingNamespace: undefined };

test("a held change is an Event on its Deployment, with the command that approves it", () => {
  const { announcements, told, metrics, logger } = bench();
  announcements.held(held);
  assert.equal(told[0]?.kind, "Deployment");
  assert.match(told[0]?.message ?? "", /floor of 0 instead of 6.*kubectl -n podseidon-system annotate configmap/);
  assert.equal(metrics.value("generator_changes_held_total"), 1);
  assert.equal(logger.entries[0]?.level, "warn");
});

test("in a terminating namespace the Event is on the Namespace object, in the namespace default", () => {
  const { announcements, told } = bench();
  announcements.held({ ...held, change: { ...change, to: undefined }, terminatingNamespace: "uid" });
  assert.partialDeepStrictEqual(told, [{ kind: "Namespace", namespace: undefined, reason: "ChangeHeld" }]);
  assert.match(told[0]?.message ?? "", /release its floor of 6/);
});

test("people are told of the floors before and after, and what is latched", () => {
  const { ChangeHeld } = bench().announcements.condition({ ...held, heldBy: "core" });
  assert.ok(typeof ChangeHeld === "object");
  assert.match(ChangeHeld.message, /asks for a floor of 0 instead of 6, .*\(cause core\)/);
});

test("the condition has no time in it, and is false when nothing is held", () => {
  const { announcements } = bench();
  assert.deepEqual(announcements.condition(undefined), { ChangeHeld: false });
  assert.partialDeepStrictEqual(announcements.condition(held), { ChangeHeld: { reason: "MassChange" } });
});

test("changes of our own are counted each, and said once", () => {
  const { announcements, told, metrics } = bench();
  announcements.ownChange(held.source, true);
  announcements.ownChange(held.source, false);
  assert.deepEqual(
    told.map(({ reason }) => reason),
    ["FloorsLowered"],
  );
  assert.equal(metrics.value("generator_own_floor_changes_total"), 2);
});

test("approvals, ignored ones, latches and many namespaces are told of", () => {
  const { announcements, told, logger, metrics } = bench();
  announcements.approved({ cause: "core", until: noon, reason: "planned" }, 7);
  announcements.ignoredApproval("x".repeat(500), "it must be better");
  announcements.manyNamespaces("shop", "uid");
  announcements.latched("core");
  announcements.unlatched("core");
  assert.deepEqual(
    told.map(({ kind, reason }) => `${kind} ${reason}`),
    ["ConfigMap ChangesApproved", "ConfigMap AnnotationIgnored", "Namespace ManyNamespacesDeleted"],
  );
  assert.ok(told.every(({ message }) => message.length < 400));
  assert.equal(logger.entries.length, 5);
  assert.equal(metrics.value("generator_namespace_deletion_alarms_total"), 1);
});
