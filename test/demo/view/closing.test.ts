import assert from "node:assert/strict";
import { test } from "node:test";
import { type ServiceResult } from "../../../scripts/demo/statistics.ts";
import { type Closing, closingLines, reasonOf } from "../../../scripts/demo/view/closing.ts";
import { createStyle } from "../../../scripts/demo/view/style.ts";

const style = createStyle({ colour: false, utf8: false });
const service: ServiceResult = {
  name: "search",
  replicas: 12,
  floor: 9,
  lowestWith: 9,
  lowestWithout: 0,
  deletions: { tried: 20, admitted: 3, refused: 15, unanswered: 2 },
};
const refusal =
  `admission webhook "pods.example" denied the request: PodProtector shop/a reports too few replicas: ` +
  "so many words ".repeat(9) +
  "are needed. Must stay 9, available 9. Wait";
const closing: Closing = {
  services: [service],
  acts: [{ title: "Act 1: Rolling update", problem: undefined }],
  verdict: { exitCode: 0, sentences: ["Every floor held."] },
  refusal,
  elapsedMs: 41_234,
};

test("the end has the acts, the table, the verdict, the reason of a refusal and the time, in 80 columns", () => {
  const lines = closingLines(closing, style);
  const text = lines.join("\n");
  assert.match(text, /passed {2}Act 1[^]*search +12 +9 +9 +0[^]*Every floor held\.[^]*told: "PodProtector[^]*\(41 s\)/);
  for (const line of lines) assert.ok(line.length <= 80, `${line.length}: ${line}`);
});

test("an act that did not go through is marked, and a run without refusals quotes none", () => {
  const acts = [{ title: "Act 2: Node drain", problem: "2 pods are left" }];
  const text = closingLines({ ...closing, acts, refusal: undefined }, style).join("\n");
  assert.match(text, /FAILED {2}Act 2: Node drain/);
  assert.doesNotMatch(text, /told/);
});

test("a verdict is green when the run holds and red when it does not", () => {
  const colours = createStyle({ colour: true, utf8: true });
  const toneOf = (exitCode: 0 | 1): string => {
    const lines = closingLines({ ...closing, verdict: { exitCode, sentences: ["the verdict"] } }, colours);
    return /\u001B\[(3\d)m {2}the verdict/.exec(lines.join("\n"))?.[1] ?? "";
  };
  assert.deepEqual([toneOf(0), toneOf(1)], ["32", "31"]);
});

test("the reason of a refusal is its first sentence, without the API server's own words", () => {
  assert.match(reasonOf(refusal), /^PodProtector shop\/a reports .* are needed$/);
  assert.equal(reasonOf("no"), "no");
});
