/**
 * The part of the contract about kinds that are not built in: CRDs that are missing, are being deleted, are gone, and
 * come again. The first case begins without the CRD. The generator works for the kind and for Deployments, and holds
 * mass changes.
 */
import assert from "node:assert/strict";
import { type Bench, type ContractCase, hasFinalizer } from "./bench.ts";
import { sampleOf } from "./samples.ts";

const names = ["one", "two", "three"];

async function isServed(bench: Bench): Promise<void> {
  if (!(await bench.hasCrd())) await bench.installCrd();
  await bench.createAll(names);
  await areProtected(bench, "the floors of new sources");
}

async function areProtected(bench: Bench, what: string): Promise<void> {
  const { floor } = bench.sample;
  await bench.becomes(what, () => bench.floors(names), [floor, floor, floor], "late");
  const guarded = () => Promise.all(names.map(bench.isGuarded));
  await bench.becomes(`${what}: the finalizers`, guarded, [true, true, true], "late");
  // Of what has no finalizers, only the repair of an edit shows that the generator has found the sources again.
  if (bench.sample.kind.isNeverWritten !== true) return;
  for (const name of names) await bench.patchProtector({ spec: { minAvailable: 9 } }, name);
  await bench.becomes(`${what}, repaired`, () => bench.floors(names), [floor, floor, floor], "late");
}

/** Few objects are left for the next case, so that few Events tell of them: generators send one a second. */
async function areDeleted(bench: Bench): Promise<void> {
  for (const { metadata } of await bench.list(bench.sample.kind.resource)) {
    // One that was deleted before may go any moment.
    if (metadata.deletionTimestamp === undefined) await bench.delete(metadata.name);
  }
  const floors = () => bench.floors(names);
  await bench.becomes("the floors of deleted sources", floors, [undefined, undefined, undefined], "late");
}

async function isProtectedDeployment(bench: Bench): Promise<void> {
  await bench.createDeployment("other");
  const { floor } = sampleOf("deployments.apps");
  await bench.becomes("the floor of a Deployment", () => bench.deploymentFloor("other"), floor);
}

export const crdCases: readonly ContractCase[] = [
  {
    name: "while its CRD is missing other kinds are worked for, and it is as soon as the CRD is there",
    isAlone: true,
    async play(bench) {
      assert.ok(!(await bench.hasCrd()));
      await isProtectedDeployment(bench);
      await isServed(bench);
      await areDeleted(bench);
    },
  },
  {
    name: "one object that a person deletes is let go as ever",
    isAlone: true,
    async play(bench) {
      await isServed(bench);
      await bench.delete("one");
      const { floor } = bench.sample;
      await bench.becomes("the floors", () => bench.floors(names), [undefined, floor, floor], "late");
      await areDeleted(bench);
    },
  },
  {
    name: "a CRD that is gone with its objects drops nothing, also when the generator starts then",
    isAlone: true,
    async play(bench) {
      const { floor } = bench.sample;
      await isServed(bench);
      await bench.removeCrd();
      const floors = () => bench.floors(names);
      await bench.stays("the floors without the CRD", floors, [floor, floor, floor]);
      await bench.target.whileAway(async () => {});
      await bench.stays("the floors when the generator started without it", floors, [floor, floor, floor]);
      await bench.installCrd();
      await bench.createAll(names);
      await areProtected(bench, "the floors when the CRD is back");
      await areDeleted(bench);
    },
  },
  {
    name: "a CRD that is being deleted releases nothing, however few its objects are, until approved",
    isAlone: true,
    async play(bench) {
      const { floor, kind } = bench.sample;
      await isServed(bench);
      await bench.deleteCrd();
      const floors = () => bench.floors(names);
      // Nothing keeps what is never written: it goes at once. While its kind is not served nothing is concluded.
      if (kind.isNeverWritten === true)
        return await bench.stays("the floors without the CRD", floors, [floor, floor, floor]);
      const terminating = async () => {
        const sources = await Promise.all(names.map(bench.source));
        return sources.map((one) => one?.metadata.deletionTimestamp !== undefined && hasFinalizer(one));
      };
      await bench.becomes("sources that are being deleted", terminating, [true, true, true], "late");
      const text = new RegExp(`${kind.kind} \\w+ asks to release .* its kind is being deleted`);
      await bench.becomes("people are told", () => bench.isTold(text), true, "late");
      await bench.stays("the floors while it is being deleted", floors, [floor, floor, floor]);
      const cause = `kind/${kind.kind}.${kind.resource.group}`;
      const isLatched = async () => JSON.stringify(await bench.state()).includes(cause);
      await bench.becomes(`the generator's ConfigMap names ${cause}`, isLatched, true, "late");
      await isProtectedDeployment(bench);
      await bench.delete("other", sampleOf("deployments.apps").kind.resource);
      await bench.becomes("the floor of a Deployment that is deleted", () => bench.deploymentFloor("other"), undefined);
      await bench.target.inTurn(async () => {
        await bench.approve(cause);
        await bench.becomes("the floors after the approval", floors, [undefined, undefined, undefined], "late");
      });
      await bench.becomes("the CRD is there", bench.hasCrd, false, "late");
    },
  },
];
