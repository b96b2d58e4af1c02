import assert from "node:assert/strict";
import { test } from "node:test";
import { KeysByNamespace } from "../../../src/util/keys-by-namespace.ts";

test("keys are found by their namespace until they are taken away", () => {
  const keys = new KeysByNamespace<string>();
  for (const key of ["a", "b", "a"]) keys.add("shop", key);
  keys.add("bank", "c");
  assert.deepEqual([[...keys.of("shop")], [...keys.of("none")], [...keys.all()]], [["a", "b"], [], ["a", "b", "c"]]);
  keys.delete("shop", "a");
  keys.delete("shop", "c");
  keys.delete("none", "a");
  assert.deepEqual([...keys.of("shop")], ["b"]);
  keys.delete("shop", "b");
  assert.deepEqual([...keys.all()], ["c"]);
});
