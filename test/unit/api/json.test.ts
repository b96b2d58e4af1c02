import assert from "node:assert/strict";
import { test } from "node:test";
import { asList, asObject } from "../../../src/api/json.ts";
import { laterWriter, readFieldWriters } from "../../../src/api/field-writers.ts";
import { parseTime } from "../../../src/api/micro-time.ts";
import { type Kept, keptFields } from "../../../src/api/kept-fields.ts";

test("only objects are objects, and only lists are lists", () => {
  const object = { a: 1 };
  const list = [1];
  assert.equal(asObject(object), object);
  assert.equal(asList(list), list);
  for (const other of [undefined, null, "x", 1, true]) {
    assert.equal(asObject(other), undefined);
    assert.deepEqual(asList(other), []);
  }
  assert.equal(asObject(list), undefined);
  assert.deepEqual(asList(object), []);
});

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

/** The ways to read a review are in test/unit/webhook/http/review-fields.test.ts. */
const wanted: Kept = { a: true, b: { c: true } };

test("only the members that are wanted are kept, at every level", () => {
  const body = { a: [1, { z: 2 }], b: { c: "x", d: [3] }, e: { a: 4 } };
  const fields = keptFields(Buffer.from(JSON.stringify(body, undefined, 1)), wanted);
  assert.ok(fields.ok);
  assert.deepEqual(JSON.parse(fields.text), { a: [1, { z: 2 }], b: { c: "x" } });
  assert.ok(fields.values < 10);
});

test("a name is wanted only when all of it stands there", () => {
  const body = { ab: 1, A: 2, "": 3, aa: { c: 4 }, b: { d: 5, c: 6, cc: 7, constructor: 8, __proto__x: 9 }, ä: 10 };
  const fields = keptFields(Buffer.from(JSON.stringify(body)), wanted);
  assert.ok(fields.ok);
  assert.deepEqual(JSON.parse(fields.text), { b: { c: 6 } });
  const inherited = keptFields(Buffer.from('{"toString":1,"constructor":2,"__proto__":{"c":3}}'), wanted);
  assert.deepEqual(inherited, { ok: true, text: "{}", values: 0 });
});

test("what is kept is the same however long it is and whatever space is around it", () => {
  for (const length of [0, 1, 60, 64, 65, 5_000]) {
    for (const space of ["", " ", "\n\t "]) {
      const text = "x".repeat(length);
      const tokens = ["{", '"e"', ":", "0", ",", '"a"', ":", `"${text}"`, ",", '"b"', ":", "[1]", "}"];
      const fields = keptFields(Buffer.from(tokens.join(space)), wanted);
      assert.ok(fields.ok);
      assert.deepEqual(JSON.parse(fields.text), { a: text, b: [] });
    }
  }
});

test("what is no JSON, too deep or too much has no fields", () => {
  const codeOf = (text: string): number | undefined => {
    const fields = keptFields(Buffer.from(text), wanted);
    return fields.ok ? undefined : fields.code;
  };
  assert.equal(codeOf('{"a":'), 400);
  assert.equal(codeOf(`{"e":${"[".repeat(1_000)}`), 413);
  assert.equal(codeOf(`{"a":[${"1,".repeat(30_000)}1]}`), 413);
  assert.equal(codeOf(`{"e":[${"1,".repeat(30_000)}1]}`), undefined);
});
