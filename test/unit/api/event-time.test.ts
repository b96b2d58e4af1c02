import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { annotationTimeReader, readManagedFieldsTime, readStatusTime } from "../../../src/api/event-time.ts";
import { parseTime } from "../../../src/api/micro-time.ts";

const second = (number: number): string => `2026-01-01T00:00:${String(number).padStart(2, "0")}Z`;
const created = { creationTimestamp: second(1) };

for (const [name, read] of [
  ["status", readStatusTime],
  ["managed-fields", readManagedFieldsTime],
] as const) {
  describe(`the time of ${name}`, () => {
    test(`${name} takes the creation or the touch of the update-trigger, whichever is newer`, () => {
      assert.equal(read(created, undefined), parseTime(second(1)));
      const annotations = { "podseidon.kubewharf.io/update-trigger-time": "2026-01-01T00:00:10.5Z" };
      assert.equal(read({ ...created, annotations }, {}), parseTime("2026-01-01T00:00:10.5Z"));
      assert.equal(read({ creationTimestamp: second(11), annotations }, {}), parseTime(second(11)));
    });

    test(`${name} takes the time of the request of a deletion, not the end of its grace period`, () => {
      const deleted = { ...created, deletionTimestamp: "2026-01-01T00:01:00Z", deletionGracePeriodSeconds: 30 };
      assert.equal(read(deleted, undefined), parseTime(second(30)));
      const atOnce = { ...deleted, deletionGracePeriodSeconds: 0 };
      assert.equal(read(atOnce, undefined), parseTime("2026-01-01T00:01:00Z"));
    });

    test(`${name} knows no time from a deletion without a grace period, or from nothing, and never throws`, () => {
      assert.equal(read({ deletionTimestamp: second(1) }, undefined), undefined);
      assert.equal(read({}, undefined), undefined);
      const odd = { creationTimestamp: 5, annotations: [], managedFields: {}, deletionGracePeriodSeconds: "30" };
      assert.equal(read(odd, { conditions: "none" }), undefined);
      assert.equal(read({ managedFields: [null, "x", {}] }, { conditions: [null, 4, {}] }), undefined);
    });

    test(`${name} reads the same from texts and from the Dates of protobuf`, () => {
      const as = (time: (text: string) => unknown): number | undefined =>
        read(
          { creationTimestamp: time(second(1)), managedFields: [{ time: time(second(9)) }] },
          { conditions: [{ lastTransitionTime: time(second(9)) }] },
        );
      assert.equal(
        as((text) => text),
        parseTime(second(9)),
      );
      assert.equal(
        as((text) => new Date(text)),
        parseTime(second(9)),
      );
    });
  });
}

test("managed-fields takes the newest entry and no condition", () => {
  const managedFields = [{ time: second(9) }, { time: second(3) }, {}];
  const status = { conditions: [{ lastTransitionTime: second(20) }] };
  assert.equal(readManagedFieldsTime({ ...created, managedFields }, status), parseTime(second(9)));
});

test("status takes the newest transition or probe of any condition and no managedFields", () => {
  const metadata = { ...created, managedFields: [{ time: second(30) }] };
  const conditions = [{ lastTransitionTime: second(9), lastProbeTime: null }, { lastTransitionTime: second(4) }];
  assert.equal(readStatusTime(metadata, { conditions }), parseTime(second(9)));
  const probed = [...conditions, { lastProbeTime: second(12) }];
  assert.equal(readStatusTime(metadata, { conditions: probed }), parseTime(second(12)));
});

test("annotation takes only the annotation, RFC 3339 with an optional fraction and a zone", () => {
  const read = (value: unknown): number | undefined =>
    annotationTimeReader("example.com/written")(
      { ...created, annotations: { "example.com/written": value }, managedFields: [{ time: second(30) }] },
      { conditions: [{ lastTransitionTime: second(40) }] },
    );
  assert.equal(read(second(2)), parseTime(second(2)));
  assert.equal(read("2026-01-01T02:00:02.123456789+02:00"), parseTime("2026-01-01T00:00:02.123456Z"));
  for (const bad of ["", "now", "1767225602", "2026-01-01 00:00:02", 5, null]) assert.equal(read(bad), undefined);
  assert.equal(annotationTimeReader("constructor")({ annotations: {} }, undefined), undefined);
  assert.equal(annotationTimeReader("a")(created, undefined), undefined);
});
