import assert from "node:assert/strict";
import { test } from "node:test";
import { load, loadGood } from "../load.ts";

const key = "--webhook-cell-label=example.com/cell";
const served = "--webhook-allowed-cells=blue,green";
const cell = "--aggregator-cell-id=blue";
const selector = "--aggregator-pod-label-selector=example.com/cell=blue";
const dummy = "--update-trigger-dummy-pod-labels=example.com/cell=blue";
const map = "--webhook-worker-client-provider=map";

const impossible: readonly (readonly [string, readonly string[], RegExp])[] = [
  ["webhook", ["--webhook-cell-label=-x"], /--webhook-cell-label: "-x".*allowed: empty, or a label key such as/],
  [
    "webhook",
    [key, served, map, "--webhook-worker-client-provider.map-configs=blue=/x"],
    /^--webhook-cell-label \(example\.com\/cell\) is not allowed with --webhook-w.*=map: .*; allowed: single .*, none$/,
  ],
  ["webhook", [key], /requires --webhook-allowed-cells, which is empty; allowed: every value of the label that is a/],
  [
    "aggregator",
    [key, cell, dummy],
    /requires --aggregator-pod-label-selector to select .* blue, but it is empty; allowed: example\.com\/cell=blue$/,
  ],
  ["aggregator", [key, cell, dummy, "--aggregator-pod-label-selector=app=web"], /but it is app in \(web\); allowed:/],
  [
    "aggregator",
    [key, cell, dummy, "--aggregator-pod-label-selector=example.com/cell=green"],
    /but it is .* in \(green\); al/,
  ],
  [
    "aggregator",
    [key, cell, dummy, "--aggregator-pod-label-selector=example.com/cell"],
    /but it is example\.com\/cell; /,
  ],
  [
    "aggregator",
    [key, cell, dummy, `${selector},app=web`],
    /but it is app in \(web\),example\.com\/cell in \(blue\); al/,
  ],
  [
    "aggregator",
    [key, cell, selector],
    /requires the cell blue in --update-.*-labels, but it does not have it; allowed: example\.com\/cell=blue, and/,
  ],
  [
    "aggregator",
    [key, cell, selector, "--update-trigger-dummy-pod-labels=example.com/cell=green"],
    /but it has example\.com\/cell=green; allowed/,
  ],
  [
    "aggregator,webhook",
    [key, "--webhook-allowed-cells=green", cell, selector, dummy],
    /^--aggregator-cell-id \(blue\) is not one of --webhook-allowed-cells, .*; allowed: green$/,
  ],
  ["generator", [key], /^flag --webhook-cell-label requires the role aggregator or webhook, but --role=generator is/],
];

test("flags about cells by label that cannot work are refused, and the message says what is allowed", () => {
  for (const [role, argv, message] of impossible) {
    const loaded = load([`--role=${role}`, ...argv]);
    assert.match(loaded.kind === "error" ? loaded.message : `loaded as ${loaded.kind}`, message);
  }
});

test("cells by label work in one process and in several, however the selector is spelled", () => {
  assert.equal(loadGood(["--role=webhook", key, served]).webhook.cellLabel, "example.com/cell");
  assert.equal(loadGood(["--role=webhook", served]).webhook.cellLabel, undefined);
  for (const spelled of [selector, "--aggregator-pod-label-selector=example.com/cell in (blue)"])
    loadGood(["--role=aggregator,webhook", key, served, cell, spelled, dummy]);
});
