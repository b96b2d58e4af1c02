import assert from "node:assert/strict";
import { test } from "node:test";
import { finalizer } from "../../../../../src/api/v1alpha1/names.ts";
import { generatorFindings, isAway } from "../../../../../src/commands/check/findings/generator.ts";
import { type LeaseFacts } from "../../../../../src/commands/check/facts.ts";
import { before, core, now, protector, read } from "../sound-facts.ts";

const lease = (seconds: number, fields: Partial<LeaseFacts> = {}): LeaseFacts => ({
  holder: "generator-a",
  renewedAt: before(seconds),
  writtenAt: before(seconds),
  ...fields,
});
const found = (generator: LeaseFacts | undefined, metadata = {}): readonly string[] =>
  generatorFindings(
    { ...core(), generator: read(generator), protectors: read({ valid: [protector("a", { metadata })], invalid: [] }) },
    now,
    "podseidon-system",
  ).map(({ level, text }) => `${level} ${text}`);

test("a generator that renews its Lease leads", () => {
  assert.deepEqual(found(lease(3)), ["ok generator leads: generator-a, renewed 3.0 s ago"]);
});

test("a generator that is away is a failure, whether it released its Lease, lost it, or never had one", () => {
  const text = "floors no longer follow the workloads";
  assert.deepEqual(found(lease(3_600)), [
    `fail no generator leads (the last one renewed its Lease 1 h 00 m ago): ${text}`,
  ]);
  assert.match(found(lease(3, { holder: "" }))[0] ?? "", /^fail no generator leads/);
  assert.deepEqual(found(undefined), [`fail no generator leads: ${text}`]);
});

test("finalizers that it has left are told, since deletions of workloads hang", () => {
  assert.match(
    found(undefined, { finalizers: [finalizer] })[0] ?? "",
    /its finalizer is on 1 PodProtector and its workload: deleting such a workload hangs/,
  );
});

test("while the CRD is lost nobody is told to start the generator, which would make objects without status", () => {
  const terminating = { metadata: { deletionTimestamp: "2026-01-01T00:00:00Z" } };
  for (const definition of [read(terminating), read(undefined)]) {
    const [finding] = generatorFindings({ ...core(), generator: read(undefined), definition }, now, "podseidon-system");
    assert.equal(finding?.level, "fail");
    assert.match(finding?.cure ?? "", /^leave it stopped until the CRD is back/);
    assert.equal(finding?.command, undefined);
  }
});

test("a generator whose own clock is behind is not away: the API server says when it wrote", () => {
  assert.equal(isAway({ holder: "g", renewedAt: before(900), writtenAt: before(2) }, now), false);
  assert.equal(isAway({ holder: "g", renewedAt: before(900), writtenAt: undefined }, now), true);
});
