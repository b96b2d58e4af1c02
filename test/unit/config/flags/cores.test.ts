import assert from "node:assert/strict";
import { test } from "node:test";
import { flags } from "../../../../src/config/flag-table.ts";

test("URLs of cores may hold a password, which is masked, and names of cores are DNS labels", () => {
  assert.equal(flags["podprotector-source-provider.map-masters"].mayHoldPassword, true);
  const { type } = flags["podprotector-source-provider.map-configs"];
  assert.ok(type.parse("a=,b-1=/path").ok);
  for (const name of ["A", "a/b", "a.b", "-a", "a".repeat(64)]) assert.equal(type.parse(`${name}=`).ok, false, name);
});
