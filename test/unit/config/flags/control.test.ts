import assert from "node:assert/strict";
import { test } from "node:test";
import { flag } from "../../../../src/config/flag.ts";
import { electorFlags, objectName, queueFlags } from "../../../../src/config/flags/control.ts";
import { defaults } from "./defaults.ts";

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
