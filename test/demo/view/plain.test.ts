import assert from "node:assert/strict";
import { test } from "node:test";
import { plainAct, plainRemark, plainStatus } from "../../../scripts/demo/view/plain.ts";
import { sampleService, sampleState } from "./sample-state.ts";

function assertFits(text: string): void {
  for (const line of text.split("\n")) assert.ok(line.length <= 80, `${line.length}: ${line}`);
  assert.match(text, /^[\n\x20-\x7E]*$/);
}

test("a status line names availability, floors and what became of the deletions", () => {
  const text = plainStatus(sampleState);
  assert.equal(text, "  12.3 s search 93 (floor 90)\n         deletions: 80 admitted, 1300 refused, 7 waiting");
  assertFits(text);
});

test("without Podseidon no deletions are counted, since nobody is asked", () => {
  assert.doesNotMatch(plainStatus({ ...sampleState, roles: [] }), /deletions/);
});

test("pods above the replicas are said to be surge", () => {
  const services = [{ ...sampleService, available: 152 }];
  const text = plainStatus({ ...sampleState, services, roles: [] });
  assert.equal(text, "  12.3 s search 152 (32 surge, floor 90)");
});

test("while clusters come up, the line says so, and names no service whose few pods would look like a breach", () => {
  const services = [
    { ...sampleService, available: 5 },
    { ...sampleService, available: 0 },
  ];
  const text = plainStatus({ ...sampleState, services, isStarting: true });
  assert.equal(text, "  12.3 s starting: 5 of 240 pods are available");
});

test("acts and remarks are wrapped to 80 columns of ASCII", () => {
  const words = "every pod in every cluster ".repeat(10).trim();
  const act = plainAct(1500, { title: "Act 3", words });
  assert.match(act, /^\n {3}1\.5 s Act 3\n {9}every pod/);
  assertFits(act);
  const remark = plainRemark({ atMs: 61_000, text: words });
  assert.match(remark, /^ {2}61\.0 s every pod/);
  assertFits(remark);
});
