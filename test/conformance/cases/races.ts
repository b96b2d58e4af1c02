/** Several writers at once: who wins, and that nothing is lost. */
import assert from "node:assert/strict";
import { bodies, cellStatus } from "../bodies.ts";
import { theme } from "../case.ts";
import { refused } from "../expect.ts";
import { type Answer } from "../target.ts";

/** The codes of answers to requests that were sent at once, sorted. */
async function codesOf(requests: readonly Promise<Answer>[]): Promise<readonly number[]> {
  return (await Promise.all(requests)).map(({ code }) => code).sort((a, b) => a - b);
}

const conflicts = (count: number, code: number): readonly number[] => Array.from({ length: count }, () => code);

export const raceCases = [
  ...theme("update", {
    "of two at the same version exactly one wins": async (t) => {
      const { configMaps } = await t.space();
      const created = await configMaps.create(bodies.configMap("a"));
      const writes = ["1", "2", "3", "4"].map((k) => configMaps.put("a", { ...created, data: { k } }));
      assert.deepEqual(await codesOf(writes), [200, ...conflicts(3, 409)]);
    },
  }),
  ...theme("merge patch", {
    "of eight writers at once loses none": async (t) => {
      const { configMaps } = await t.space();
      await configMaps.create(bodies.configMap("a"));
      const keys = ["a", "b", "c", "d", "e", "f", "g", "h"];
      // The server itself repeats a patch without a version, five times at most.
      const send = async (key: string): Promise<void> => {
        for (let attempt = 0; attempt < 10; attempt++) {
          const answer = await configMaps.merge("a", { data: { [key]: "1" } });
          if (answer.code === 200) return;
          refused(answer, 409, "Conflict", /the object has been modified/);
        }
        throw new Error(`${key} never got through`);
      };
      await Promise.all(keys.map(send));
      assert.deepEqual(Object.keys((await configMaps.read("a")).data ?? {}), keys);
    },
  }),
  ...theme("status of a custom resource", {
    "of eight writers at once lets one win at each version": async (t) => {
      const protectors = (await t.space()).of("podprotectors");
      const created = await protectors.create(bodies.podProtector("a"));
      const writes = Array.from({ length: 8 }, (_, index) =>
        protectors.put("a/status", { ...created, status: cellStatus(`cell-${index}`) }),
      );
      assert.deepEqual(await codesOf(writes), [200, ...conflicts(7, 409)]);
    },
  }),
  ...theme("delete", {
    "of eight callers at once succeeds for one": async (t) => {
      const { configMaps } = await t.space();
      await configMaps.create(bodies.configMap("a"));
      const deletions = Array.from({ length: 8 }, () => configMaps.delete("a"));
      assert.deepEqual(await codesOf(deletions), [200, ...conflicts(7, 404)]);
    },
  }),
  ...theme("Lease", {
    "is taken by one of two candidates that saw the same version": async (t) => {
      const leases = (await t.space()).of("leases");
      const created = await leases.create(bodies.lease("a"));
      const renewTime = "2026-01-01T00:00:00.123456Z";
      const takes = ["x", "y"].map((holderIdentity) =>
        leases.put("a", { ...created, spec: { holderIdentity, renewTime } }),
      );
      assert.deepEqual(await codesOf(takes), [200, 409]);
    },
  }),
];
