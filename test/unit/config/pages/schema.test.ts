import assert from "node:assert/strict";
import { test } from "node:test";
import { Ajv2020 } from "ajv/dist/2020.js";
import { CORE_SCHEMA, load as loadYaml } from "js-yaml";
import { printConfig, configSchema } from "../../../../src/config/pages/effective.ts";
import { roles } from "../../../../src/config/flag.ts";
import { flagNames, flags } from "../../../../src/config/flag-table.ts";
import { load } from "../load.ts";

const schema = configSchema();
const validate = new Ajv2020({ strict: true, strictTypes: false, allowUnionTypes: true }).compile(schema);
/** As an editor reads the file: with YAML's own types. */
const isValid = (text: string): boolean => validate(loadYaml(text, { schema: CORE_SCHEMA }));
const isLoaded = (text: string): boolean =>
  load(["--role=webhook", "--config=f"], { files: { f: text } }).kind === "config";

const good = [
  "klog-v: 4",
  'klog-v: "4"',
  "webhook-dry-run: true",
  "webhook-dry-run: 'T'",
  "core-kube-config: 007",
  "core-kube-config:",
  "core-kube-qps: 1.5",
  "healthz-read-header-timeout: 1m30s",
  "healthz-read-header-timeout: 0",
  "webhook-requires-pod-name: always",
  "webhook-client-allowed-names: []",
  "webhook-allowed-cells: [a, 1]",
  "webhook-allowed-cells: a,b",
  "update-trigger-dummy-pod-labels: {a: 1, b: true}",
  "update-trigger-dummy-pod-labels: a=b",
  "aggregator-pod-label-selector: app in (a,b)",
  "core-kube-impersonate-username: a\ncore-kube-impersonate-groups: a,b",
];

const bad = [
  "nope: 1",
  "config: other.yaml",
  "klog-v: many",
  "klog-v: -1",
  "klog-v: [1]",
  "webhook-port: 65536",
  "webhook-dry-run: maybe",
  "webhook-dry-run: {}",
  "core-kube-qps: 0",
  "core-kube-config: [a]",
  "healthz-read-header-timeout: 10",
  "healthz-read-header-timeout: soon",
  "webhook-requires-pod-name: sometimes",
  "role: [webhok]",
  "webhook-allowed-cells: {a: b}",
  "webhook-allowed-cells: [[a]]",
  "update-trigger-dummy-pod-labels: {a: {b: c}}",
  "- klog-v",
  "klog-v",
];

for (const text of good)
  test(`a good file is valid by the schema, and loads: ${JSON.stringify(text)}`, () => {
    assert.equal(isLoaded(text), true, "loads");
    assert.equal(isValid(text), true, JSON.stringify(validate.errors));
  });

for (const text of bad)
  test(`a bad file is invalid by the schema, and does not load: ${JSON.stringify(text)}`, () => {
    assert.equal(isLoaded(text), false, "loads");
    assert.equal(isValid(text), false);
  });

test("what --print-config writes is valid by the schema, for each role", () => {
  const effective = new Map(flagNames.map((name) => [name, { value: flags[name].default, origin: "file f" }]));
  for (const role of roles) {
    const text = printConfig(effective, new Set([role]));
    // A role is required, so its default is no value of it.
    assert.equal(isValid(text.replace("role: []", `role: ${role}`)), true, JSON.stringify(validate.errors));
  }
});

test("every key but config is described, with what is allowed", () => {
  const properties = schema["properties"] as Record<string, { readonly description: string }>;
  assert.deepEqual(
    Object.keys(properties),
    flagNames.filter((name) => name !== "config"),
  );
  for (const [name, { description }] of Object.entries(properties)) assert.match(description, /\w.* Allowed: /, name);
});

test("--print-config-schema prints it without a role", () => {
  const loaded = load(["--print-config-schema"]);
  assert(loaded.kind === "printConfig");
  assert.deepEqual(JSON.parse(loaded.text), schema);
});
