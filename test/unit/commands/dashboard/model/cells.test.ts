import assert from "node:assert/strict";
import { test } from "node:test";
import { cardWithoutLease, cellCard, worstFirst } from "../../../../../src/commands/dashboard/model/cells.ts";
import { listCells } from "../../../../../src/commands/fleet/cells.ts";
import { type JsonObject } from "../../../../double/index.ts";
import { createCellLease, createFleet, systemNamespace } from "../../support/fleet.ts";

const prefix = "podseidon.kubewharf.io";

async function cardOf(lease: { readonly agoMs?: number; readonly annotations?: JsonObject }) {
  const { core, clock } = await createFleet();
  await createCellLease(core, clock, "w1", lease);
  const now = (): ReturnType<typeof clock.epochMicros> => clock.epochMicros();
  const { cells } = await listCells(core.client, systemNamespace, now, new AbortController().signal);
  return { ...cellCard("core", cells.get("w1")!), nowMs: clock.epochMicros() / 1000 };
}

test("a cell that beats is heard, with the time of its beat and the version of its aggregator", async () => {
  const card = await cardOf({ agoMs: 3_000, annotations: { [`${prefix}/product-version`]: "1.2.3" } });
  assert.equal(card.word, "Heard");
  assert.equal(card.tone, "good");
  assert.equal(card.nowMs - card.heardMs!, 3_000);
  assert.equal(card.version, "1.2.3");
});

test("a cell that does not beat is silent, unless a person keeps it", async () => {
  assert.equal((await cardOf({ agoMs: 200_000 })).word, "Silent");
  const keepUntil = { [`${prefix}/keep-until`]: "2026-01-02T00:00:00Z" };
  assert.equal((await cardOf({ agoMs: 200_000, annotations: keepUntil })).word, "Silent, kept");
});

test("a cell whose deletions are not reviewed is not guarded, and says why", async () => {
  const { word, tone, why } = await cardOf({ annotations: { [`${prefix}/gate`]: "reviewed as cell w9" } });
  assert.deepEqual([word, tone, why], ["Not guarded", "bad", "reviewed as cell w9"]);
});

test("a cell that is behind, or retiring, says so", async () => {
  assert.equal((await cardOf({ annotations: { [`${prefix}/behind`]: "AAAAAAAAAAA=" } })).word, "Behind");
  assert.equal((await cardOf({ annotations: { [`${prefix}/forget`]: "true" } })).word, "Retiring");
});

test("cells that need attention come first, and equal ones keep their order", async () => {
  const heard = await cardOf({});
  const silent = await cardOf({ agoMs: 200_000 });
  const cards = [heard, { ...heard, cell: "w2" }, silent];
  assert.deepEqual(
    worstFirst(cards).map(({ cell, tone }) => `${cell} ${tone}`),
    ["w1 bad", "w1 good", "w2 good"],
  );
});

test("a cell without a Lease says that its counts stay in force, unless nobody could look", () => {
  assert.equal(cardWithoutLease("core", "w1", true).word, "No Lease");
  assert.equal(cardWithoutLease("core", "w1", false).word, "Unknown");
});
