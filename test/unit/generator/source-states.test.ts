import assert from "node:assert/strict";
import { test } from "node:test";
import { objectKey } from "../../../src/api/object-key.ts";
import { SourceStates } from "../../../src/generator/source-states.ts";

const web = objectKey("default", "web");
const api = objectKey("default", "api");
const webProtector = objectKey("default", "deployment-web");

test("each Deployment counts once, in its newest state", () => {
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

test("a Deployment lacks its PodProtector for the last reason that was given, and is found by its name", () => {
  const states = new SourceStates();
  states.lacks(web, webProtector);
  assert.deepEqual(states.counts().unprotectable, new Map([["Pending", 1]]));
  states.lacks(web, webProtector, "forbidden");
  states.lacks(web, webProtector);
  assert.deepEqual([...states.counts().unprotectable].at(-1), ["forbidden", 1]);
  assert.ok(states.isLacking(web) && !states.isLacking(api));
  assert.equal(states.lackedBy(webProtector), web);
});

test("a reason that holds no longer is shown as 0, so that its gauge falls", () => {
  const states = new SourceStates();
  states.lacks(web, webProtector, "forbidden");
  states.has(web, "drainable");
  assert.equal(states.lackedBy(webProtector), undefined);
  assert.deepEqual(states.counts().unprotectable, new Map([["forbidden", 0]]));
  states.lacks(web, webProtector, "forbidden");
  states.clear();
  assert.equal(states.lackedBy(webProtector), undefined);
  assert.deepEqual(states.counts().unprotectable, new Map([["forbidden", 0]]));
});
