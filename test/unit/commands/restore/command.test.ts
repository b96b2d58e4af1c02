import assert from "node:assert/strict";
import { existsSync, rmSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { readSaved } from "../../../../src/commands/restore/saved-objects.ts";
import { mergePatch } from "../../../double/cluster.ts";
import { KubeError } from "../../../../src/kube/kube-client.ts";
import { builtInResources as types } from "../../../double/index.ts";
import { ago, forbid, systemNamespace } from "../support/fleet.ts";
import { type LostCore, onLostCore } from "./lost-core.ts";

async function assertRestored(core: LostCore, formerUIDs: ReadonlySet<string>): Promise<void> {
  const protectors = await core.protectors();
  assert.deepEqual([...protectors.keys()].toSorted(), ["a", "b"]);
  for (const { metadata, status } of protectors.values()) {
    assert.ok(!formerUIDs.has(metadata.uid ?? ""));
    assert.equal(metadata.deletionTimestamp, undefined);
    assert.deepEqual(metadata.finalizers, ["podseidon.kubewharf.io/generator"]);
    assert.equal(metadata.labels?.["podseidon.kubewharf.io/source-name"], metadata.name);
    const { cells } = status as unknown as { cells: readonly { cellID: string }[] };
    assert.equal(cells[0]?.cellID, "worker-1");
  }
}

async function uidsOf(core: LostCore): Promise<ReadonlySet<string>> {
  return new Set([...(await core.protectors()).values()].map(({ metadata }) => metadata.uid));
}

test("a lost CRD comes back with all objects, their finalizers, labels and status", () =>
  onLostCore(async (core) => {
    const before = await uidsOf(core);
    await core.lose();
    const { exitCode, stdout, problem } = await core.restore();
    assert.equal(exitCode, 0, problem ?? "");
    assert.match(stdout, /^save 2 PodProtectors with their status in\s.*saved\.json$/m);
    assert.match(stdout, /^2 created, 0 were there, 2 statuses given back$/m);
    assert.match(
      stdout,
      /start the generator again:\n {2}kubectl -n podseidon-system scale deployment podseidon-generator --replicas=2\n/,
    );
    await assertRestored(core, before);
  }));

test("a second run does nothing, and neither does one for a CRD that nobody has deleted", () =>
  onLostCore(async (core) => {
    assert.match((await core.restore()).stdout, /nobody has deleted it: nothing to restore/);
    await core.lose();
    await core.restore();
    const { writes } = core.fleet.core.client;
    const count = writes.length;
    const again = await core.restore();
    assert.equal(again.exitCode, 0);
    assert.match(again.stdout, /were restored before: nothing to do/);
    assert.equal(writes.length, count);
  }));

test("a dry run says each step, writes nothing, and leaves no file", () =>
  onLostCore(async (core) => {
    await core.lose();
    const { exitCode, stdout } = await core.restore("--dry-run");
    assert.equal(exitCode, 0);
    assert.equal(stdout.split("\n").filter((line) => line.startsWith("would ")).length, 4);
    assert.deepEqual(core.fleet.core.client.writes, []);
    assert.ok(!existsSync(core.file));
    assert.equal((await core.protectors()).size, 2);
  }));

test("a run that is cut off at any write goes on where it was, with nothing lost", async () => {
  // Two finalizers, the CRD, and of each object itself and its status.
  for (let fatal = 1; fatal <= 7; fatal += 1) {
    await onLostCore(async (core) => {
      const before = await uidsOf(core);
      await core.lose();
      const { client } = core.fleet.core;
      client.onWrite = (index) => (index === fatal ? "before" : undefined);
      const cut = await core.restore();
      assert.equal(cut.exitCode, 1, `cut off at write ${fatal}`);
      client.onWrite = () => undefined;
      const { exitCode, problem } = await core.restore();
      assert.equal(exitCode, 0, `write ${fatal}: ${problem}`);
      await assertRestored(core, before);
    });
  }
});

test("a write whose answer was lost is not made twice", async () => {
  for (let lost = 1; lost <= 7; lost += 1) {
    await onLostCore(async (core) => {
      const before = await uidsOf(core);
      await core.lose();
      const { client } = core.fleet.core;
      client.onWrite = (index) => (index === lost ? "after" : undefined);
      await core.restore();
      client.onWrite = () => undefined;
      const { exitCode, problem } = await core.restore();
      assert.equal(exitCode, 0, `answer ${lost}: ${problem}`);
      await assertRestored(core, before);
    });
  }
});

test("an object that somebody writes after it was saved is saved again before it goes", () =>
  onLostCore(async (core) => {
    await core.lose();
    const { client, engine } = core.fleet.core;
    let admitted = 0;
    client.onWrite = async (_index, { method, path }) => {
      if (method !== "PATCH" || !path.endsWith("/podprotectors/b") || admitted === 2) return undefined;
      admitted += 1;
      const present = (await core.protectors()).get("b")!;
      const buckets = [{ startTime: "2026-01-01T00:00:00.000000Z", podUID: `u-${admitted}` }];
      const status = { ...present.status, cells: [{ cellID: "worker-1", admissionHistory: { buckets } }] };
      const { protectors } = core.fleet.core;
      await engine.update(protectors, "shop", "b", { ...present, status }, { subresource: "status" });
      return undefined;
    };
    const { exitCode, problem } = await core.restore();
    assert.equal(exitCode, 0, problem ?? "");
    const { status } = (await core.protectors()).get("b") as { readonly status?: { cells?: unknown } };
    assert.deepEqual(status?.cells, [
      {
        cellID: "worker-1",
        admissionHistory: { buckets: [{ startTime: "2026-01-01T00:00:00.000000Z", podUID: "u-2" }] },
      },
    ]);
  }));

test("a core in which others never stop writing is left as it is", () =>
  onLostCore(async (core) => {
    await core.lose();
    const { client } = core.fleet.core;
    client.onWrite = (_index, { path }) =>
      path.endsWith("/podprotectors/b") ? new KubeError("conflict", "scripted") : undefined;
    const { exitCode, problem = "" } = await core.restore();
    assert.equal(exitCode, 1);
    assert.match(problem, /others write 1 objects again and again/);
    assert.ok((await core.protectors()).has("b"));
  }));

test("what was released stays away, and a status that somebody was faster to write stays", () =>
  onLostCore(async (core) => {
    await core.protect("gone", { annotations: { "podseidon.kubewharf.io/released": "2026-01-01T00:00:00Z" } });
    await core.lose();
    const { stdout } = await core.restore();
    assert.match(stdout, /^leave out shop\/gone: released$/m);
    assert.deepEqual([...(await core.protectors()).keys()].toSorted(), ["a", "b"]);
  }));

test("a CRD that is gone altogether needs a file, which may be that of kubectl", () =>
  onLostCore(async (core) => {
    const before = await uidsOf(core);
    const items = [...(await core.protectors()).values()];
    await core.lose();
    const { client } = core.fleet.core;
    client.onWrite = (index) => (index === 3 ? "before" : undefined);
    await core.restore();
    client.onWrite = () => undefined;
    assert.equal(core.definition(), undefined);
    rmSync(core.file);
    const without = await core.restore();
    assert.match(without.problem ?? "", /the CRD is gone, and there is no file/);
    writeFileSync(core.file, JSON.stringify({ apiVersion: "v1", kind: "List", items }));
    assert.equal((await core.restore()).exitCode, 0);
    await assertRestored(core, before);
    const saved = readSaved(core.file);
    assert.ok(saved !== undefined && "items" in saved && saved.isRestored);
  }));

async function lead({ fleet: { core, clock } }: LostCore): Promise<void> {
  await core.create(types.leases, systemNamespace, {
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: { name: "podseidon-generator" },
    spec: { holderIdentity: "generator-1", leaseDurationSeconds: 15, renewTime: ago(clock, 2_000) },
  });
}

test("while a generator leads nothing is done, and the way to stop it is named", () =>
  onLostCore(async (core) => {
    const { clock, core: cluster } = core.fleet;
    await lead(core);
    await core.lose();
    const running = core.fleet.run("restore", "crd", `--file=${core.file}`);
    await clock.advance(1_000);
    const renewed = mergePatch({ spec: { renewTime: ago(clock, 0) } });
    await cluster.engine.patch(types.leases, systemNamespace, "podseidon-generator", renewed);
    await clock.advance(2_000);
    const { exitCode, problem } = await running;
    assert.equal(exitCode, 1);
    assert.match(
      problem ?? "",
      /generator-1 leads.*kubectl -n podseidon-system scale deployment podseidon-generator --replicas=0/,
    );
    assert.deepEqual(core.fleet.core.client.writes, []);
  }));

test("a generator that was stopped a moment ago is waited for, since its Lease still has its name", () =>
  onLostCore(async (core) => {
    const before = await uidsOf(core);
    await lead(core);
    await core.lose();
    const { exitCode, stdout } = await core.restore();
    assert.equal(exitCode, 0);
    assert.match(stdout, /^wait up to 20 s, to see whether the generator generator-1 has stopped$/m);
    await assertRestored(core, before);
  }));

test("a missing right ends it with what the API server says, and it can be run again", () =>
  onLostCore(async (core) => {
    await core.lose();
    forbid(core.fleet.core, /^PATCH .*podprotectors/);
    const { exitCode, problem } = await core.restore();
    assert.equal(exitCode, 1);
    assert.match(problem ?? "", /^restore crd: no right\. Nothing is lost: run it again/);
  }));

test("other words and several cores are wrong usage", () =>
  onLostCore(async ({ fleet }) => {
    assert.equal((await fleet.run("restore", "etcd")).exitCode, 2);
    assert.equal((await fleet.run("restore", "crd", "--core=a=core", "--core=b=core")).exitCode, 2);
  }));
