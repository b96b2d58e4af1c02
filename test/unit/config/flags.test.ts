import assert from "node:assert/strict";
import { test } from "node:test";
import { flag, inGroup, prefixed, unprefixed, withoutEffect, roles } from "../../../src/config/flag.ts";
import { bool } from "../../../src/config/types/scalar-types.ts";
import { environmentName } from "../../../src/config/reading/environment.ts";
import { flagNames, flags, isFlagName, isUsedBy } from "../../../src/config/flag-table.ts";
import { aggregatorFlags } from "../../../src/config/flags/aggregator.ts";
import { load, loadBad, loadGood } from "./load.ts";
import { electorFlags, objectName, queueFlags } from "../../../src/config/flags/control.ts";
import { ignoredFlags } from "../../../src/config/flags/ignored.ts";
import { kubeFlags } from "../../../src/config/flags/kube.ts";
import { serverFlags } from "../../../src/config/flags/server.ts";
import { webhookFlags } from "../../../src/config/flags/webhook.ts";
import { isCustomSourceID, partsOfSourceID, sourceIDs } from "../../../src/config/generator-rules.ts";

/** The defaults of a group of flags by name, to compare with upstream's table. */
function defaults(flags: Readonly<Record<string, { readonly default: unknown }>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(flags).map(([name, flag]) => [name, flag.default]));
}

test("a prefix is put before each name, and unprefixed removes it", () => {
  const spec = flag(bool(), true, "Help.");
  const specs = prefixed("a-", { b: spec, c: spec });
  assert.deepEqual(Object.keys(specs), ["a-b", "a-c"]);
  assert.deepEqual(unprefixed({ "a-b": 1, "x-c": 2, "a-": 3 }, "a-"), { b: 1, "": 3 });
});

test("a group is written into each of its flags", () => {
  const group = { title: "T", roles: ["webhook"] as const };
  const grouped = inGroup(group, { a: flag(bool(), true, "Help.", { mayHoldPassword: true }) });
  assert.equal(grouped.a.group, group);
  assert.equal(grouped.a.mayHoldPassword, true);
});

test("a reason marks each of the flags that have no effect", () => {
  const ignored = withoutEffect("Reason.", { a: flag(bool(), true, "Help.") });
  assert.equal(ignored.a.ignored, "Reason.");
  assert.equal(ignored.a.help, "Help.");
});

test("every default is a value that the flag itself accepts and reads back", () => {
  for (const name of flagNames) {
    if (name === "role") continue; // required: its default is no choice
    const { type, default: value } = flags[name];
    assert.deepEqual(type.parse(type.format(value)), { ok: true, value }, name);
  }
});

test("no two flags share an environment variable", () => {
  assert.equal(new Set(flagNames.map(environmentName)).size, flagNames.length);
});

test("every flag belongs to a role and has a help that is a sentence", () => {
  for (const name of flagNames) {
    assert(flags[name].group.roles.length > 0, name);
    assert.match(flags[name].help, /^[A-Z/].*\.$/, name);
  }
});

test("flags of one group stand together, so that headings are not repeated", () => {
  const titles = flagNames
    .map((name) => flags[name].group.title)
    .filter((title, index, all) => title !== all[index - 1]);
  assert.equal(new Set(titles).size, titles.length);
});

test("names of properties of Object are not flags", () => {
  assert(isFlagName("role"));
  for (const name of ["constructor", "__proto__", "toString"]) assert(!isFlagName(name));
});

test("a flag is used by the roles of its group", () => {
  assert(isUsedBy("webhook-port", new Set(["generator", "webhook"])));
  assert(!isUsedBy("webhook-port", new Set(["generator"])));
  for (const role of roles) assert(isUsedBy("healthz-port", new Set([role])));
});

test("the aggregator's defaults are upstream's, but it settles by observing and runs the update-trigger", () => {
  const found = defaults(aggregatorFlags);
  const expected = {
    "aggregator-cell-id": "default",
    "aggregator-podprotector-label-selector": {},
    "aggregator-pod-label-selector": {},
    "aggregator-rate-jitter-low": 0.5,
    "aggregator-rate-jitter-high": 1,
    "aggregator-informer-synctime-algorithm": "observed",
    "aggregator-informer-synctime-algorithm.annotation-key": "",
    "aggregator-settlement-fence-delay": 10_000,
    "aggregator-settle-window": 75_000,
    "aggregator-leader-elector-name": "",
    "update-trigger-enable": true,
    "update-trigger-update-frequency": 1_000,
    "update-trigger-dummy-pod-name": "podseidon-update-trigger",
    "update-trigger-dummy-pod-namespace": "",
    "update-trigger-dummy-pod-labels": {},
    "update-trigger-dummy-pod-annotations": {},
    "update-trigger-dummy-pod-image": ":",
    "update-trigger-dummy-pod-scheduler": "do-not-schedule",
  };
  for (const [name, value] of Object.entries(expected)) assert.deepEqual(found[name], value, name);
});

test("an image name without characters or with spaces is refused", () => {
  const { type } = aggregatorFlags["update-trigger-dummy-pod-image"];
  assert(!type.parse("").ok);
  assert(!type.parse("a b").ok);
});

test("the label of cells is a label key, with or without a prefix, or empty", () => {
  for (const key of ["", "cell", "example.com/cell"]) {
    const { webhook } = loadGood(["--role=webhook", "--webhook-allowed-cells=a", `--webhook-cell-label=${key}`]);
    assert.equal(webhook.cellLabel, key === "" ? undefined : key);
  }
  for (const key of ["a b", "/cell", "example.com/", "-cell", "x".repeat(64)]) {
    const loaded = load(["--role=webhook", "--webhook-allowed-cells=a", `--webhook-cell-label=${key}`]);
    assert.match(loaded.kind === "error" ? loaded.message : loaded.kind, /allowed: empty, or a label key such as/, key);
  }
});

test("a controller has upstream's flags and defaults", () => {
  assert.deepEqual(defaults(queueFlags), {
    "worker-concurrency": 1,
    "worker-backoff-base": 100,
    "worker-backoff-max": 60_000,
    "worker-backoff-conflict": 10,
  });
  assert.deepEqual(defaults(electorFlags(flag(objectName, "podseidon-test", "Name of the Lease."), "core")), {
    enable: true,
    namespace: "default",
    name: "podseidon-test",
    "lease-duration": 15_000,
    "renew-deadline": 10_000,
    "retry-period": 2_000,
  });
});

test("URLs of cores may hold a password, which is masked, and names of cores are DNS labels", () => {
  assert.equal(flags["podprotector-source-provider.map-masters"].mayHoldPassword, true);
  const { type } = flags["podprotector-source-provider.map-configs"];
  assert.ok(type.parse("a=,b-1=/path").ok);
  for (const name of ["A", "a/b", "a.b", "-a", "a".repeat(64)]) assert.equal(type.parse(`${name}=`).ok, false, name);
});

const problemWith = (...argv: readonly string[]): string => loadBad(["--role=generator", ...argv]);

test("Deployments are the only sources by default, as upstream has it, and others are named", () => {
  assert.deepEqual(loadGood(["--role=generator"]).generator.sources, ["deployments.apps"]);
  const { generator } = loadGood([
    "--role=generator",
    "--generator-sources=statefulsets.apps,replicationcontrollers",
    "--generator-source-selector=guard=yes",
  ]);
  assert.deepEqual(generator.sources, ["statefulsets.apps", "replicationcontrollers"]);
  assert.deepEqual(generator.sourceSelector, {
    matchExpressions: [{ key: "guard", operator: "In", values: ["yes"] }],
  });
});

test("the generator works on eight objects at once by default, an aggregator on one, as upstream's do", () => {
  const { generator, aggregator } = loadGood(["--role=generator"]);
  assert.deepEqual([generator.queue.concurrency, aggregator.queue.concurrency], [8, 1]);
  assert.equal(loadGood(["--role=generator", "--generator-worker-concurrency=1"]).generator.queue.concurrency, 1);
});

test("an unknown kind of source is refused, with the flag, the value and what is allowed", () => {
  const problem = problemWith("--generator-sources=statefulset.apps");
  for (const part of [
    "--generator-sources",
    "statefulset.apps",
    "deployments.apps, statefulsets.apps, replicasets.apps",
  ])
    assert.ok(problem.includes(part), problem);
});

test("a custom resource is named by its plural and group, whose dot tells it from a mistake", () => {
  const named = "--generator-sources=deployments.apps,databases.example.com";
  assert.deepEqual(loadGood(["--role=generator", named]).generator.sources, [
    "deployments.apps",
    "databases.example.com",
  ]);
  for (const wrong of ["databases.apps", "Databases.example.com", "databases..com", `${"d".repeat(150)}.example.com`])
    assert.match(problemWith(`--generator-sources=${wrong}`), /custom resources such as databases\.example\.com/);
});

const accepts = (name: keyof typeof ignoredFlags, value: string): boolean => ignoredFlags[name].type.parse(value).ok;

test("a value that klog would refuse is refused", () => {
  for (const bad of ["x", "x=", "=1", "x=-1", "x=1=2", "x=y"]) assert(!accepts("klog-vmodule", bad), bad);
  for (const bad of ["", "NOTICE", "1.5"]) assert(!accepts("klog-stderrthreshold", bad), bad);
  for (const bad of ["main", "main.go", "main.go:", "main.go:0", "main.go:x", "main:1", "a.go:1:2"])
    assert(!accepts("klog-log-backtrace-at", bad), bad);
  for (const bad of ["-1", "1.5", ""]) assert(!accepts("klog-log-file-max-size", bad), bad);
});

test("the sampling rates of pprof are whole numbers, negative ones included", () => {
  for (const name of ["pprof-block-profile", "pprof-mutex-profile"] as const) {
    assert(accepts(name, "-1"));
    assert(!accepts(name, "0.5"));
  }
});

test("a cluster connection has upstream's flags, with rates that do not throttle admissions", () => {
  assert.deepEqual(defaults(kubeFlags), {
    config: "",
    master: "",
    "target-namespace": "",
    "impersonate-username": "",
    "impersonate-uid": "",
    "impersonate-groups": [],
    qps: 200,
    burst: 400,
    "user-agent": "podseidon",
  });
});

test("a target namespace may be absent but not misspelled", () => {
  assert(kubeFlags["target-namespace"].type.parse("").ok);
  assert(!kubeFlags["target-namespace"].type.parse("Not Valid").ok);
});

test("a server has upstream's flags and defaults", () => {
  assert.deepEqual(defaults(serverFlags("tests", { http: 1, https: 2 })), {
    enable: true,
    "bind-addr": "::1",
    port: 1,
    "https-enable": false,
    "https-bind-addr": "::1",
    "https-port": 2,
    "https-cert-file": "",
    "https-key-file": "",
    "read-header-timeout": 10_000,
  });
});

const criterionKey = "podseidon.kubewharf.io/health-criterion";

test("the webhook has upstream's flags and defaults, and a criterion Initialized beside upstream's three", () => {
  const found = defaults(webhookFlags);
  const expected = {
    "webhook-enable": true,
    "webhook-port": 8080,
    "webhook-https-enable": false,
    "webhook-https-port": 8843,
    "webhook-path-prefix": "",
    "webhook-dry-run": false,
    "webhook-allowed-cells": [],
    "webhook-client-ca-file": "",
    "webhook-client-allowed-names": [],
    "webhook-client-cells": [],
    "webhook-deployment": "",
    "webhook-drain-delay": 3_000,
    "webhook-handler-cold-start-delay": 0,
    "webhook-handler-retry-backoff-base": 100,
    "webhook-handler-retry-jitter": 100,
    "webhook-requires-pod-name": "never",
    "webhook-requires-pod-name.by-cell-filter": [],
    "webhook-worker-client-provider": "none",
    "webhook-worker-client-provider.single-kube-qps": 200,
    "webhook-worker-client-provider.map-configs": {},
    "webhook-worker-client-provider.map-masters": {},
    "webhook-worker-client-provider.map-burst": 400,
  };
  for (const [name, value] of Object.entries(expected)) assert.deepEqual(found[name], value, name);
  for (const criterion of ["Scheduled", "Initialized", "Running", "Ready"]) {
    const prefix = `webhook-handler-health-criterion-${criterion.toLowerCase()}`;
    assert.equal(found[`${prefix}-key`], criterionKey);
    assert.equal(found[`${prefix}-value`], criterion);
  }
});

test("a custom resource is a plural and a group with a dot, and no built-in kind is taken for one", () => {
  assert.ok(isCustomSourceID("databases.example.com"));
  assert.deepEqual(partsOfSourceID("databases.db.example.com"), { plural: "databases", group: "db.example.com" });
  for (const wrong of [...sourceIDs, "a.b", "a..b.c", "-a.b.c", "a.b.c-", "A.b.c", "a.b.c/d", ""])
    assert.ok(!isCustomSourceID(wrong), wrong);
});
