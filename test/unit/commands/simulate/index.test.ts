import assert from "node:assert/strict";
import { test } from "node:test";
import { createFleet } from "../support/fleet.ts";

async function problemOf(...argv: readonly string[]): Promise<string> {
  const fleet = await createFleet();
  const { exitCode, problem = "" } = await fleet.run("simulate", ...argv);
  assert.equal(exitCode, 2);
  return problem;
}

test("wrong usage is named, with what is allowed", async () => {
  assert.match(await problemOf("drane", "node-1"), /unknown action drane; did you mean drain\?/);
  assert.match(await problemOf("delete", "pod"), /delete needs a kind and a name/);
  assert.match(await problemOf("delete", "pdo", "web-1"), /unknown kind pdo; did you mean pod\?/);
  assert.match(await problemOf("delete", "namespace", "a", "b"), /delete namespace takes one name/);
  assert.match(await problemOf("drain", "node-1", "-o", "xml"), /allowed: table or json/);
  assert.match(await problemOf("drain", "node-1", "--core=nowhere"), /has no context "nowhere"/);
  assert.match(await problemOf("drain"), /missing required args/);
});
