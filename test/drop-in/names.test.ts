/** Labels, annotations, finalizers and words of metrics of the Go original: each of them is here. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { readCatalog } from "../../scripts/metrics-page/catalog.ts";
import { annotations, finalizer, sourceLabels } from "../../src/api/v1alpha1/names.ts";
import { filesBelow } from "../manifests/manifest-files.ts";
import { errorLabel } from "../../src/kube/kube-client.ts";
import { errorOfResponse } from "../../src/kube/kube-errors.ts";
import { upstreamNames } from "./upstream-names.ts";

const sources = filesBelow(path.join(import.meta.dirname, "../../src"), ".ts").map((file) =>
  readFileSync(file, "utf8"),
);

/** Words of upstream that no source has as a text. */
const unwritten = (words: readonly string[]): string[] =>
  words.filter((word) => !sources.some((text) => text.includes(`"${word}"`)));

test("labels, annotations and finalizers are the original's, and no name of it is missing", () => {
  const missing = (here: readonly string[], upstream: readonly string[]): string[] => [
    ...new Set(upstream).difference(new Set(here)),
  ];
  assert.equal(upstreamNames.labels.length + upstreamNames.annotations.length, 8);
  assert.deepEqual(missing(Object.values(sourceLabels), upstreamNames.labels), []);
  assert.deepEqual(missing(Object.values(annotations), upstreamNames.annotations), []);
  assert.deepEqual(missing([finalizer], upstreamNames.finalizers), []);
  assert.deepEqual(missing([finalizer], ["example.com/other"]), ["example.com/other"], "a missing one is found");
});

test("the keys of audit annotations and the phases of components are written as the original writes them", () => {
  assert.deepEqual(unwritten([...upstreamNames.auditAnnotations, ...upstreamNames.phases]), []);
  assert.deepEqual(unwritten(["reject-by-nobody"]), ["reject-by-nobody"], "a missing one is found");
});

test("metrics have the labels with the words of the original", async () => {
  const catalog = new Map((await readCatalog()).map((entry) => [entry.name, entry]));
  for (const [name, labels] of Object.entries(upstreamNames.labelValues))
    for (const [label, words] of Object.entries(labels)) {
      assert.ok(catalog.get(name)?.labels.includes(label), `${name} has the label ${label}`);
      assert.deepEqual(unwritten(words), [], `${name}{${label}}`);
    }
});

test("an API error has the word in the label error that the page on compatibility gives for the original's", () => {
  const page = readFileSync(path.join(import.meta.dirname, "../../docs/compatibility.md"), "utf8");
  for (const [reason, { code, here }] of Object.entries(upstreamNames.apiErrors)) {
    const body = JSON.stringify({ kind: "Status", code, reason });
    assert.equal(errorLabel(errorOfResponse("GET /", code, body, "")), here, reason);
    const row = page.split("\n").find((line) => line.trimStart().startsWith("| ") && line.includes(`\`${reason}\``));
    assert.ok(row?.includes(`| \`${here}\` |`), `${reason} is in the table of docs/compatibility.md`);
  }
});
