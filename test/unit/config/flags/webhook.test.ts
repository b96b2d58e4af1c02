import assert from "node:assert/strict";
import { test } from "node:test";
import { webhookFlags } from "../../../../src/config/flags/webhook.ts";
import { defaults } from "./defaults.ts";

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
