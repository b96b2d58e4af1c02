import assert from "node:assert/strict";
import { test } from "node:test";
import { configurationFindings } from "../../../../../src/commands/check/findings/configuration.ts";
import { type EntryFacts } from "../../../../../src/commands/check/facts.ts";
import { entry, read, unread } from "../sound-facts.ts";

const texts = (...entries: readonly EntryFacts[]): readonly string[] =>
  configurationFindings({ entries: read(entries) }).map(({ level, text }) => `${level} ${text}`);
const secondary = entry({ name: "scheduler.podseidon.kubewharf.io", failurePolicy: "Ignore", isMain: false });

test("the configuration of the manifests is in order, with its entry for preemption that ignores failures", () => {
  assert.deepEqual(texts(entry(), secondary), [
    "ok webhook configuration calls https://podseidon.example.com/worker-1",
  ]);
});

test("without a main entry every pod can be deleted", () => {
  assert.match(texts(secondary)[0] ?? "", /^fail there is no webhook configuration of Podseidon/);
  assert.match(texts()[0] ?? "", /^fail there is no webhook configuration of Podseidon/);
});

test("a main entry that ignores failures, or chooses by labels of pods, is a warning", () => {
  assert.match(texts(entry({ failurePolicy: "Ignore" }))[0] ?? "", /^warn podseidon: failurePolicy of .* is Ignore/);
  assert.match(texts(entry({ hasObjectSelector: true }))[0] ?? "", /^warn .*objectSelector/);
});

test("a configuration that does not ask about evictions is a failure, whatever others ask", () => {
  const half = entry({ configuration: "half", rules: ["DELETE pods"] });
  assert.deepEqual(texts(entry(), half), ["fail webhook configuration half does not ask about CREATE pods/eviction"]);
});

test("entries of one configuration that call different addresses are a failure, those of two are not", () => {
  const other = entry({ url: "https://other.example.com/worker-1" });
  assert.match(
    texts(entry(), other)[0] ?? "",
    /^fail entries of webhook configuration podseidon call different addresses/,
  );
  assert.match(texts(entry(), { ...other, configuration: "team-b" })[0] ?? "", /^ok /);
});

test("configurations that cannot be read are not checked", () => {
  assert.equal(configurationFindings({ entries: unread })[0]?.level, "unchecked");
});
