import assert from "node:assert/strict";
import { test } from "node:test";
import { load, loadGood } from "../load.ts";

test("the label of cells is a label key, with or without a prefix, or empty", () => {
  for (const key of ["", "cell", "example.com/cell"]) {
    const { webhook } = loadGood(["--role=webhook", "--webhook-allowed-cells=a", `--webhook-cell-label=${key}`]);
    assert.equal(webhook.cellLabel, key === "" ? undefined : key);
  }
  for (const key of ["a b", "/cell", "example.com/", "-cell", "x".repeat(64)]) {
    const loaded = load(["--role=webhook", "--webhook-allowed-cells=a", `--webhook-cell-label=${key}`]);
    assert.match(loaded.kind === "error" ? loaded.message : loaded.kind, /allowed: empty, or a label key such as/, key);
  }
});
