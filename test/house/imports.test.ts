import assert from "node:assert/strict";
import { test } from "node:test";
import { checkImports } from "../../scripts/check/imports.ts";
import { problemsOf, type Planted } from "./planted-tree.ts";

const violations: readonly (readonly [what: string, planted: Planted, says: string])[] = [
  [
    "an import from a higher layer",
    { "src/accounting/quota.ts": `import { list } from "../kube/list.ts";`, "src/kube/list.ts": "" },
    "src/accounting/quota.ts:1: accounting imports kube, which is above it",
  ],
  [
    "an upward import of a type",
    { "src/api/a.ts": `\nimport type { Quota } from "../accounting/quota.ts";`, "src/accounting/quota.ts": "" },
    "src/api/a.ts:2: api imports accounting, which is above it",
  ],
  [
    "an upward import when it is reached",
    { "src/kube/a.ts": `export const a = await import("../webhook/app.ts");`, "src/webhook/app.ts": "" },
    "src/kube/a.ts:1: kube imports webhook, which is above it",
  ],
  [
    "an upward re-export",
    { "src/util/a.ts": `export * from "../api/decode.ts";` },
    "src/util/a.ts:1: util imports api, which is above it",
  ],
  [
    "a type taken by import()",
    { "src/util/a.ts": `export type A = typeof import("../api/decode.ts");` },
    "src/util/a.ts:1: util imports api, which is above it",
  ],
  [
    "one role that imports another",
    { "src/webhook/app.ts": `import "../aggregator/count.ts";`, "src/aggregator/count.ts": "" },
    "src/webhook/app.ts:1: webhook imports aggregator, which stands beside it",
  ],
  [
    "an upward import inside a role",
    { "src/webhook/protector/a.ts": `import "../http/b.ts";`, "src/webhook/http/b.ts": "" },
    "src/webhook/protector/a.ts:1: webhook/protector imports webhook/http, which is above it",
  ],
  [
    "accounting and label-index that know each other",
    { "src/accounting/a.ts": `import "../label-index/trie.ts";`, "src/label-index/trie.ts": "" },
    "src/accounting/a.ts:1: accounting imports label-index, which stands beside it",
  ],
  [
    "an import past the door of a folder, from another one",
    { "src/roles/a.ts": `import "../kube/watch/store.ts";`, "src/kube/watch/store.ts": "" },
    "src/roles/a.ts:1: src/kube/watch/store.ts is inside of kube/watch, which is imported through its index.ts",
  ],
  [
    "an import past the door of a folder, from beside it",
    { "src/kube/watch/a.ts": `import "../transport/sender.ts";`, "src/kube/transport/sender.ts": "" },
    "src/kube/watch/a.ts:1: src/kube/transport/sender.ts is inside of kube/transport, which is imported through its " +
      "index.ts",
  ],
  [
    "a library away from home",
    { "src/aggregator/a.ts": `import { Hono } from "hono/tiny";` },
    "src/aggregator/a.ts:1: hono away from home (webhook/, server/, commands/dashboard/)",
  ],
  [
    "a library with a scope away from home",
    { "src/config/a.ts": `import { KubeConfig } from "@kubernetes/client-node/dist/config.js";` },
    "src/config/a.ts:1: @kubernetes/client-node away from home (kube/)",
  ],
  [
    "a library without a home",
    { "src/kube/a.ts": `import ajv from "ajv";` },
    "src/kube/a.ts:1: ajv has no home in scripts/check/imports.ts",
  ],
  [
    "a part of Node that sees the world, in a folder that only computes",
    { "src/accounting/a.ts": `import { readFileSync } from "node:fs";` },
    "src/accounting/a.ts:1: node:fs in accounting/, which only computes",
  ],
  [
    "tests used by the product",
    { "src/kube/a.ts": `import "../../test/double/server.ts";` },
    "src/kube/a.ts:1: test/double/server.ts is outside of src/: the product imports only itself",
  ],
  [
    "a folder that nobody put into the table",
    { "src/tools/a.ts": "" },
    "src/tools: in no layer of scripts/check/imports.ts",
  ],
  [
    "an import whose module is computed",
    { "src/roles/a.ts": `export const load = (name: string): unknown => import(name);` },
    "src/roles/a.ts:1: computed import(): name the module",
  ],
];

for (const [what, planted, says] of violations) {
  test(`the import direction refuses ${what}`, () => {
    assert.deepEqual(problemsOf(checkImports, planted), [says]);
  });
}

test("imports that point down, libraries at home and peers in one direction are fine", () => {
  const planted = {
    "src/webhook/app.ts": `import { Hono } from "hono";
import "../kube/a.ts";
import "../util/answer.ts";
import "./http/own.ts";
import "./metrics.ts";`,
    "src/webhook/metrics.ts": "",
    "src/webhook/http/own.ts": `import "../outage/own.ts";\nimport "../metrics.ts";`,
    "src/webhook/outage/own.ts": "",
    "src/webhook/http/tls.ts": `import https from "node:https";`,
    "src/kube/a.ts": `import type { Agent } from "undici";\nimport "../lifecycle/b.ts";`,
    "src/lifecycle/b.ts": "",
    "src/roles/webhook.ts": `export const run = (): unknown => import("../webhook/app.ts");`,
    "src/accounting/a.ts": `import { createHash } from "node:crypto";`,
    "src/main.ts": `await import("./roles/webhook.ts");\n// import "ajv" only in a comment\nconst text = 'from "ajv"';`,
  };
  assert.deepEqual(problemsOf(checkImports, planted), []);
});
