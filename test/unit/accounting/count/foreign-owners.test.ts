import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  anyOwnerPrefixes,
  areSame,
  foreignIn,
  foreignKinds,
  ForeignOwners,
  isForeign,
  neverReplicas,
  OwnPods,
} from "../../../../src/accounting/count/foreign-owners.ts";
import { annotations } from "../../../../src/api/v1alpha1/names.ts";
import { scaledPrefix } from "../../../../src/sources/scaled-kind.ts";
import { sourceKinds } from "../../../../src/sources/index.ts";
import { at } from "../../../support/moment.ts";
import { counts, pod, protector } from "../samples.ts";

const windowMs = 75_000;
const ofJob = pod("j", { controllerKind: "Job.batch" });
const leaving = (...countedOwners: readonly string[]) => counts(3, { countedOwners });

describe("a pod is foreign", () => {
  test("when the counts of its cell leave out its controller's kind, and the spec wants that", () => {
    const spec = { foreignOwners: ["Job.batch", "Node"] };
    assert.equal(isForeign(ofJob, leaving("Job.batch"), spec), true);
    assert.equal(isForeign(ofJob, leaving("Node"), spec), false, "its kind is counted there");
    assert.equal(isForeign(ofJob, counts(3), spec), false, "counts of an earlier release say nothing");
    assert.equal(isForeign(ofJob, undefined, spec), false);
    assert.equal(isForeign(ofJob, leaving("Job.batch"), {}), false, "the list was taken away since");
    assert.deepEqual(foreignIn(leaving("Job.batch", "A"), spec), ["Job.batch"]);
  });

  test("never without a controller: orphans are where the guard is needed", () => {
    const spec = { foreignOwners: ["Job.batch"] };
    assert.equal(isForeign(pod("bare"), leaving("Job.batch"), spec), false);
  });
});

describe("pods that are selected", () => {
  const parted = (kinds: readonly string[], foreign: readonly string[], ...pods: readonly ReturnType<typeof pod>[]) => {
    const own = new OwnPods(new Set(kinds), new Set(foreign));
    return { own, uids: Array.from(own.among(pods), ({ uid }) => uid) };
  };
  const bare = pod("bare");
  const ofSet = pod("s", { controllerKind: "ReplicaSet.apps" });

  test("count but for those of kinds that are left out", () => {
    const { own, uids } = parted(neverReplicas, neverReplicas, bare, ofSet, ofJob);
    assert.deepEqual(uids, ["bare", "s"]);
    assert.deepEqual([own.foreignReplicas, own.countedOwners(undefined)], [1, ["Job.batch"]]);
  });

  test("are told as those of other owners, where they still count", () => {
    const { own, uids } = parted([], neverReplicas, ofSet, ofJob);
    assert.deepEqual(uids, ["s", "j"]);
    assert.deepEqual([own.foreignReplicas, own.countedOwners(undefined)], [1, undefined]);
  });

  test("are nobody's when they have ended or are about to", () => {
    const ended = pod("e", { controllerKind: "Job.batch", isTerminal: true });
    const ending = pod("t", { controllerKind: "Job.batch", isTerminating: true });
    const { own } = parted(neverReplicas, neverReplicas, ended, ending);
    assert.deepEqual([own.foreignReplicas, own.countedOwners(undefined)], [undefined, undefined]);
  });

  test("a kind that was left out is so when its last pod is gone: the next may be let go at once", () => {
    const { own } = parted(neverReplicas, neverReplicas, ofSet);
    assert.deepEqual(own.countedOwners(leaving("Job.batch", "Gone.example.com")), ["Job.batch"]);
    assert.deepEqual(parted([], [], ofSet).own.countedOwners(leaving("Job.batch")), [], "and it is said that none is");
  });

  test("people are shown what the spec names, or what cannot be a generated one's", () => {
    const object = protector(2, []);
    const generated = { ...object, metadata: { ...object.metadata, annotations: { [annotations.generated]: "true" } } };
    assert.deepEqual([...foreignKinds(object)], []);
    assert.deepEqual([...foreignKinds(generated)], neverReplicas);
    assert.deepEqual([...foreignKinds({ ...generated, spec: { ...object.spec, foreignOwners: [] } })], []);
  });

  test("of budgets and of kinds by their scale people are shown nothing: their pods may be anybody's", () => {
    const prefixes = sourceKinds.flatMap(({ prefix, hasAnyOwner }) => (hasAnyOwner === true ? [prefix] : []));
    assert.deepEqual(anyOwnerPrefixes.toSorted(), [...prefixes, scaledPrefix].toSorted());
    const object = protector(2, []);
    const metadata = { ...object.metadata, name: "scale.x", annotations: { [annotations.generated]: "true" } };
    assert.deepEqual([...foreignKinds({ ...object, metadata })], []);
  });
});

describe("the kinds that counts leave out", () => {
  const seen = (...states: readonly (readonly [number, readonly string[]])[]): ForeignOwners => {
    const owners = new ForeignOwners();
    for (const [index, [generation, foreignOwners]] of states.entries())
      owners.saw(generation, { foreignOwners }, at(1_000 * index));
    return owners;
  };
  const over = (owners: ForeignOwners, recorded = counts(3), barrierSentAtMs = 0) => {
    const { kinds, untilMs } = owners.over(recorded, at(barrierSentAtMs), windowMs);
    return [[...kinds].sort(), untilMs];
  };

  test("are those of the spec, at once", () => {
    assert.deepEqual(over(seen([1, []], [2, ["A"]])), [["A"], undefined]);
    assert.deepEqual(over(seen([1, ["A"]]), leaving("A")), [["A"], undefined]);
  });

  test("are left out on for a settle window and a barrier after the spec has ceased to name them", () => {
    const owners = seen([1, ["A"]], [2, []]);
    assert.deepEqual(over(owners, leaving("A"), 75_999), [["A"], 76_000]);
    assert.deepEqual(over(owners, leaving("A"), 76_000), [["A"], 76_000], "the barrier is sent after that");
    assert.deepEqual(over(owners, leaving("A"), 76_001), [[], undefined]);
  });

  test("of two lists, both are left out meanwhile", () => {
    assert.deepEqual(over(seen([1, ["A"]], [2, ["B"]]), leaving("A")), [["A", "B"], 76_000]);
  });

  test("other edits do not begin the wait anew, but one that nobody saw may have named it again", () => {
    assert.deepEqual(over(seen([1, []], [2, []], [2, []]), leaving("A"), 75_001), [[], undefined]);
    assert.deepEqual(over(seen([1, []], [3, []]), leaving("A"), 75_001), [["A"], 76_000]);
    assert.deepEqual(over(seen([1, []], [2, ["A"]], [3, []]), leaving("A"), 76_001), [["A"], 77_000]);
  });

  test("a process that has just started waits as well", () => {
    assert.deepEqual(over(seen([7, []]), leaving("A"), 75_000), [["A"], 75_000]);
  });
});

test("lists name the same kinds in any order, and none is no list", () => {
  assert.equal(areSame(["A", "B"], ["B", "A"]), true);
  assert.equal(areSame(["A"], ["B"]), false);
  assert.equal(areSame(undefined, []), true);
});
