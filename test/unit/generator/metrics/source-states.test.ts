import assert from "node:assert/strict";
import { test } from "node:test";
import { objectKey } from "../../../../src/api/object-key.ts";
import { SourceStates } from "../../../../src/generator/metrics/source-states.ts";

const web = objectKey("default", "deployment-web");
const api = objectKey("default", "deployment-api");

test("each source counts once, in its newest state", () => {
  const states = new SourceStates();
  states.has(web, "undrainable");
  states.has(api, "unprotected");
  assert.deepEqual(states.counts(), { undrainable: 1, unprotected: 1, unprotectable: new Map() });
  states.has(web, "unprotected");
  states.has(api, "drainable");
  assert.deepEqual(states.counts(), { undrainable: 0, unprotected: 1, unprotectable: new Map() });
  states.forget(web);
  states.forget(web);
  assert.equal(states.counts().unprotected, 0);
});

test("a PodProtector is lacking for the last reason that was given", () => {
  const states = new SourceStates();
  states.lacks(web);
  assert.deepEqual(states.counts().unprotectable, new Map([["Pending", 1]]));
  states.lacks(web, "forbidden");
  states.lacks(web);
  assert.deepEqual([...states.counts().unprotectable].at(-1), ["forbidden", 1]);
  assert.ok(states.isLacking(web) && !states.isLacking(api));
});

test("a reason that holds no longer is shown as 0, so that its gauge falls", () => {
  const states = new SourceStates();
  states.lacks(web, "forbidden");
  states.has(web, "drainable");
  assert.deepEqual(states.counts().unprotectable, new Map([["forbidden", 0]]));
  states.lacks(web, "forbidden");
  states.clear();
  assert.ok(!states.isLacking(web));
  assert.deepEqual(states.counts().unprotectable, new Map([["forbidden", 0]]));
});
