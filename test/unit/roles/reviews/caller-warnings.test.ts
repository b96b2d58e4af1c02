import assert from "node:assert/strict";
import { test } from "node:test";
import { warnOfUnknownCallers } from "../../../../src/roles/reviews/caller-warnings.ts";
import { loadGood } from "../../config/load.ts";
import { RecordedLog, RecordedMetrics } from "../../webhook/support/replica.ts";

const https = [
  "--role=webhook",
  "--webhook-enable=false",
  "--webhook-https-enable",
  "--webhook-https-cert-file=c",
  "--webhook-https-key-file=k",
];

for (const [what, argv, open, shut] of [
  ["HTTPS on every address", [...https, "--webhook-https-bind-addr=::"], ["https"], []],
  ["HTTPS on a host name", [...https, "--webhook-https-bind-addr=host.example.com"], ["https"], []],
  ["HTTP that was asked for", ["--role=webhook", "--webhook-enable", "--webhook-bind-addr=0.0.0.0"], ["http"], []],
  ["HTTPS on loopback", https, [], ["https"]],
  ["HTTP on loopback", ["--role=webhook", "--webhook-bind-addr=127.0.0.2"], [], ["http"]],
  [
    "HTTPS on every address that asks for certificates",
    [...https, "--webhook-https-bind-addr=::", "--webhook-client-ca-file=ca"],
    [],
    ["https"],
  ],
] as const) {
  test(`a webhook says at its start and in a metric whether strangers are answered: ${what}`, () => {
    const [log, metrics] = [new RecordedLog(), new RecordedMetrics()];
    warnOfUnknownCallers(loadGood([...argv]).webhook, log, metrics);
    assert.deepEqual(
      log.lines.map(({ level, fields }) => [level, fields["listener"]]),
      open.map((listener) => ["warn", listener]),
    );
    for (const [listeners, value] of [
      [open, 1],
      [shut, 0],
    ] as const)
      for (const listener of listeners)
        assert.deepEqual(metrics.values.get(`webhook_open_listener{listener="${listener}"}`), [value]);
  });
}
