import assert from "node:assert/strict";
import { test } from "node:test";
import { digestOfUID, packDigests } from "../../../../src/accounting/history/uid-digest.ts";
import { silenceTimes } from "../../../../src/accounting/silence/silence-times.ts";
import { type CellStatus, type PodProtector } from "../../../../src/api/v1alpha1/pod-protector.ts";
import { UnmatchedProtectors } from "../../../../src/generator/conditions/unmatched-protectors.ts";
import { at } from "../../../support/moment.ts";
import { cell, counts } from "../../accounting/samples.ts";
import { lease, LeaseLists } from "../../accounting/silence/lease-lists.ts";

type Leases = Parameters<LeaseLists["list"]>[1];

interface Changes {
  readonly minAvailable?: number;
  readonly generation?: number;
  readonly cells?: readonly CellStatus[];
}

function protector({ minAvailable = 2, generation = 1, cells }: Changes = {}): PodProtector {
  const totalReplicas = cells?.reduce((sum, { aggregation }) => sum + (aggregation?.totalReplicas ?? 0), 0) ?? 0;
  const summary = { totalReplicas, aggregatedAvailableReplicas: 0, estimatedAvailableReplicas: 0 };
  return {
    apiVersion: "podseidon.kubewharf.io/v1alpha1",
    kind: "PodProtector",
    metadata: { namespace: "default", name: "web", uid: "u", resourceVersion: "1", generation },
    spec: { minAvailable, minReadySeconds: 0, selector: {} },
    ...(cells === undefined ? {} : { status: { cells, summary } }),
  };
}

/** An observer that lists every 15 s, and looks after each LIST. */
class Looking {
  readonly lists: LeaseLists;
  readonly unmatched = new UnmatchedProtectors({
    times: silenceTimes(180_000),
    clock: { monotonicMs: () => at(this.lists.seconds * 1_000) },
  });

  constructor(policy: "zero" | "keep" = "zero") {
    this.lists = new LeaseLists({ policy });
  }

  /** What was found with each LIST up to `seconds`. `beats`: cells that beat each time. */
  until(
    seconds: number,
    beats: readonly string[],
    object = protector(),
    others: () => Leases = () => [],
  ): ReadonlySet<string> {
    const all = new Set<string>();
    while (this.lists.seconds < seconds) {
      const beat = `${this.lists.seconds}`;
      this.lists.list(this.lists.seconds + 15, [...beats.map((id) => lease(id, beat)), ...others()]);
      this.unmatched.update([object], this.lists.silence.cells());
      all.add(this.look(object));
    }
    return all;
  }

  look(object = protector()): string {
    const found = this.unmatched.found(object);
    return found === undefined ? "unknown" : found === false ? "no" : found.reason;
  }
}

test("it is said when each cell has vouched for 4.5 minutes that nothing matches, and stays", () => {
  const looking = new Looking();
  assert.deepEqual(looking.until(270, ["a", "b"]), new Set(["unknown"]));
  looking.until(285, ["a", "b"]);
  assert.deepEqual(looking.until(900, ["a", "b"]), new Set(["NoPods"]));
});

test("a pod in any cell, and a floor of 0, end it at once, whatever the cells do", () => {
  const looking = new Looking();
  looking.until(300, ["a", "b"]);
  const counted = [cell(counts(0), [], "a"), cell({ ...counts(0), totalReplicas: 1 }, [], "b")];
  assert.equal(looking.look(protector({ cells: counted })), "no");
  assert.equal(looking.look(protector({ minAvailable: 0 })), "no");
  assert.equal(new Looking().look(protector({ minAvailable: 0 })), "no");
});

test("pods that come and go begin the time anew", () => {
  const looking = new Looking();
  looking.until(240, ["a"]);
  looking.until(255, ["a"], protector({ cells: [cell({ ...counts(0), totalReplicas: 1 }, [], "a")] }));
  assert.deepEqual(looking.until(525, ["a"]), new Set(["unknown"]));
  looking.until(555, ["a"]);
  assert.equal(looking.look(), "NoPods");
});

test("so does an edit of the spec, also one that the cache does not know yet", () => {
  const looking = new Looking();
  looking.until(300, ["a"]);
  const edited = protector({ generation: 2 });
  assert.equal(looking.look(edited), "unknown");
  assert.deepEqual(looking.until(570, ["a"], edited), new Set(["unknown"]));
  looking.until(600, ["a"], edited);
  assert.equal(looking.look(edited), "NoPods");
});

test("while a cell is silent, or kept although it is, nothing is known", () => {
  for (const policy of ["zero", "keep"] as const) {
    const looking = new Looking(policy);
    assert.deepEqual(
      looking.until(1_500, ["a"], protector(), () => [lease("b", "dead")]),
      new Set(["unknown"]),
    );
    looking.until(1_515, ["a", "b"]);
    assert.equal(looking.look(), "NoPods", "its first beat vouches for all of it");
  }
});

test("a cell that names the PodProtector as not counted leaves it unknown, and nobody else's", () => {
  let beat = 0;
  const naming = (uid: string) => () => [lease("b", `${(beat += 1)}`, { behind: packDigests([digestOfUID(uid)]) })];
  const behind = new Looking();
  assert.deepEqual(behind.until(900, ["a"], protector(), naming("u")), new Set(["unknown"]));
  const other = new Looking();
  other.until(900, ["a"], protector(), naming("other"));
  assert.equal(other.look(), "NoPods");
});

test("a cell in the status that has not counted, or has no Lease, leaves it unknown", () => {
  const looking = new Looking();
  looking.until(300, ["a"]);
  assert.equal(looking.look(protector({ cells: [cell(counts(0), [], "a")] })), "NoPods");
  assert.equal(looking.look(protector({ cells: [cell(undefined, [], "a")] })), "unknown");
  assert.equal(looking.look(protector({ cells: [cell(counts(0), [], "go")] })), "unknown");
});

test("without any cell that beats nothing is known; a Lease that has been gone for long is no cell", () => {
  const none = new Looking();
  assert.deepEqual(none.until(900, []), new Set(["unknown"]));
  const looking = new Looking();
  looking.until(60, ["a", "b"]);
  looking.until(900, ["a"]);
  assert.equal(looking.look(), "NoPods");
  assert.equal(looking.look(protector({ cells: [cell(counts(0), [], "b")] })), "unknown");
});

test("what is not a PodProtector any more is forgotten", () => {
  const looking = new Looking();
  looking.until(300, ["a"]);
  looking.unmatched.update([], looking.lists.silence.cells());
  assert.equal(looking.look(), "unknown");
});
