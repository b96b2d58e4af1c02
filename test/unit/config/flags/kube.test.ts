import assert from "node:assert/strict";
import { test } from "node:test";
import { kubeFlags } from "../../../../src/config/flags/kube.ts";
import { defaults } from "./defaults.ts";

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
