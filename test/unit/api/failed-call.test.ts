import assert from "node:assert/strict";
import { test } from "node:test";
import { failedCallStatus } from "../../../src/api/failed-call.ts";

test("a failed call is a Status with the reason that Kubernetes has for its code", () => {
  assert.deepEqual(failedCallStatus(401, "who are you?"), {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Failure",
    message: "who are you?",
    reason: "Unauthorized",
    code: 401,
  });
});
