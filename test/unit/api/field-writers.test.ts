import assert from "node:assert/strict";
import { test } from "node:test";
import { laterWriter, readFieldWriters } from "../../../src/api/field-writers.ts";
import { parseTime } from "../../../src/api/micro-time.ts";

const at = (second: number): string => `2026-01-01T00:00:0${second}Z`;

test("of each field the manager is found that owns it and wrote last, with its subresource", () => {
  const spec = (...fields: string[]) => ({ "f:spec": Object.fromEntries(fields.map((field) => [field, {}])) });
  const managedFields = [
    {
      manager: "helm",
      time: at(1),
      fieldsV1: { ...spec("f:replicas", "f:strategy"), "f:metadata": { "f:labels": {} } },
    },
    { manager: "keda", subresource: "scale", time: at(3), fieldsV1: spec("f:replicas") },
    { manager: "other", subresource: "", time: at(2), fieldsV1: spec("f:replicas") },
    { manager: "status", time: at(9), fieldsV1: { "f:status": { "f:replicas": {} } } },
  ];
  const writers = readFieldWriters(managedFields, "strategy");
  const helm = { manager: "helm", subresource: undefined, time: parseTime(at(1)) };
  assert.deepEqual(writers, {
    replicas: { manager: "keda", subresource: "scale", time: parseTime(at(3)) },
    strategy: helm,
    labels: helm,
    overrides: undefined,
  });
  assert.equal(readFieldWriters(managedFields, undefined).strategy, undefined, "a kind without such a field");
});

test("the writer of overrides is whoever owns an annotation that ends or lowers the protection", () => {
  const owns = (key: string) => ({ "f:metadata": { "f:annotations": { [`f:podseidon.kubewharf.io/${key}`]: {} } } });
  const by = (...keys: string[]) =>
    readFieldWriters(
      keys.map((key, index) => ({ manager: key, time: at(index), fieldsV1: owns(key) })),
      undefined,
    ).overrides?.manager;
  assert.equal(by("min-available", "min-ready-seconds"), "min-available");
  assert.equal(by("min-available", "max-unavailable"), "max-unavailable");
  assert.equal(by("protect"), "protect");
  assert.equal(by("health-criterion"), undefined);
});

test("what is not understood has no writer, and nothing makes it throw", () => {
  const none = { replicas: undefined, strategy: undefined, labels: undefined, overrides: undefined };
  for (const odd of [undefined, null, 5, [null], [{ manager: 5 }], [{ manager: "x", fieldsV1: { "f:spec": 5 } }]])
    assert.deepEqual(readFieldWriters(odd, "strategy"), none);
  const timeless = readFieldWriters([{ manager: "x", fieldsV1: { "f:spec": { "f:replicas": {} } } }], undefined);
  assert.deepEqual(timeless.replicas, { manager: "x", subresource: undefined, time: undefined });
});

test("of two writers the later one counts, and one that is alone counts", () => {
  const early = { manager: "a", subresource: undefined, time: parseTime(at(1)) };
  const late = { manager: "b", subresource: undefined, time: parseTime(at(2)) };
  assert.deepEqual(
    [laterWriter(early, late), laterWriter(late, early), laterWriter(undefined, early), laterWriter(late, undefined)],
    [late, late, early, late],
  );
});
