import assert from "node:assert/strict";
import { test } from "node:test";
import { cellLeaseAnnotations } from "../../../../src/api/cell-lease.ts";
import { reasonsAgainst, type Workers } from "../../../../src/commands/uninstall/asking-clusters.ts";
import { type Part } from "../../../../src/commands/uninstall/steps.ts";
import { type Site } from "../../../../src/commands/uninstall/target.ts";
import { builtInResources as types } from "../../../double/index.ts";
import { createCellLease, forbid } from "../support/fleet.ts";
import { installed, installedWorker, InstalledCluster } from "./installed-cluster.ts";

const nobody: Workers = new Map();

async function textsAgainst(part: Part, site: Site, workers = nobody): Promise<readonly string[]> {
  return (await reasonsAgainst(part, site, workers)).map(({ text }) => text);
}

test("a cluster that is core and worker may go by that name, its own cell aside", async () => {
  const { cluster } = await installed();
  assert.deepEqual(await reasonsAgainst("single", cluster.site, nobody), []);
  const [asCore = "", cell = ""] = await textsAgainst("core", cluster.site);
  assert.match(asCore, /^this cluster is a worker, too, by the webhook configuration podseidon/);
  assert.match(cell, /^cell default was heard/);
  const [asWorker = ""] = await textsAgainst("worker", cluster.site);
  assert.match(asWorker, /^this cluster is a core, too/);
});

test("a worker may go at any time", async () => {
  const { cluster } = await installedWorker();
  assert.deepEqual(await reasonsAgainst("worker", cluster.site, nobody), []);
});

test("a cell of another cluster is in the way until it is silent, or its worker asks nobody", async () => {
  const { cluster } = await installed({ overlay: "core" });
  const { core, clock, clusters } = cluster.fleet;
  const worker = clusters.get("w1")!;
  const annotations = { [cellLeaseAnnotations.clusterUID]: "another" };
  await createCellLease(core, clock, "w1", { annotations });
  const ask = (given: boolean) => textsAgainst("single", cluster.site, new Map(given ? [["w1", worker.client]] : []));
  const [unknown = ""] = await ask(false);
  assert.match(unknown, /^cell w1 was heard 2\.0 s ago: its worker asks this core$/);
  assert.deepEqual(await ask(true), []);
  await worker.create(types.validatingWebhookConfigurations, undefined, {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "ValidatingWebhookConfiguration",
    metadata: { name: "mine" },
    webhooks: [
      {
        name: "podseidon.kubewharf.io",
        clientConfig: { url: "https://127.0.0.1:1/w1" },
        admissionReviewVersions: ["v1"],
        sideEffects: "NoneOnDryRun",
        rules: [{ apiGroups: [""], apiVersions: ["v1"], operations: ["DELETE"], resources: ["pods"] }],
      },
    ],
  });
  const [asks = ""] = await ask(true);
  assert.match(asks, /^the worker of cell w1 asks this core, by its webhook configuration mine$/);
  await clock.advance(196_000);
  assert.deepEqual(await ask(false), []);
});

test("what cannot be seen is in the way, too", async () => {
  const { cluster } = await installed({ overlay: "core" });
  forbid(cluster.fleet.core, /leases/);
  const [reason = ""] = await textsAgainst("core", cluster.site);
  assert.match(reason, /^which cells there are is not known: core: you may not list leases/);
  forbid(cluster.fleet.core, /customresourcedefinitions/);
  assert.match((await textsAgainst("worker", cluster.site))[0] ?? "", /is a core is not known/);
  forbid(cluster.fleet.core, /kube-system/);
  assert.match((await textsAgainst("single", cluster.site))[0] ?? "", /you may not get namespaces/);
});

test("a cluster without Podseidon asks nobody", async () => {
  const { site } = await InstalledCluster.create({ isSmall: true });
  for (const part of ["core", "worker", "single"] as const)
    assert.deepEqual(await reasonsAgainst(part, site, nobody), []);
});
