import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { deployments } from "../../../src/sources/deployment.ts";
import { type Floor, type FloorRule, floorFrom, type IntOrPercent, podsOf } from "../../../src/sources/floor.ts";

/** As Kubernetes reads them from a Deployment, whose arithmetic has every part of the shared one. */
interface Fields {
  readonly replicas?: number | undefined;
  readonly maxUnavailable?: IntOrPercent;
  readonly maxSurge?: IntOrPercent;
  readonly strategy?: string;
}

function floorOf({ replicas, maxUnavailable, maxSurge, strategy }: Fields, rule: FloorRule): Floor {
  const rollingUpdate = { maxUnavailable, maxSurge };
  const spec = deployments.readSpec({ replicas, selector: {}, strategy: { type: strategy, rollingUpdate } });
  assert.ok(spec !== undefined);
  return spec.floorBy(rule);
}
const atLeastOne: FloorRule = { percentRounding: "at-least-one", singleReplica: "drainable" };
const up: FloorRule = { ...atLeastOne, percentRounding: "up" };
const down: FloorRule = { ...atLeastOne, percentRounding: "down" };
const minAvailable = (changes: Fields, rule = atLeastOne): number =>
  floorOf({ replicas: 10, ...changes }, rule).minAvailable;

/** "undrainable SingleReplica 1/1": kind, reason and floor of the replicas. */
function stateOf(changes: Fields, rule = atLeastOne): string {
  const floor = floorOf({ replicas: 10, ...changes }, rule);
  const reason = floor.kind === "drainable" ? "" : `${floor.reason} `;
  return `${floor.kind} ${reason}${floor.minAvailable}/${floor.replicas}`;
}

test("the tables of docs/generator.md and docs/install.md are what the code computes", () => {
  const rows = [...readFileSync("docs/generator.md", "utf8").matchAll(/^\| (\d+) \| (\d+) \| (\d+) \| (\d+) \|$/gm)];
  assert.deepEqual(
    rows.slice(0, 20).map(([, replicas]) => Number(replicas)),
    Array.from({ length: 20 }, (_, index) => index + 1),
  );
  for (const [row, ...cells] of rows) {
    const [replicas = -1, ...floors] = cells.map(Number);
    assert.deepEqual(
      floors,
      [atLeastOne, up, down].map((rule) => minAvailable({ replicas }, rule)),
      row,
    );
  }
  const install = readFileSync("docs/install.md", "utf8");
  const short = (title: string): number[] => {
    const [, cells = ""] = new RegExp(`^\\| ${title} \\|([\\d |]+)\\|$`, "m").exec(install) ?? [];
    return cells.split("|").map(Number);
  };
  assert.ok(short("replicas").length >= 6);
  assert.deepEqual(
    short("must stay"),
    short("replicas").map((replicas) => minAvailable({ replicas })),
  );
});

test("a percentage above zero lets at least one pod go, and otherwise rounds down, for all small Deployments", () => {
  for (let replicas = 0; replicas <= 40; replicas++) {
    for (let percent = 1; percent <= 120; percent++) {
      for (const maxSurge of [0, "1%", "25%", 3]) {
        // In integers, without any fraction to round.
        const whole = (percent * replicas - ((percent * replicas) % 100)) / 100;
        const expected = Math.max(0, replicas - Math.max(1, whole));
        const given = { replicas, maxUnavailable: `${percent}%`, maxSurge };
        assert.equal(minAvailable(given), expected, JSON.stringify(given));
      }
    }
  }
});

test("with the rounding down the floor is what Kubernetes' ResolveFenceposts leaves, for all small Deployments", () => {
  for (let replicas = 0; replicas <= 40; replicas++) {
    for (let unavailable = 0; unavailable <= 100; unavailable++) {
      for (const surge of [0, 1, 25, 100]) {
        const whole = (unavailable * replicas - ((unavailable * replicas) % 100)) / 100;
        const surges = surge * replicas > 0;
        const expected = Math.max(0, replicas - (whole === 0 && !surges ? 1 : whole));
        const given = { replicas, maxUnavailable: `${unavailable}%`, maxSurge: `${surge}%` };
        assert.equal(minAvailable(given, down), expected, JSON.stringify(given));
      }
    }
  }
});

test("with the rounding up the floor is upstream's, for all small Deployments", () => {
  for (let replicas = 0; replicas <= 40; replicas++) {
    for (let percent = 1; percent <= 120; percent++) {
      const rest = (percent * replicas) % 100;
      const whole = (percent * replicas - rest) / 100 + (rest > 0 ? 1 : 0);
      const given = { replicas, maxUnavailable: `${percent}%` };
      assert.equal(minAvailable(given, up), Math.max(0, replicas - whole), JSON.stringify(given));
    }
  }
});

test("no rule keeps more pods than a rolling update leaves, or the update would stop for ever", () => {
  for (const percentRounding of ["at-least-one", "up", "down"] as const) {
    for (const singleReplica of ["drainable", "protected"] as const) {
      for (let replicas = 0; replicas <= 12; replicas++) {
        for (const maxUnavailable of ["0%", "1%", "25%", "99%", "100%", 0, 1, 5]) {
          const given = { replicas, maxUnavailable, maxSurge: 0 };
          // Without surge pods an update takes at least one.
          const most = Math.max(0, replicas - 1);
          assert.ok(minAvailable(given, { percentRounding, singleReplica }) <= most, JSON.stringify(given));
        }
      }
    }
  }
});

test("an absolute maxUnavailable is taken at its word, also 0", () => {
  assert.equal(stateOf({ maxUnavailable: 3 }), "drainable 7/10");
  assert.equal(stateOf({ maxUnavailable: 0 }), "undrainable MaxUnavailableZero 10/10");
  assert.equal(stateOf({ maxUnavailable: "0%" }), "undrainable MaxUnavailableZero 10/10");
  assert.equal(stateOf({ maxUnavailable: 0, maxSurge: 0 }), "drainable 9/10");
  assert.equal(stateOf({ maxUnavailable: 10 }), "unprotected MaxUnavailableCoversReplicas 0/10");
  assert.equal(stateOf({ maxUnavailable: 20 }), "unprotected MaxUnavailableCoversReplicas 0/10");
  assert.equal(stateOf({ maxUnavailable: "300%" }), "unprotected MaxUnavailableCoversReplicas 0/10");
  assert.equal(stateOf({ replicas: 1, maxUnavailable: 0 }), "undrainable MaxUnavailableZero 1/1");
  assert.equal(stateOf({ replicas: 1, maxUnavailable: 1 }), "unprotected MaxUnavailableCoversReplicas 0/1");
});

test("one replica with a percentage is not protected, unless the flag protects it", () => {
  const protects: FloorRule = { ...atLeastOne, singleReplica: "protected" };
  for (const replicas of [1, undefined]) {
    assert.equal(stateOf({ replicas }), "unprotected SingleReplica 0/1");
    assert.equal(stateOf({ replicas }, protects), "undrainable SingleReplica 1/1");
    assert.equal(stateOf({ replicas }, { ...protects, percentRounding: "up" }), "undrainable SingleReplica 1/1");
  }
  // The flag speaks for one replica with a percentage, and for nothing else.
  assert.equal(stateOf({ replicas: 2 }, protects), "drainable 1/2");
  assert.equal(stateOf({ replicas: 1, maxUnavailable: 1 }, protects), "unprotected MaxUnavailableCoversReplicas 0/1");
  assert.equal(
    stateOf({ replicas: 1, maxUnavailable: "100%" }, protects),
    "unprotected MaxUnavailableCoversReplicas 0/1",
  );
  assert.equal(stateOf({ replicas: 1, maxSurge: 0 }, protects), "unprotected SingleReplica 0/1");
  assert.equal(stateOf({ replicas: 1, strategy: "Recreate" }, protects), "unprotected Recreate 0/1");
});

test("rounding down leaves small Deployments undrainable, and says that rounding is the reason", () => {
  assert.equal(stateOf({ replicas: 1 }, down), "undrainable RoundedDownToZero 1/1");
  assert.equal(stateOf({ replicas: 3 }, down), "undrainable RoundedDownToZero 3/3");
  assert.equal(stateOf({ replicas: 4 }, down), "drainable 3/4");
});

test("the strategy Recreate has no floor, and without replicas nothing is to be said", () => {
  assert.equal(stateOf({ strategy: "Recreate" }), "unprotected Recreate 0/10");
  assert.equal(stateOf({ strategy: "Recreate", replicas: 0 }), "drainable 0/0");
  assert.equal(stateOf({ replicas: 0, maxUnavailable: 0 }), "drainable 0/0");
  assert.equal(stateOf({ replicas: -5 }), "drainable 0/0");
});

test("a maxUnavailable that is neither a number nor a percentage protects most", () => {
  for (const maxUnavailable of ["", "abc", "25", "-1%", "2.5%"])
    assert.equal(stateOf({ maxUnavailable }), "undrainable MaxUnavailableZero 10/10", maxUnavailable);
});

test("an update that takes more than the owner lends lowers the floor, and one that takes none does not", () => {
  const minAvailableOf = (takenByUpdate: number): number =>
    floorFrom({ replicas: 10, maxUnavailable: 1, takenByUpdate }, atLeastOne).minAvailable;
  assert.deepEqual([minAvailableOf(0), minAvailableOf(1), minAvailableOf(4), minAvailableOf(40)], [9, 9, 6, 0]);
});

test("a value means a number of pods, by the rounding that is asked for", () => {
  assert.deepEqual(
    [
      podsOf(3, 10, Math.floor),
      podsOf("25%", 10, Math.floor),
      podsOf("25%", 10, Math.ceil),
      podsOf("x", 10, Math.ceil),
    ],
    [3, 2, 3, 0],
  );
});
