import assert from "node:assert/strict";
import { test } from "node:test";
import { serverFlags } from "../../../../src/config/flags/server.ts";
import { defaults } from "./defaults.ts";

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
