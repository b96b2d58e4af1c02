import assert from "node:assert/strict";
import { test } from "node:test";
import { type CoreLook } from "../../../../src/commands/fleet/look.ts";
import { isAnythingWrong, statusText } from "../../../../src/commands/status/text.ts";
import { glanceAt } from "../../../../src/accounting/silence/glance.ts";
import { type EpochMicros } from "../../../../src/util/clock.ts";
import { lease } from "../../accounting/silence/lease-lists.ts";
import { plainTerminal } from "../support/fleet.ts";

const empty: CoreLook = {
  core: "core",
  at: 0 as EpochMicros,
  protectors: { standings: [], unusable: [] },
  cells: undefined,
  held: undefined,
  events: undefined,
  replicas: undefined,
  tombstones: [],
  definition: "there",
  waiting: [],
  unread: [],
};
const view = { namespace: undefined, showsAll: false, program: "podseidon", terminal: plainTerminal };

test("what could not be read is not known to be well", () => {
  assert.equal(isAnythingWrong(empty), false);
  assert.equal(isAnythingWrong({ ...empty, unread: ["core: you may not list x"] }), true);
});

test("releases that differ are told, and are nothing wrong by themselves", () => {
  const seen = (cellID: string | undefined, productVersion: string) => {
    const one = lease(cellID, "1", { productVersion });
    return { lease: one, glance: glanceAt(one, 0 as EpochMicros) };
  };
  const observer = seen(undefined, "0.2.0 (b)");
  const mixed = { cells: new Map([["a", { cellID: "a", ...seen("a", "0.1.0 (a)") }]]), observer };
  const text = statusText([{ ...empty, cells: mixed }], view);
  const told = "versions differ: generator 0.2.0 (b), aggregator of a 0.1.0 (a); see podseidon check";
  assert.ok(text.replaceAll(/\s+/g, " ").includes(told), text);
  assert.equal(isAnythingWrong({ ...empty, cells: mixed }), false);
  const same = { cells: new Map([["a", { cellID: "a", ...seen("a", "0.2.0 (b)") }]]), observer };
  assert.doesNotMatch(statusText([{ ...empty, cells: same }], view), /versions/);
});

test("replicas that are not ready are told", () => {
  const replicas = [{ name: "podseidon-webhook", component: "webhook", ready: 2, wanted: 3 }];
  const terminal = { ...plainTerminal, isColoured: true };
  const text = statusText([{ ...empty, replicas }], { ...view, terminal });
  assert.match(text, /\nreplicas {2}\u001b\[31mpodseidon-webhook: 2 of 3 ready\u001b\[0m\n/);
});

test("an invalid PodProtector is told with the reason, and hostile text does no harm", () => {
  const unusable = [{ namespace: "shop", name: "we\u001b[2Jb", reason: "spec: \u001b]0;x\u0007" }];
  const text = statusText([{ ...empty, protectors: { standings: [], unusable } }], view);
  assert.match(text, /\nshop\/we\?\[2Jb +- +- +- +- {2}unusable\n/);
  assert.match(text, /\n {4}invalid, so deletions of its pods are refused: spec: /);
  assert.match(text, /^[\x20-\x7e\n]*$/);
});
