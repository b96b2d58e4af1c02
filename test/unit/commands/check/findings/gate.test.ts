import assert from "node:assert/strict";
import { test } from "node:test";
import { gateFindings } from "../../../../../src/commands/check/findings/gate.ts";
import { type WorkerFacts } from "../../../../../src/commands/check/facts.ts";

type Answer = WorkerFacts["gates"] extends ReadonlyMap<string, infer T> ? T : never;

function found(answer: Answer, own: readonly string[] = ["a"]): string {
  const [finding] = gateFindings({ gates: new Map([["ns/dummy", answer]]) }, own);
  return `${finding?.level} ${finding?.check}: ${finding?.text}`;
}

test("a webhook that answers for this cell is in order, for another one it is a failure", () => {
  assert.match(found({ kind: "other-cell", cell: "a" }), /^ok gate/);
  assert.match(found({ kind: "ok" }), /^ok gate/);
  assert.match(
    found({ kind: "other-cell", cell: "b" }),
    /^fail gate: deletions are reviewed as those of cell "b", not of "a"/,
  );
  assert.match(
    found({ kind: "other-cell", cell: "-" }),
    /^fail gate: the webhook finds no cell in the labels of ns\/dummy/,
  );
});

test("where nobody knows the cell, the webhook that answers is only named", () => {
  assert.equal(found({ kind: "other-cell", cell: "b" }, []), 'ok gate: the API server asks the webhook, as cell "b"');
});

test("a deletion that passes without our answer is a failure", () => {
  assert.match(found({ kind: "missing" }), /^fail gate: a dry-run deletion of ns\/dummy passed/);
});

for (const [words, check] of [
  ["tls: failed to verify certificate: x509: certificate has expired or is not yet valid: current time", "certificate"],
  ["tls: failed to verify certificate: x509: certificate signed by unknown authority", "ca-bundle"],
  ["x509: certificate is valid for podseidon, not for other", "ca-bundle"],
  ["dial tcp 127.0.0.1:1: connect: connection refused", "gate"],
] as const) {
  test(`an API server that fails with "${words}" is a failure of ${check}`, () => {
    assert.match(
      found({ kind: "unreachable", why: `failed calling webhook: ${words}` }),
      new RegExp(`^fail ${check}: `),
    );
  });
}

test("of what the API server says only what happened is shown", () => {
  const call = 'failed to call webhook: Post "https://a/b?timeout=10s"';
  const why = `500: failed calling webhook "podseidon.kubewharf.io": ${call}: EOF`;
  assert.match(found({ kind: "unreachable", why }), /so every deletion is refused: EOF$/);
  const other = 'failed calling webhook "podseidon.kubewharf.io": context deadline exceeded';
  assert.match(found({ kind: "unreachable", why: other }), /so every deletion is refused: context deadline exceeded$/);
});

test("what was not found out is not checked, with the reason", () => {
  assert.match(found("no pod"), /^unchecked gate: .*there is no pod ns\/dummy/);
  assert.match(found({ kind: "unknown", why: "no answer", isForbidden: false }), /^unchecked gate: .*no answer/);
  assert.match(
    found({ kind: "unknown", why: "", isForbidden: true }),
    /^unchecked gate: .*you may not delete pod ns\/dummy/,
  );
  assert.equal(gateFindings({ gates: new Map() }, [])[0]?.level, "unchecked");
});
