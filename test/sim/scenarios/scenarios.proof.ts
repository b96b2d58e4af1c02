/** With the rule that closes it switched off in a copy of the product, each scenario breaks. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { mutations } from "../mutations/catalog/catalog.ts";
import { type Mutation } from "../mutations/mutation.ts";
import type * as Player from "./player.ts";
import { play, type Played, story } from "./player.ts";
import { rules } from "./rules/rules.ts";
import { rulesOfVanishing } from "./rules/rules-of-vanishing.ts";
import { type Breakage, readScenarios, type Scenario } from "./scenario-file.ts";
import { Copies } from "./rules/without-rule.ts";

const copies = new Copies();
const algorithmPrefix = "algorithm=";

async function playWithout(scenario: Scenario, { without }: Breakage): Promise<Played> {
  const algorithm = without.find((name) => name.startsWith(algorithmPrefix))?.slice(algorithmPrefix.length);
  const names = without.filter((name) => !name.startsWith(algorithmPrefix));
  if (names.length === 0) return await play(scenario, algorithm ?? "observed");
  const chosen = names.map((name): Mutation => {
    const mutation = [...mutations, ...rules, ...rulesOfVanishing].find((one) => one.name === name);
    assert(mutation !== undefined, `${scenario.name}: there is no mutation ${name}`);
    return mutation;
  });
  const player = await copies.load<typeof Player>(new URL("player.ts", import.meta.url), chosen);
  return await player.play(scenario, algorithm ?? "observed");
}

for (const scenario of readScenarios()) {
  for (const breakage of scenario.breakages) {
    const { without, breaks } = breakage;
    test(`${scenario.name} breaks without ${without.join(" and ")}`, async () => {
      const played = await playWithout(scenario, breakage);
      assert(
        played.findings.some((finding) => finding.includes(breaks)),
        `not found: ${breaks}\n${story(played)}`,
      );
    });
  }
}

test("a mutation that does not fit the code is an error", async () => {
  const player = new URL("player.ts", import.meta.url);
  const mutation = {
    name: "stale",
    why: "",
    file: "accounting/settle/settlement.ts",
    find: "nobody wrote this",
    replace: "",
  };
  await assert.rejects(copies.load(player, [mutation]), /mutation stale: its text occurs 0 times/);
  const unused = { ...mutation, file: "generator/drift-that-is-nowhere.ts" };
  await assert.rejects(
    copies.load(player, [unused]),
    /mutation stale: src\/generator\/drift-that-is-nowhere.ts is not loaded/,
  );
});
