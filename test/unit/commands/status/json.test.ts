import assert from "node:assert/strict";
import { test } from "node:test";
import { standingJson, statusJson } from "../../../../src/commands/status/json.ts";
import { lookAt } from "../../../../src/commands/fleet/look.ts";
import { refusalsOf } from "../../../../src/commands/fleet/refusals.ts";
import { objectKey } from "../../../../src/api/object-key.ts";
import { createFleet, createProtector, createRefusal, systemNamespace } from "../support/fleet.ts";

test("JSON has each PodProtector with its cells and refusals", async () => {
  const fleet = await createFleet();
  const { core, clock, stop } = fleet;
  await createProtector(core, "web", { minAvailable: 1, cells: [{ cellID: "w1", available: 3 }] });
  await createRefusal(fleet, { name: "web", count: 4, agoMs: 0 });
  const look = await lookAt({
    core: "core",
    client: core.client,
    namespace: undefined,
    leaseNamespace: systemNamespace,
    clock,
    signal: stop.signal,
  });
  const [standing] = look.protectors?.standings ?? [];
  const refused = refusalsOf(look.events ?? []).get(objectKey("shop", "web"));
  const expected = {
    namespace: "shop",
    name: "web",
    mustStay: 1,
    available: 3,
    promised: 0,
    free: 2,
    states: ["ok"],
    isWrong: false,
    cells: [{ cell: "w1", counts: "in-force", available: 3, promised: 0, silentForMs: undefined }],
    refused: 4,
    refusedCallers: [],
    lastRefusedAt: "2026-01-01T00:00:00.000000Z",
    forced: 0,
    forcedCallers: [],
    lastForcedAt: undefined,
  };
  assert.deepEqual(standingJson(standing!, refused, undefined), expected);
  const text = JSON.stringify(statusJson([look]));
  assert(text.startsWith('{"isWrong":false,"cores":[{"core":"core","at":"2026-01-01T00:00:00.000000Z"'));
});
