import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { DashboardState } from "../../../../src/commands/dashboard/model/dashboard-state.ts";
import { CoreWatches } from "../../../../src/commands/dashboard/watches.ts";
import { builtInResources } from "../../../double/index.ts";
import { createSeededRng } from "../../../support/seeded-rng.ts";
import {
  createCellLease,
  somebodyIsHeard,
  createFleet,
  createProtector,
  type Fleet,
  forbid,
  systemNamespace,
} from "../support/fleet.ts";
import { eventBody } from "./events.ts";

/** Long enough for a poll, and for a problem to show. */
const soonMs = 6_000;

async function watch(t: TestContext, fleet: Fleet) {
  const { clock, core } = fleet;
  const state = new DashboardState(clock, { cores: ["core"], namespace: undefined });
  const stop = new AbortController();
  const settings = { namespace: undefined, leaseNamespace: systemNamespace, clock, rng: createSeededRng(1) };
  const running = new CoreWatches("core", core.client, state, settings).run(stop.signal);
  t.after(async () => {
    stop.abort();
    await running;
  });
  await clock.advance(soonMs);
  const rows = (): readonly string[] =>
    state.fleet.rows({ words: "", state: undefined }, 0, 100).rows.map(({ name }) => name);
  return { state, rows };
}

test("where cells count and none has a Lease, the option for the namespace is named", async (t) => {
  const fleet = await createFleet();
  await createProtector(fleet.core, "web", { cells: [{ cellID: "w1", available: 2 }] });
  const { state } = await watch(t, fleet);
  assert.deepEqual(state.problems, [
    {
      core: "core",
      text:
        `core: no cell has a Lease in namespace ${systemNamespace}. ` +
        "Where Podseidon is in another namespace, say --cell-lease-namespace.",
    },
  ]);
  await createCellLease(fleet.core, fleet.clock, "w1");
  await fleet.clock.advance(soonMs);
  assert.deepEqual(state.problems, []);
});

test("PodProtectors are shown as they come and go", async (t) => {
  const fleet = await createFleet();
  const { core, clock } = fleet;
  await createCellLease(core, clock, "w1");
  await createProtector(core, "web", { cells: [{ cellID: "w1", available: 2 }] });
  const { state, rows } = await watch(t, fleet);
  assert.deepEqual(rows(), ["web"]);
  assert.equal(state.isComplete, true);
  assert.deepEqual(state.problems, []);
  await createProtector(core, "api");
  await core.engine.delete(core.protectors, "shop", "web", {});
  await clock.advance(1_000);
  assert.deepEqual(rows(), ["api"]);
});

test("Events of all roles are in the timeline, and those of others are not", async (t) => {
  const fleet = await createFleet();
  const { core } = fleet;
  for (const component of ["podseidon-webhook", "podseidon-generator", "podseidon-aggregator", "kubelet"]) {
    await core.create(builtInResources.events, "shop", eventBody({ name: component, component }));
  }
  const { state } = await watch(t, fleet);
  assert.equal(state.timeline.size, 3);
  assert.equal(state.timeline.refused, 1);
});

test("a cell that falls silent takes its pods with it", async (t) => {
  const fleet = await createFleet();
  const { core, clock } = fleet;
  await createCellLease(core, clock, "w1", { agoMs: 0 });
  await somebodyIsHeard(core, clock);
  await createProtector(core, "web", { minAvailable: 1, cells: [{ cellID: "w1", available: 2 }] });
  const { state } = await watch(t, fleet);
  assert.equal(state.cards[0]?.word, "Heard");
  await clock.advance(200_000);
  assert.match(
    state.problems.map(({ text }) => text).join(),
    /core: nobody has written a heartbeat for 3 m \d+ s: the core takes no writes/,
  );
  assert.equal(state.cards[0]?.word, "Heard", "which says nothing of the cell");
  await createCellLease(core, clock, undefined, { agoMs: 0 });
  await clock.advance(15_000);
  assert.deepEqual(state.problems, []);
  assert.equal(state.cards[0]?.word, "Silent");
  assert.equal(state.fleet.sums().byState.find(({ name }) => name === "cell silent")?.count, 1);
});

test("held changes are shown by their causes", async (t) => {
  const fleet = await createFleet();
  const latched = JSON.stringify({ latched: [["namespace/shop", "2026-01-01T00:00:00.000000Z"]], approvals: [] });
  await fleet.core.create(builtInResources.configMaps, systemNamespace, {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "podseidon-generator-state" },
    data: { latches: latched },
  });
  const { state } = await watch(t, fleet);
  assert.deepEqual(state.held, [{ core: "core", cause: "namespace/shop", sinceMs: Date.UTC(2026, 0, 1) }]);
});

test("a right that is missing is named, and the rest goes on", async (t) => {
  const fleet = await createFleet();
  await createProtector(fleet.core, "web");
  forbid(fleet.core, /\/(events|leases|configmaps)/);
  const { state, rows } = await watch(t, fleet);
  assert.deepEqual(rows(), ["web"]);
  assert.equal(state.isComplete, true);
  const texts = state.problems.map(({ text }) => text);
  assert.equal(texts.length, 5);
  assert(texts.every((text) => text.includes("ask for the role podseidon-look")));
  assert(texts.some((text) => text.startsWith("Cells are not shown, or old. core: you may not list leases")));
  assert(texts.some((text) => text.startsWith("Events of podseidon-webhook are not shown. core: you may not watch")));
});

test("a core that does not answer is a problem, until it does again", async (t) => {
  const fleet = await createFleet();
  const { core, clock } = fleet;
  core.client.onRequest = () => "before";
  const { state, rows } = await watch(t, fleet);
  assert(state.problems.some(({ text }) => /^PodProtectors are not shown\. .*connection refused/.test(text)));
  await createProtector(core, "web");
  core.client.onRequest = () => undefined;
  await clock.advance(120_000);
  assert.deepEqual(state.problems, []);
  assert.deepEqual(rows(), ["web"]);
});
