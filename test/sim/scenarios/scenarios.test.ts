/**
 * Every sequence that broke an earlier draft of the accounting (docs/accounting.md), played on the simulation: with the
 * rule that closes it, it holds; with that rule switched off in a copy of the product, it breaks. Sequences of features
 * that do not exist yet are missing: tombstones, shards.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { mutations } from "../mutations/catalog.ts";
import { type Mutation } from "../mutations/mutation.ts";
import type * as Player from "./player.ts";
import { play, type Played } from "./player.ts";
import { rules } from "./rules.ts";
import { rulesOfVanishing } from "./rules-of-vanishing.ts";
import { type Breakage, parseScenario, readScenarios, type Scenario } from "./scenario-file.ts";
import { Copies } from "./without-rule.ts";

const copies = new Copies();
const algorithmPrefix = "algorithm=";
/** Of the story of a failure. */
const linesShown = 40;

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

function told({ findings, recent }: Played): string {
  return [...findings, "the last lines:", ...recent.slice(-linesShown)].join("\n");
}

for (const scenario of readScenarios()) {
  test(`${scenario.name} holds`, async () => {
    const played = await play(scenario, "observed");
    assert.deepEqual(played.findings, [], told(played));
  });

  for (const breakage of scenario.breakages) {
    const { without, breaks } = breakage;
    test(`${scenario.name} breaks without ${without.join(" and ")}`, async () => {
      const played = await playWithout(scenario, breakage);
      assert(
        played.findings.some((finding) => finding.includes(breaks)),
        `not found: ${breaks}\n${told(played)}`,
      );
    });
  }
}

test("a mistake in a scenario is named with its file and line", async () => {
  const header = "# Why.\nwithout: no-pod-fence\nbreaks: left is\n";
  const mistakes: Readonly<Record<string, RegExp>> = {
    "world pods=x min=1 colour=red": /^Error: 99\.txt:4: what is "colour=red"\?/,
    "delete x -> allowed": /^Error: 99\.txt:4: begin with "world", not "delete"/,
    "world pods=x min=1\nremove x": /99\.txt:5: there is no command "remove"/,
    "world pods=x min=1\nadvance long": /99\.txt:5: long is no duration/,
    "world pods=x min=1\nexpect left 2": /99\.txt:5: left is 1, not 2/,
    "world pods=x min=1\ndelete x -> allowed": /99\.txt:5: delete x -> refused: .* not allowed/,
  };
  for (const [text, message] of Object.entries(mistakes)) {
    const played = play(parseScenario("99.txt", header + text), "observed");
    const said = await played.then(({ findings }) => findings.join("\n"), String);
    assert.match(said, message);
  }
  assert.throws(() => parseScenario("99.txt", "world pods=x"), /^Error: 99\.txt:1: begin with a comment/);
  assert.throws(() => parseScenario("99.txt", "# Why.\nworld pods=x"), /99\.txt: "without:" and "breaks:" are missing/);
});

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
