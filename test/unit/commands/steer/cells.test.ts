import assert from "node:assert/strict";
import { test } from "node:test";
import { cellLeaseAnnotations, cellLeaseLabels, cellLeaseName } from "../../../../src/api/cell-lease.ts";
import { builtInResources } from "../../../double/index.ts";
import {
  createCellLease,
  createFleet,
  createProtector,
  type Fleet,
  forbid,
  systemNamespace,
} from "../support/fleet.ts";
import { goldenOf } from "../support/golden.ts";

const shown = goldenOf(import.meta.filename);

const clusterUID = "11111111-2222-3333-4444-555555555555";

function leaseOf({ core }: Fleet, cellID: string) {
  return core.engine.find(builtInResources.leases, systemNamespace, cellLeaseName(cellID));
}

async function twoCells(): Promise<Fleet> {
  const fleet = await createFleet("worker");
  await createCellLease(fleet.core, fleet.clock, "w1");
  await createCellLease(fleet.core, fleet.clock, "w2", { agoMs: 600_000 });
  await createProtector(fleet.core, "web", {
    cells: [
      { cellID: "w1", available: 3 },
      { cellID: "w2", available: 2 },
      { cellID: "go", available: 1 },
    ],
  });
  return fleet;
}

test("cells list shows every cell of a Lease or a status, silent ones first", async (t) => {
  const fleet = await twoCells();
  await shown(t, fleet, "cells", "list");
  const json = JSON.parse((await fleet.run("cells", "list", "-o", "json")).stdout) as {
    cores: { cells: { cell: string; state: string }[] }[];
  };
  assert.deepEqual(
    json.cores[0]?.cells.map(({ cell, state }) => [cell, state]),
    [
      ["w2", "silent"],
      ["go", "no heartbeat"],
      ["w1", "ok"],
    ],
  );
});

test("cells keep says what it does, writes the annotation, and --undo takes it off", async (t) => {
  const fleet = await twoCells();
  await shown(t, fleet, "cells", "keep", "w2", "--for", "2h");
  assert.equal(leaseOf(fleet, "w2")?.metadata.annotations?.[cellLeaseAnnotations.keepUntil], "2026-01-01T02:00:00Z");
  await shown(t, fleet, "cells", "list");
  await shown(t, fleet, "cells", "keep", "w2", "--undo");
  assert.equal(leaseOf(fleet, "w2")?.metadata.annotations?.[cellLeaseAnnotations.keepUntil], undefined);
});

test("cells keep --dry-run stores nothing", async (t) => {
  const fleet = await twoCells();
  await shown(t, fleet, "cells", "keep", "w2", "--for=2h", "--dry-run");
  assert.equal(leaseOf(fleet, "w2")?.metadata.annotations?.[cellLeaseAnnotations.keepUntil], undefined);
});

test("cells adopt takes the UID of the cluster from --cluster, or from the worker itself", async (t) => {
  const fleet = await twoCells();
  await shown(t, fleet, "cells", "adopt", "w1", "--cluster", clusterUID);
  assert.equal(leaseOf(fleet, "w1")?.metadata.annotations?.[cellLeaseAnnotations.adopt], clusterUID);
  const worker = fleet.clusters.get("worker")!;
  const { uid } = worker.engine.get(builtInResources.namespaces, undefined, "kube-system").metadata;
  await shown(t, fleet, "cells", "adopt", "w1", "--worker", "w1=worker");
  assert.equal(leaseOf(fleet, "w1")?.metadata.annotations?.[cellLeaseAnnotations.adopt], uid);
});

test("cells forget asks for the retirement, and creates the Lease of a cell that has none", async (t) => {
  const fleet = await twoCells();
  await shown(t, fleet, "cells", "forget", "w1");
  assert.equal(leaseOf(fleet, "w1")?.metadata.annotations?.[cellLeaseAnnotations.forget], "true");
  await shown(t, fleet, "cells", "forget", "go");
  const { labels = {}, annotations = {} } = leaseOf(fleet, "go")?.metadata ?? {};
  assert.deepEqual([labels[cellLeaseLabels.cell], annotations[cellLeaseAnnotations.forget]], ["go", "true"]);
});

test("cells forget --now says what it costs, and asks for --yes", async (t) => {
  const fleet = await twoCells();
  await shown(t, fleet, "cells", "forget", "w2", "--now");
  assert.deepEqual(fleet.core.client.writes, []);
  const json = await fleet.run("cells", "forget", "w2", "--now", "-o", "json");
  assert.deepEqual([json.exitCode, json.stdout], [2, ""]);
  await shown(t, fleet, "cells", "forget", "w2", "--now", "--yes");
  assert.equal(leaseOf(fleet, "w2")?.metadata.annotations?.[cellLeaseAnnotations.forget], "now");
  await shown(t, fleet, "cells", "list");
});

test("cells names what is wrong with its arguments, and changes nothing then", async () => {
  const fleet = await twoCells();
  const cases: readonly (readonly [readonly string[], number, RegExp])[] = [
    [["lst"], 2, /^cells: "lst" is no action; allowed: list, keep, adopt, forget; did you mean list\?$/],
    [["keep"], 2, /^cells keep: which cell\? Say its name$/],
    [["keep", "w1"], 2, /^cells keep: for how long\? Say --for, such as --for 2h$/],
    [["keep", "w1", "--for=soon"], 2, /^option --for: "soon" is no duration; allowed: a duration such as 30m or 2h/],
    [["keep", "w1", "--for=9000h"], 2, /^option --for: "9000h" is out of range; allowed: .* up to 168h$/],
    [["keep", "go", "--for=2h"], 1, /^cell go has no Lease in core core/],
    [["keep", "w12", "--for=2h"], 1, /^there is no cell "w12"; there are: w2, go, w1; did you mean w\d\?$/],
    [["adopt", "w1"], 2, /^cells adopt: by which cluster\? Say --worker w1=CONTEXT, or --cluster UID$/],
    [["adopt", "w1", "--cluster=w"], 2, /^option --cluster: "w" is no UID; allowed: the UID of the namespace kube-sys/],
    [["keep", "w1", "--for=2h", "--now"], 2, /^cells keep: --now belongs to forget, without --undo$/],
    [["forget", "w1", "--now", "--undo"], 2, /^cells forget: --now belongs to forget, without --undo$/],
    [["forget", "a/b"], 2, /^cells forget: "a\/b" is not the name of a cell$/],
  ];
  for (const [argv, code, expected] of cases) {
    const { exitCode, problem = "" } = await fleet.run("cells", ...argv);
    assert.match(problem, expected);
    assert.equal(exitCode, code, problem);
  }
  assert.deepEqual(fleet.core.client.writes, []);
});

test("cells says which right is missing", async (t) => {
  const fleet = await twoCells();
  forbid(fleet.core, /^PATCH .*leases/);
  const { problem } = await shown(t, fleet, "cells", "forget", "w1");
  assert.equal(
    problem,
    "nothing was changed by this: core: you may not patch leases.coordination.k8s.io " +
      `${cellLeaseName("w1")} in namespace podseidon-system; ask for the role podseidon-steer`,
  );
});
