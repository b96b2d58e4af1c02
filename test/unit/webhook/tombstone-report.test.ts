import assert from "node:assert/strict";
import { test } from "node:test";
import { objectKey } from "../../../src/api/object-key.ts";
import { type EventRecorder } from "../../../src/kube/event-recorder.ts";
import { KubeError } from "../../../src/kube/kube-client.ts";
import { type EpochMicros, type MonotonicMs } from "../../../src/util/clock.ts";
import { DeveloperEvents } from "../../../src/webhook/decide/reports/developer-events.ts";
import { ProtectorEvents } from "../../../src/webhook/decide/reports/protector-events.ts";
import { RefusedCallers } from "../../../src/webhook/decide/reports/refused-callers.ts";
import { KnownCells } from "../../../src/webhook/known-cells.ts";
import { createWebhookMetrics } from "../../../src/webhook/metrics.ts";
import { Protector } from "../../../src/webhook/protector/protector.ts";
import { TombstoneReport } from "../../../src/webhook/tombstone-report.ts";
import { createVirtualClock } from "../../support/virtual-clock.ts";
import { createTestCore } from "./support/core.ts";
import { RecordedLog, RecordedMetrics } from "./support/replica.ts";

function reported() {
  const log = new RecordedLog();
  const recorded = new RecordedMetrics();
  const events: string[] = [];
  const recorder: EventRecorder = {
    record: ({ kind, name, uid = "" }, _type, reason, message) =>
      void events.push([kind, name, uid, reason, message].join(" ")),
    close() {},
  };
  const report = new TombstoneReport({
    core: "core",
    logger: log,
    metrics: createWebhookMetrics(recorded, new KnownCells(["c1"])),
    events: new ProtectorEvents({
      recorders: new Map([["core", recorder]]),
      callers: new RefusedCallers(createVirtualClock()),
      developers: new DeveloperEvents(new Map()),
      metrics: { wouldRefuse() {} },
    }),
  });
  const protector = new Protector(createTestCore().core, objectKey("ns", "web"), () => {});
  const tombstone = {
    uid: "uid-1",
    maker: "generator",
    sinceMs: 0 as MonotonicMs,
    since: 0 as EpochMicros,
    stateNamespace: "podseidon-system",
  } as const;
  const lines = (): string[] => log.lines.map(({ message }) => message);
  return { report, protector, tombstone, events, recorded, lines };
}

test("a tombstone is told by a log line, and an Event on the name and UID of what is gone", () => {
  const { report, protector, tombstone, events, lines } = reported();
  report.onRaised(protector, tombstone);
  assert.equal(lines().length, 1);
  assert.match(events[0] ?? "", /^PodProtector web uid-1 PodProtectorLost It is gone from the core without/);
});

test("the end of a tombstone is told when its beginning was, or when nobody has asked for it", () => {
  const { report, protector, tombstone, events, lines } = reported();
  const whys = ["released", "let-go", "deleted-while-dangling", "deleted"] as const;
  for (const why of whys) report.onGone(protector, tombstone, why, false);
  assert.deepEqual(lines(), []);
  for (const why of whys) report.onGone(protector, tombstone, why, true);
  assert.equal(lines().length, whys.length);
  assert.equal(events.length, whys.length);
});

test("the end of a tombstone by time is always told", () => {
  const { report, protector, tombstone, events, lines } = reported();
  const whys = ["expired", "absent-for-long", "perhaps-released"] as const;
  for (const why of whys) report.onGone(protector, tombstone, why, false);
  assert.equal(lines().length, whys.length);
  assert.match(events[0] ?? "", /--webhook-tombstone-ttl is over/);
  assert.match(events[1] ?? "", /has not made it again for an hour/);
  assert.match(events[2] ?? "", /more were released than the list of releases holds/);
});

test("what cannot be read is counted, and a missing right is logged once for each resource", () => {
  const { report, recorded, lines } = reported();
  const forbidden = new KubeError("forbidden", "no");
  for (let index = 0; index < 3; index++) {
    report.onUnread("configmaps", forbidden);
    report.onUnread("customresourcedefinitions", forbidden);
  }
  assert.equal(lines().length, 2);
  report.onUnread("configmaps", new KubeError("serverError", "no"));
  assert.equal(lines().length, 3);
  assert.equal(recorded.count("webhook_tombstone_read_failure_total"), 7);
});

test("a lost CRD is told by a log line, a metric and an Event on it, and so is its return", () => {
  const { report, recorded, events, lines } = reported();
  report.onDefinitionLoss("Terminating");
  report.onDefinitionLoss("NotServed");
  report.onDefinitionLoss(undefined);
  assert.equal(lines().length, 3);
  assert.equal(events.length, 2);
  assert.match(
    events[1] ?? "",
    /^CustomResourceDefinition podprotectors.podseidon.kubewharf.io {2}PodProtectorCRDLost/,
  );
  assert.deepEqual(recorded.values.get('webhook_crd_lost{core="core"}'), [1, 1, 0]);
});
