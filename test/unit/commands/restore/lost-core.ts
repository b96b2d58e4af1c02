/** A core in the API double whose CRD somebody deletes, and a folder for the file of the restore. */
import { mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { finalizer } from "../../../../src/api/v1alpha1/names.ts";
import { ownDefinition } from "../../../../src/carried/definition.ts";
import { builtInResources as types, type KubeObject } from "../../../double/index.ts";
import { createFleet, createProtector, type Fleet, type Ran } from "../support/fleet.ts";

const definitionName = "podprotectors.podseidon.kubewharf.io";

export class LostCore {
  readonly fleet: Fleet;
  readonly folder = mkdtempSync(path.join(os.tmpdir(), "podseidon-restore-"));

  private constructor(fleet: Fleet) {
    this.fleet = fleet;
  }

  /** With the PodProtectors a and b, each with a status and the generator's finalizer. */
  static async create(): Promise<LostCore> {
    const core = new LostCore(await createFleet());
    await core.fleet.core.engine.installCrd(ownDefinition());
    for (const name of ["a", "b"]) await core.protect(name);
    return core;
  }

  get file(): string {
    return path.join(this.folder, "saved.json");
  }

  protect(name: string, metadata: object = {}): Promise<KubeObject> {
    const labels = { "podseidon.kubewharf.io/source-name": name };
    return createProtector(this.fleet.core, name, {
      cells: [{ cellID: "worker-1", available: 3 }],
      metadata: { finalizers: [finalizer], labels, ...metadata },
    });
  }

  /** Somebody deletes the CRD. */
  async lose(): Promise<void> {
    await this.fleet.core.engine.delete(types.customResourceDefinitions, undefined, definitionName);
  }

  definition(): KubeObject | undefined {
    return this.fleet.core.engine.find(types.customResourceDefinitions, undefined, definitionName);
  }

  /** By name. */
  async protectors(): Promise<ReadonlyMap<string, KubeObject>> {
    const path = "/apis/podseidon.kubewharf.io/v1alpha1/podprotectors";
    const list = (await this.fleet.core.client.request({ method: "GET", path })) as {
      readonly items: readonly KubeObject[];
    };
    return new Map(list.items.map((item) => [item.metadata.name, item]));
  }

  /** Runs the command to its end, however long it waits. */
  async restore(...more: readonly string[]): Promise<Ran> {
    const running = this.fleet.run("restore", "crd", `--file=${this.file}`, ...more);
    // A minute of waiting, in its steps, and more requests than there are.
    for (let step = 0; step < 400; step += 1) await this.fleet.clock.advance(500);
    return running;
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

export async function onLostCore(body: (core: LostCore) => Promise<void>): Promise<void> {
  const core = await LostCore.create();
  try {
    await body(core);
  } finally {
    core.remove();
  }
}
