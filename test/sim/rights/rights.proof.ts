/**
 * The rights of the accounts in manifests/, in simulated worlds: they are enough, and each of them is needed.
 * `make e2e` has the same accounts on real API servers, with the admission policies that narrow the rights.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { grantedRights, rightFor, rightsToFurtherSources, type RightText } from "./accounts.ts";
import { furtherScenarios, shownElsewhere, takenRights } from "./rights-table.ts";
import { play } from "../scenarios/player.ts";
import { parseScenario, readScenarios, type Scenario } from "../scenarios/scenario-file.ts";

const scenarios = new Map<string, Scenario>([
  ...readScenarios().map((one) => [one.name, one] as const),
  ...Object.entries(furtherScenarios).map(([name, text]) => [name, parseScenario(name, text)] as const),
]);

interface Seen {
  /** What does not hold, and what the roles say at the levels warn and error. */
  readonly lines: readonly string[];
  readonly asked: ReadonlySet<RightText>;
}

/** Plays the scenario; requests for which `isRefused` holds are answered with 403. */
async function playWith(name: string, isRefused: (right: RightText) => boolean): Promise<Seen> {
  const scenario = scenarios.get(name);
  assert.ok(scenario !== undefined, name);
  const lines: string[] = [];
  const asked = new Set<RightText>();
  const played = play(scenario, "observed", ({ world }) => {
    const { kernel } = world;
    const note = kernel.note.bind(kernel);
    kernel.note = (line) => {
      if (/ (warn|error): /.test(line)) lines.push(line);
      note(line);
    };
    for (const { server, isCore } of [
      ...world.cores.map(({ server }) => ({ server, isCore: true })),
      ...world.cells.map(({ server }) => ({ server, isCore: false })),
    ]) {
      server.conditions.lasting.push((request) => {
        const right = rightFor(request, isCore);
        if (right === undefined) return undefined;
        asked.add(right);
        return isRefused(right) ? { type: "forbidden" } : undefined;
      });
    }
  });
  // A world that does not come up is a finding, too.
  const findings = await played.then(
    (result) => result.findings,
    (error: unknown) => [String(error)],
  );
  return { lines: [...findings, ...lines], asked };
}

test("the roles ask for all that the manifests allow them, and for no more", async () => {
  const granted = new Set([...grantedRights(), ...rightsToFurtherSources()]);
  const used = new Set<RightText>();
  for (const name of new Set(takenRights.map(({ scenario }) => scenario))) {
    const { asked } = await playWith(name, () => false);
    const excess = [...asked].filter((right) => !granted.has(right));
    assert.deepEqual(excess, [], name);
    for (const right of asked) used.add(right);
  }
  const unused = grantedRights().filter((right) => !used.has(right) && !shownElsewhere.includes(right));
  assert.deepEqual(unused, [], "rights that nothing needs");
});

for (const { right, scenario, seen } of takenRights) {
  test(`without the right "${right}" it shows in ${scenario}, and with it does not`, async () => {
    const without = await playWith(scenario, (asked) => asked === right);
    assert.ok(without.asked.has(right), "nobody asked for it");
    assert.ok(
      without.lines.some((line) => seen.test(line)),
      without.lines.slice(0, 20).join("\n"),
    );
    const withAll = await playWith(scenario, () => false);
    const anyway = withAll.lines.filter((line) => seen.test(line));
    assert.deepEqual(anyway, []);
  });
}
