import assert from "node:assert/strict";
import { test } from "node:test";
import { loadBad, loadGood } from "./load.ts";

const https = [
  "--role=webhook",
  "--webhook-enable=false",
  "--webhook-https-enable",
  "--webhook-https-cert-file=c",
  "--webhook-https-key-file=k",
];
const identified = [...https, "--webhook-client-ca-file=ca"];

test("a client is bound to all cells of its pairs, and only bound cells are served", () => {
  const { webhook } = loadGood([...identified, "--webhook-client-cells=a=c1,b=c2,a=c3"]);
  assert.deepEqual(
    webhook.clientCells,
    new Map([
      ["a", new Set(["c1", "c3"])],
      ["b", new Set(["c2"])],
    ]),
  );
  assert.deepEqual(webhook.clientAuth?.allowedNames, new Set(["a", "b"]), "nobody else is a client");
  assert.deepEqual(webhook.allowedCells, new Set(["c1", "c3", "c2"]));
});

test("a wrong pair is refused with the flag, the pair and what is allowed", () => {
  const message = loadBad([...identified, "--webhook-client-cells=a=c1,b=c/2"]);
  assert.equal(
    message,
    'flag --webhook-client-cells: "a=c1,b=c/2" contains the item "b=c/2", which ends with "c/2", which is not a cell ' +
      "ID; allowed: a comma-separated list of distinct pairs such as a=worker-1,a=worker-2,b=worker-3",
  );
});

for (const [args, message] of [
  [[...https, "--webhook-client-cells=a=c1"], "--webhook-client-cells requires --webhook-client-ca-file"],
  [
    ["--role=webhook", "--webhook-client-allowed-names=a"],
    "--webhook-client-allowed-names requires --webhook-client-ca-file",
  ],
  [
    [...identified, "--webhook-client-cells=a=c1", "--webhook-client-allowed-names=a"],
    "--webhook-client-allowed-names is not allowed with --webhook-client-cells, which names the clients already; " +
      "allowed: one of them",
  ],
  [
    [...identified, "--webhook-client-cells=a=c1", "--webhook-cell-label=team", "--webhook-allowed-cells=c1"],
    "--webhook-client-cells is not allowed with --webhook-cell-label (team): the label of the pod names the cell, " +
      "not the URL; allowed: --webhook-client-allowed-names",
  ],
  [
    [...identified, "--webhook-client-cells=a=c1,b=c3", "--webhook-allowed-cells=c1,c2"],
    "--webhook-client-cells names the cell c3, which is not one of --webhook-allowed-cells; allowed: c1, c2",
  ],
  [
    [...identified, "--webhook-client-cells=a=c1", "--webhook-allowed-cells=c1,c2"],
    "--webhook-allowed-cells names the cell c2, for which no client of --webhook-client-cells may speak; allowed: c1",
  ],
] as const) {
  test(`flags about clients that contradict each other are refused: ${message}`, () => {
    assert.equal(loadBad([...args]), message);
  });
}
