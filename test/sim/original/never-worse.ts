/** What is asserted of a comparison in worlds whose watches lag. */
import assert from "node:assert/strict";
import { alone, type Comparison, exactFleets } from "./mixed-fleets.ts";

/**
 * `least`: so many pods short is the original alone at least, or the worlds show nothing. `spared`: fleets that
 * are not compared.
 */
export function assertNeverWorse(short: Comparison["short"], least: number, spared: readonly string[] = []): void {
  const original = short.get(alone) ?? 0;
  assert.ok(original >= least, `the original alone is short of ${original} pods only`);
  for (const [name, pods] of short)
    if (!spared.includes(name)) assert.ok(pods <= original, `${name}: short of ${pods} pods, not of ${original}`);
  for (const name of exactFleets) assert.equal(short.get(name), 0, name);
}
