import assert from "node:assert/strict";
import { test, describe } from "node:test";
import { epochMicrosOf, formatMicroTime, parseTime, readMicroTime } from "../../../src/api/micro-time.ts";
import { type EpochMicros } from "../../../src/util/clock.ts";
import { annotationTimeReader, readManagedFieldsTime, readStatusTime } from "../../../src/api/pod.ts";

test("microseconds survive reading and writing", () => {
  for (const text of [
    "2026-01-01T00:00:00.000001Z",
    "2026-12-31T23:59:59.999999Z",
    "1970-01-01T00:00:00.000000Z",
    "1969-12-31T23:59:59.999999Z",
  ]) {
    const time = parseTime(text);
    assert.ok(time !== undefined);
    assert.equal(formatMicroTime(time), text);
  }
});

test("Kubernetes' Time, Go's nanoseconds and other zones are read", () => {
  assert.equal(parseTime("1970-01-01T00:00:01Z"), 1_000_000);
  assert.equal(parseTime("1970-01-01T00:00:01.5Z"), 1_500_000);
  assert.equal(parseTime("1970-01-01T00:00:00.123456789Z"), 123_456);
  assert.equal(parseTime("1970-01-01T02:00:00+02:00"), 0);
  assert.equal(parseTime("1969-12-31T23:30:00.000001-00:30"), 1);
});

test("a Date, which is how protobuf gives times, is read within the same years", () => {
  const texts = ["0000-01-01T00:00:00Z", "1969-12-31T23:59:59Z", "2026-01-01T00:00:00.123Z", "9999-12-31T23:59:59Z"];
  for (const text of texts) assert.equal(parseTime(new Date(text)), parseTime(text));
  for (const ms of [Number.NaN, 9e15, Date.parse("9999-12-31T23:59:59Z") + 1, Date.parse("0000-01-01T00:00:00Z") - 1]) {
    assert.equal(parseTime(new Date(ms)), undefined);
  }
});

test("anything else is no time", () => {
  const others = [
    "",
    "now",
    "9999-12-31T23:59:59-00:01",
    "0000-01-01T00:00:00+00:01",
    "2026-01-01",
    "2026-01-01T00:00:00",
    "2026-13-01T00:00:00Z",
    "2026-01-01T00:00:00.Z",
    "2026-01-01T00:00:00.1234567890Z",
    " 2026-01-01T00:00:00Z",
    null,
    undefined,
    5,
    {},
  ];
  for (const other of others) assert.equal(parseTime(other), undefined, JSON.stringify(other));
});

test("a text that is in Kubernetes' own form is kept, and every other time gets it", () => {
  for (const [text, form = text] of [
    ["2026-01-28T23:59:59.999999Z"],
    ["2026-01-31T00:00:00.000000Z"],
    ["2026-04-30T00:00:00.000000Z"],
    ["2024-02-29T00:00:00.000000Z"],
    ["0000-01-01T00:00:00.000000Z"],
    ["9999-12-31T23:59:59.999999Z"],
    ["2026-01-01T00:00:00Z", "2026-01-01T00:00:00.000000Z"],
    ["2026-01-01T00:00:00.1234567Z", "2026-01-01T00:00:00.123456Z"],
    ["2026-01-01T00:00:00.000001-00:30", "2026-01-01T00:30:00.000001Z"],
    // As Date reads them.
    ["2026-01-01T24:00:00.000000Z", "2026-01-02T00:00:00.000000Z"],
  ] as const) {
    assert.equal(readMicroTime(text), form);
    assert.equal(epochMicrosOf(readMicroTime(text)!), parseTime(text), text);
  }
});

test("of any text that looks like a time, what is kept is what would be written for it", () => {
  const day = (month: number, date: number): string => `2026-${two(month)}-${two(date)}`;
  const two = (number: number): string => String(number).padStart(2, "0");
  for (let month = 0; month <= 13; month++) {
    for (let date = 0; date <= 32; date++) {
      const text = `${day(month, date)}T12:00:00.000001Z`;
      const time = parseTime(text);
      assert.equal(readMicroTime(text), time === undefined ? undefined : formatMicroTime(time), text);
    }
  }
  for (const clock of ["23:59:59", "24:00:00", "24:00:01", "25:00:00", "12:60:00", "12:00:60"]) {
    const text = `2026-01-01T${clock}.000000Z`;
    const time = parseTime(text);
    assert.equal(readMicroTime(text), time === undefined ? undefined : formatMicroTime(time), text);
  }
  for (const other of ["", "?", "2026-01-01T00:00:00.000000z", "2026-01-01T00:00:00.000000Z\n"]) {
    assert.equal(readMicroTime(other), undefined, other);
  }
});

test("what is written sorts like the times", () => {
  const times = [0, 1, 999_999, 1_000_000, 1_767_225_600_000_000] as EpochMicros[];
  const texts = times.map((time) => formatMicroTime(time));
  assert.deepEqual(texts.toSorted(), texts);
});

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
