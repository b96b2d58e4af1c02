import assert from "node:assert/strict";
import { test } from "node:test";
import { epochMicrosOf, formatMicroTime, parseTime, readMicroTime } from "../../../src/api/micro-time.ts";
import { type EpochMicros } from "../../../src/util/clock.ts";

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
