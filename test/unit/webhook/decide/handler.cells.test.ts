/**
 * Which cell a review is of, and what becomes of it where nobody counts that cell, or nothing is heard from it
 * (docs/cells.md#cells-by-label, docs/accounting.md#silent-cells). What becomes of each is in told/handler.cells.txt.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { annotations } from "../../../../src/api/v1alpha1/names.ts";
import { FakeCells } from "../support/fake-cells.ts";
import { cell, deleteReview, evictReview, type Json, pod, type PodParts, protector } from "../support/objects.ts";
import { world } from "../support/replica.ts";
import { roomy, type Happening, tellsAll, type Told } from "../support/told.ts";
import { workerOf } from "../support/worker.ts";

const forced = { annotations: { [annotations.forceDelete]: "" } };
/** The review of a deletion in this cell. */
const deletedIn =
  (cellID: string, parts: PodParts = {}, name = "p"): Happening =>
  ({ replica }) =>
    replica.review(deleteReview(pod(name, parts)), { cellID });

const key = "example.com/cell";
const byLabel = { cellLabel: key, allowedCells: new Set(["blue", "green"]) };
/** 80 required, 100 there, in two cells. */
const blueAndGreen = () => protector({ cells: [cell("blue", 60), cell("green", 40)] });
const labelsOf = (value: string | undefined) => ({ app: "web", ...(value !== undefined && { [key]: value }) });
const labelled = (value: string | undefined, parts: PodParts = {}, name = "p") =>
  deletedIn("by-label", { ...parts, labels: labelsOf(value) }, name);
const evicted: Happening = ({ replica }) => replica.review(evictReview("p"), { cellID: "by-label" });

const unlabelled: Record<string, Told | readonly Told[]> = {};
for (const [what, value] of [
  ["without the label", undefined],
  ["with an unknown cell", "red"],
] as const) {
  unlabelled[`a pod ${what} is refused where it needs quota, with a status that says no retry helps`] = {
    of: [blueAndGreen()],
    with: byLabel,
    do: [labelled(value)],
  };
  unlabelled[`a pod ${what} passes where nothing protects it: finished, forced, no floor, no PodProtector`] = [
    { of: [blueAndGreen()], with: byLabel, do: [labelled(value, { phase: "Succeeded" }), labelled(value, forced)] },
    { of: [protector({ minAvailable: 0, cells: [cell("blue", 60)] })], with: byLabel, do: [labelled(value)] },
    { of: [], with: byLabel, do: [labelled(value)] },
  ];
}

/** Two cells of 50, and a floor of 50; the second one has been silent since the clock's origin. */
function lostCell(...steps: readonly ((cells: FakeCells) => Happening)[]): Told {
  const cells = new FakeCells();
  cells.silentSince.set("c2", 0);
  const object = protector({ minAvailable: 50, cells: [cell("c1", 50), cell("c2", 50)] });
  return { of: [object], with: { cells }, do: steps.map((step) => step(cells)) };
}
const asked =
  (...parts: Parameters<typeof deletedIn>) =>
  () =>
    deletedIn(...parts);
const fourMinutes = (): Happening => (made) => made.clock.advance(240_000);

/** A cell is silent for one object alone. */
function behind(): Told {
  const cells = new FakeCells();
  cells.silentSince.set("c2/uid-of-behind", 0);
  const parts = { minAvailable: 50, cells: [cell("c1", 50), cell("c2", 50)] };
  const labels = { app: "behind" };
  return {
    of: [protector({ ...parts, name: "behind", selector: { matchLabels: labels } }), protector(parts)],
    with: { cells },
    do: [
      ...["c1", "c2"].map((cellID) => deletedIn(cellID, { labels })),
      ...["c1", "c2"].map((cellID) => deletedIn(cellID, {}, `of-${cellID}`)),
    ],
  };
}

const wide = { selector: { matchLabels: { app: "api" } }, aggregationSelector: { matchLabels: { app: "web" } } };
const ghosts = [deletedIn("ghost", { uid: "a", ...forced }), deletedIn("ghost", { uid: "b", ...forced })];

tellsAll(new URL("told/handler.cells.txt", import.meta.url), {
  "a deletion is recorded in the cell that the label of its pod names": {
    of: [blueAndGreen()],
    with: byLabel,
    do: [labelled("blue", {}, "a"), labelled("blue", {}, "b"), labelled("green", {}, "c")],
  },
  ...unlabelled,
  "the pod of an eviction is read, and its label names the cell": ["green", undefined].map((value) => ({
    of: [blueAndGreen()],
    with: { ...byLabel, ...workerOf(pod("p", { labels: labelsOf(value) })) },
    do: [evicted],
  })),
  "a URL that names a cell is answered with 404, so that a configuration from before is noticed": {
    of: [blueAndGreen()],
    with: byLabel,
    do: [deletedIn("blue", { labels: labelsOf("blue") })],
  },

  "a forged force-delete of a cell that nobody counts leaves nothing in the status, and is counted": {
    of: [roomy()],
    do: [...ghosts, deletedIn("c1", { uid: "real" })],
  },
  "--webhook-dry-run behind a mistyped URL of a cell that nobody counts leaves nothing in the status, and is counted": {
    of: [roomy()],
    with: { dryRun: true },
    do: [deletedIn("ghost", { uid: "a" }), deletedIn("ghost", { uid: "b" }), deletedIn("c1", { uid: "real" })],
  },
  "the pod of a cell that nobody counts is refused even when it is too young to need quota": {
    of: [protector({ minReadySeconds: 3_600, cells: [cell("c1", 100)] })],
    do: [deletedIn("new", { readySince: "2030-01-01T00:00:00Z" })],
  },
  "a deletion that is only counted leaves no record in a cell that nobody counts": {
    of: [protector({ ...wide, cells: [cell("c1", 100)] })],
    do: [deletedIn("new"), deletedIn("c1", {}, "q")],
  },
  "a cell that loses its counts before the record is written leaves none": {
    of: [roomy()],
    do: [
      ({ core }) => {
        core.watches = false;
        core.put(protector({ cells: [] }));
      },
      deletedIn("c1", forced),
      ({ core }) => assert.deepEqual((core.object("ns/web")["status"] as Json)["cells"], []),
    ],
  },

  "the pods of other cells are refused at the floor, and told which cell is silent, and for how long": lostCell(
    fourMinutes,
    asked("c1"),
  ),
  "a deletion in the silent cell is refused as CellSilent, counted, and says what to do": lostCell(
    fourMinutes,
    asked("c2"),
  ),
  "a deletion in the silent cell is let through by force, and when its pod needs no quota": lostCell(
    asked("c2", forced, "forced"),
    asked("c2", { ready: false }, "unready"),
  ),
  "with the first beat of the silent cell everything counts as before": lostCell(
    asked("c1"),
    (cells) => () => cells.silentSince.clear(),
    asked("c1"),
    asked("c2", {}, "q"),
  ),
  "objects that a cell is behind with are judged without it, all others with it": behind(),
});

test("a UID that is too long gets into no status and no log, forced or not", async () => {
  const { core, replica } = world([roomy()]);
  const uid = "u".repeat(900_000);
  assert.equal((await replica.review(deleteReview(pod("p", { uid })))).http, 500);
  assert.equal((await replica.review(deleteReview(pod("p", { uid, ...forced })))).allowed, true);
  assert.equal(core.writes, 0);
  assert(JSON.stringify(replica.log.lines).length < 1_000);
});

test("counts by an aggregator without heartbeats are told to the observer of the cells", async () => {
  const cells = new FakeCells();
  const { core } = world([protector({ cells: [cell("c1", 100)] })], { cells });
  const at = (seconds: number) => ({ lastEventTime: `2026-01-01T00:00:0${seconds}.000000Z` });
  core.put(protector({ cells: [cell("c1", 100, { ...at(1), countedMinReadySeconds: 0 })] }));
  core.deliver();
  assert.deepEqual(cells.countedByOthers, []);
  core.put(protector({ cells: [cell("c1", 100, at(2))] }));
  core.deliver();
  assert.deepEqual(cells.countedByOthers, ["c1"]);
});

test("a pod without a cell is refused by what no cell would change: an invalid or a lost PodProtector", async () => {
  const invalid = { ...blueAndGreen(), spec: { minAvailable: "many", selector: {} } };
  const unusable = await world([invalid], byLabel).replica.review(deleteReview(pod("p")), { cellID: "by-label" });
  assert.equal(unusable.allowed, false);
  assert.match(unusable.message, /core\/ns\/web is invalid/);
  const { core, replica } = world([{ ...blueAndGreen() }], byLabel);
  core.watches = false;
  core.remove("ns/web");
  replica.informers[0]!.miss("ns/web");
  const lost = await replica.review(deleteReview(pod("p")), { cellID: "by-label" });
  assert.equal(lost.allowed, false);
  assert.match(lost.message, /core\/ns\/web is gone from the core cluster/);
});

test("a refusal for want of a cell names one of several PodProtectors, and says how many more there are", async () => {
  const { replica } = world([blueAndGreen(), protector({ name: "zone", cells: [cell("blue", 60)] })], byLabel);
  const { allowed, message } = await replica.review(deleteReview(pod("p")), { cellID: "by-label" });
  assert.equal(allowed, false);
  assert.match(message, /So no aggregator counts it for PodProtector core\/ns\/web and 1 more\. /);
});
