import assert from "node:assert/strict";
import { test } from "node:test";
import { glanceAt } from "../../../../src/accounting/silence/glance.ts";
import { type CellLease } from "../../../../src/api/cell-lease.ts";
import { type FleetCells } from "../../../../src/commands/fleet/cells.ts";
import { differingVersions, listReplicas } from "../../../../src/commands/fleet/replicas.ts";
import { type EpochMicros } from "../../../../src/util/clock.ts";
import { builtInResources, type JsonObject } from "../../../double/index.ts";
import { lease } from "../../accounting/silence/lease-lists.ts";
import { createFleet, systemNamespace } from "../support/fleet.ts";

test("replicas are those of the Deployments with the labels of the manifests", async () => {
  const { core, stop } = await createFleet();
  const { deployments } = builtInResources;
  const create = async (name: string, labels: JsonObject, ready: number): Promise<void> => {
    const created = await core.create(deployments, systemNamespace, {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name, labels },
      spec: { replicas: 3, selector: { matchLabels: { a: name } }, template: { metadata: { labels: { a: name } } } },
    });
    const body = { ...created, status: { readyReplicas: ready } };
    await core.engine.update(deployments, systemNamespace, name, body, { subresource: "status" });
  };
  const ours = { "app.kubernetes.io/name": "podseidon" };
  await create("webhook", { ...ours, "app.kubernetes.io/component": "webhook" }, 2);
  await create("other", {}, 3);
  await create("unlabelled", ours, 3);
  assert.deepEqual(await listReplicas(core.client, systemNamespace, stop.signal), [
    { name: "webhook", component: "webhook", ready: 2, wanted: 3 },
  ]);
});

const seen = (one: CellLease) => ({ lease: one, glance: glanceAt(one, 0 as EpochMicros) });

/** `cells`: cell to version. */
function fleet(generator: string | undefined, cells: Readonly<Record<string, string | undefined>>): FleetCells {
  const all = Object.entries(cells).map(([cellID, productVersion]) => {
    return [cellID, { cellID, ...seen(lease(cellID, "1", { productVersion })) }] as const;
  });
  return {
    cells: new Map(all),
    observer: generator === undefined ? undefined : seen(lease(undefined, "1", { productVersion: generator })),
  };
}

test("roles of one release have nothing to say, nor has one that tells no release", () => {
  assert.equal(differingVersions(fleet("2", { a: "2", b: "2" })), undefined);
  assert.equal(differingVersions(fleet("2", { a: "2", b: undefined })), undefined);
  assert.equal(differingVersions(fleet(undefined, { a: "1" })), undefined);
  assert.equal(differingVersions(fleet("1", {})), undefined);
});

test("the generator and the aggregators of each release are named where they differ", () => {
  assert.equal(
    differingVersions(fleet("2 (b)", { a: "1 (a)", b: "2 (b)", c: "1 (a)" })),
    "generator 2 (b), aggregators of a, c 1 (a), aggregator of b 2 (b)",
  );
  assert.equal(differingVersions(fleet(undefined, { a: "1", b: "2" })), "aggregator of a 1, aggregator of b 2");
});

test("of many cells of one release the first few are named", () => {
  const cells = Object.fromEntries(Array.from({ length: 8 }, (_, index) => [`c${index}`, "1"]));
  assert.equal(differingVersions(fleet("2", cells)), "generator 2, aggregators of c0, c1, c2, c3, c4 and 3 more 1");
});
