import assert from "node:assert/strict";
import { test } from "node:test";
import { readStatus } from "../../../../src/kube/protobuf/status.ts";
import { readMessage } from "../../../../src/kube/protobuf/message-reader.ts";
import { field, message } from "./writer.ts";

test("a Status has its code, reason, message, causes and delay", () => {
  const bytes = message(
    field(1, field(2, "")),
    field(2, "Failure"),
    field(3, "Too large resource version: 9, current: 8"),
    field(4, "Timeout"),
    field(
      5,
      message(
        field(1, "name"),
        field(4, message(field(1, "ResourceVersionTooLarge"), field(2, "Too large"), field(3, "version"))),
        field(4, field(9, "unknown")),
        field(5, 1),
      ),
    ),
    field(6, 504),
  );
  assert.deepEqual(readMessage(bytes, "test", readStatus), {
    status: "Failure",
    message: "Too large resource version: 9, current: 8",
    reason: "Timeout",
    details: {
      causes: [{ reason: "ResourceVersionTooLarge", message: "Too large", field: "version" }, {}],
      retryAfterSeconds: 1,
    },
    code: 504,
  });
});

test("a delay of 0 seconds, which the server writes into every Status with details, is none", () => {
  const bytes = field(5, message(field(1, "pod"), field(5, 0)));
  assert.deepEqual(readMessage(bytes, "test", readStatus), { details: {} });
});
