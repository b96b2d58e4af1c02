import assert from "node:assert/strict";
import { it } from "node:test";
import { kubeFlags } from "../../../../src/config/flags/kube.ts";
import { defaults } from "./defaults.ts";

it("a cluster connection has upstream's flags, with rates that do not throttle admissions", () => {
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

it("a target namespace may be absent but not misspelled", () => {
  assert(kubeFlags["target-namespace"].type.parse("").ok);
  assert(!kubeFlags["target-namespace"].type.parse("Not Valid").ok);
});
