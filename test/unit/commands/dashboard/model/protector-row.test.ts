import assert from "node:assert/strict";
import { test } from "node:test";
import {
  decodeWatched,
  factsOf,
  rowState,
  urgencyOf,
} from "../../../../../src/commands/dashboard/model/protector-row.ts";
import { listCells } from "../../../../../src/commands/fleet/cells.ts";
import { states } from "../../../../../src/commands/fleet/standing.ts";
import { type JsonObject } from "../../../../double/index.ts";
import {
  createCellLease,
  createFleet,
  createProtector,
  type Fleet,
  type ProtectorFields,
  systemNamespace,
} from "../../support/fleet.ts";

async function factsIn(fleet: Fleet, name: string, fields: ProtectorFields) {
  const watched = decodeWatched(await createProtector(fleet.core, name, fields));
  assert(watched !== undefined);
  const { client } = fleet.core;
  const now = (): ReturnType<typeof fleet.clock.epochMicros> => fleet.clock.epochMicros();
  return factsOf(watched, await listCells(client, systemNamespace, now, new AbortController().signal));
}

test("a row has the figures of the heart, by cell, and the workload it was made for", async () => {
  const fleet = await createFleet();
  const facts = await factsIn(fleet, "web", {
    minAvailable: 5,
    metadata: {
      labels: { "podseidon.kubewharf.io/source-kind": "Deployment", "podseidon.kubewharf.io/source-name": "web" },
    },
    cells: [
      { cellID: "w1", available: 4, buckets: [{ startTime: "2026-01-01T00:00:00.000000Z" as never, podUID: "u" }] },
      { cellID: "w2", available: 3 },
    ],
  });
  assert.equal(facts.workload, "Deployment web");
  const { cells, ...figures } = facts.figures!;
  assert.deepEqual(figures, { mustStay: 5, available: 7, promised: 1, free: 1 });
  assert.deepEqual(cells, [
    { cell: "w1", available: 4, promised: 1, note: "" },
    { cell: "w2", available: 3, promised: 0, note: "" },
  ]);
  assert.deepEqual(facts.states, [{ name: "ok", tone: "good", why: "" }]);
});

test("a PodProtector at its floor says in numbers why nothing may go", async () => {
  const fleet = await createFleet();
  const { states } = await factsIn(fleet, "web", { minAvailable: 3, cells: [{ cellID: "w1", available: 3 }] });
  assert.equal(states[0].name, "at floor");
  assert.equal(states[0].why, "3 are available, 0 of them promised, and 3 must stay: none is free");
});

test("a PodProtector with too few pods says in numbers what is missing", async () => {
  const fleet = await createFleet();
  const { states } = await factsIn(fleet, "web", { minAvailable: 3, cells: [{ cellID: "w1", available: 2 }] });
  assert.equal(states[0].name, "below floor");
  assert.equal(states[0].why, "3 must stay, 2 are available and 0 of them promised");
});

test("pods of a silent cell do not count, and the row says what the cell had", async () => {
  const fleet = await createFleet();
  await createCellLease(fleet.core, fleet.clock, "w1", { agoMs: 400_000 });
  const facts = await factsIn(fleet, "web", { minAvailable: 3, cells: [{ cellID: "w1", available: 4 }] });
  assert.deepEqual(
    facts.states.map(({ name }) => name),
    ["cell silent"],
  );
  assert.equal(facts.states[0].why, "Nothing is heard from w1, so the pods there do not count");
  assert.equal(facts.figures?.cells[0]?.note, "silent, had 4");
});

test("a cell that has not counted an edited spec is named", async () => {
  const fleet = await createFleet();
  const cell = { cellID: "w1", aggregation: { totalReplicas: 2, availableReplicas: 2, countedSpec: "other" } };
  const { states, figures } = await factsIn(fleet, "web", { minAvailable: 1, cells: [cell] });
  assert(states.some(({ why }) => why === "Not counted since it was made or edited: w1"));
  assert.equal(figures?.cells[0]?.note, "not counted");
});

test("an object that cannot be read is a row without figures, because deletions of its pods are refused", () => {
  const metadata = { namespace: "shop", name: "web", uid: "u", resourceVersion: "7" };
  const watched = decodeWatched({ metadata, spec: { minAvailable: "many" } });
  const { figures, states } = factsOf(watched!, undefined);
  assert.equal(figures, undefined);
  assert.equal(states[0].name, "unusable");
  assert.match(states[0].why, /^It is invalid, so deletions of its pods are refused: /);
});

test("an object without a name, a UID or a version is no row", () => {
  const metadata: JsonObject = { namespace: "shop", name: "web", uid: "u", resourceVersion: "7" };
  for (const missing of Object.keys(metadata)) {
    assert.equal(decodeWatched({ metadata: { ...metadata, [missing]: undefined } }), undefined, missing);
  }
});

test("names with characters that could deceive people are cleaned", async () => {
  const fleet = await createFleet();
  const { figures } = await factsIn(fleet, "web", { minAvailable: 1, cells: [{ cellID: "w\u202e1", available: 2 }] });
  assert.equal(figures?.cells[0]?.cell, "w?1");
});

const held = {
  type: "ChangeHeld",
  status: "True",
  reason: "MassChange",
  message: "12 others fall at once",
  lastTransitionTime: "2026-01-01T00:00:00Z",
} as const;

test("every state but ok has a tone that is not good", () => {
  for (const name of states) assert.equal(rowState(name, undefined).tone === "good", name === "ok", name);
});

test("why comes from the caller, else from the condition, else from what the word means", () => {
  assert.equal(rowState("change held", [held], "told").why, "told");
  assert.equal(rowState("change held", [held]).why, "12 others fall at once");
  assert.equal(rowState("change held", [{ ...held, status: "False" }]).why, "");
  assert.match(rowState("shadow", []).why, /refuses nothing/);
});

test("the most urgent state is the one that webhooks cannot use", () => {
  assert.equal(urgencyOf("unusable"), 0);
  assert(urgencyOf("below floor") < urgencyOf("at floor"));
  assert(urgencyOf("ok") > urgencyOf("shadow"));
});
