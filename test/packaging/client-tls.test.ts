import assert from "node:assert/strict";
import { test } from "node:test";
import { parseClientCommandLine } from "../../scripts/client-tls.ts";
import { ArgumentError } from "../../scripts/command-line.ts";

test("the command line of a client's certificate becomes a request", () => {
  assert.deepEqual(parseClientCommandLine(["--client=worker-1", "--out=o", "--days=7"]), {
    client: "worker-1",
    out: "o",
    days: 7,
  });
});

for (const [args, message] of [
  [["--out=o"], /--client is required/],
  [["--client=a"], /--out is required/],
  [["--client=a", "--out="], /--out is required/],
  [["--client=a", "--out=o", "--days=x"], /--days: "x" is not a whole number/],
  [["--client=a", "--out=o", "--wat"], /--wat/],
] as const) {
  test(`the command line "${args.join(" ")}" of a client's certificate is refused with its reason`, () => {
    assert.throws(
      () => parseClientCommandLine(args),
      (error) => error instanceof ArgumentError && message.test(error.message),
    );
  });
}
