import assert from "node:assert/strict";
import { test } from "node:test";
import { SettledSources } from "../../../../src/generator/mass-changes/settled-sources.ts";
import { protectorKeyOf } from "../../../../src/generator/sources/source-plan.ts";
import { deployment } from "./samples.ts";
import { fallenOf } from "../../../../src/generator/mass-changes/fallen-workloads.ts";
import { type Member } from "../../../../src/scale/expected-replicas.ts";

const source = deployment(8);
const key = protectorKeyOf(source);

/** The namespace is in that mode by its label. */
function settledIn(mode: "off" | "shadow") {
  const by = { by: undefined };
  const switched = (namespace: string, to: string) => (namespace === "shop" && to === mode ? by : undefined);
  return { by, settled: new SettledSources({ switched }) };
}

test("a source is what it was when it last agreed, until that is forgotten", () => {
  const { settled } = settledIn("off");
  settled.set(key, source, false);
  assert.equal(settled.get(key), source);
  settled.delete(key);
  assert.equal(settled.get(key), undefined);
  settled.set(key, source, false);
  settled.clear();
  assert.equal(settled.get(key), undefined);
});

test("a release is the work of whoever has switched the namespace off, and a lower floor never is", () => {
  const { settled, by } = settledIn("off");
  const of = (to: number | "shadow" | undefined) => settled.switchedBy(key, { source, to });
  assert.deepEqual([of(undefined), of("shadow"), of(0)], [by, undefined, undefined]);
});

test("shadow is the work of whoever has switched the namespace to it, unless it is a repair", () => {
  const { settled, by } = settledIn("shadow");
  const shadowed = () => settled.switchedBy(key, { source, to: "shadow" });
  assert.equal(shadowed(), by);
  settled.set(key, source, true);
  assert.equal(shadowed(), undefined);
  settled.set(key, source, false);
  assert.equal(shadowed(), by);
  assert.equal(settled.switchedBy(key, { source, to: undefined }), undefined);
});

const resource = { group: "apps", version: "v1", resource: "deployments" };

function member(name: string, replicas: number, manager?: string, subresource?: string): Member {
  const replicasWriter = manager === undefined ? undefined : { manager, subresource, time: undefined };
  const object = { name, key: `shop/${name}`, replicasWriter };
  return {
    owner: { mapping: { resource, kind: "Deployment", isNamespaced: true, hasScale: true }, object },
    replicas,
  } as unknown as Member;
}

const asked = "selector";
const textOf = ({ owner, replicas }: Member): string => `${owner.mapping.kind} ${owner.object.name} ${replicas}`;
const before = [member("a", 10), member("b", 10), member("c", 0)];
const fallen = (members: readonly Member[], settled = before) => {
  const found = fallenOf({ asked, members }, { asked, members: settled });
  return [found.members.map(textOf), found.writer?.manager];
};

test("each workload that went to 0, or below half, counts", () => {
  assert.deepEqual(fallen([member("a", 0), member("b", 4, "helm"), member("c", 0)]), [
    ["Deployment a 0", "Deployment b 4"],
    "helm",
  ]);
});

test("one that fell a little does not count, and is blamed when nothing else fell", () => {
  assert.deepEqual(fallen([member("a", 8, "helm"), member("b", 10, "kubectl")]), [[], "helm"]);
  assert.deepEqual(fallen([member("a", 0), member("b", 8, "helm")]), [["Deployment a 0"], undefined]);
});

test("an autoscaler's step counts for nothing unless it is to 0", () => {
  assert.deepEqual(fallen([member("a", 1, "hpa", "scale"), member("b", 10)]), [[], "hpa"]);
  assert.deepEqual(fallen([member("a", 0, "hpa", "scale"), member("b", 10)]), [["Deployment a 0"], "hpa"]);
});

test("where nobody knows what was before, those at 0 may have fallen", () => {
  const members = [member("a", 0, "helm"), member("b", 1, "kubectl")];
  assert.deepEqual(fallen(members, []), [[], undefined]);
  for (const settled of [undefined, { asked: "another selector", members: before }]) {
    const found = fallenOf({ asked, members }, settled);
    assert.deepEqual([found.members.map(textOf), found.writer?.manager], [["Deployment a 0"], "helm"]);
  }
});

test("one that is not there any more has fallen to 0, and nobody knows by whom", () => {
  assert.deepEqual(fallen([member("b", 9, "hpa", "scale")]), [["Deployment a 0"], undefined]);
  assert.deepEqual(fallen([member("b", 1, "helm")]), [["Deployment b 1", "Deployment a 0"], "helm"]);
});

test("a workload that was made again under its name is the same one", () => {
  assert.deepEqual(fallen([member("a", 10), member("b", 10)]), [[], undefined]);
});

test("of several workloads at 0 nobody is presumed to have scaled, unless each was scaled before", () => {
  const scaled = [member("a", 8, "keda", "scale"), member("b", 8, "keda", "scale")];
  const both = [member("a", 0), member("b", 0)];
  const ofBoth = fallenOf({ asked, members: both }, { asked, members: scaled });
  assert.equal(ofBoth.writer?.manager, "keda");
  const one = fallenOf({ asked, members: both }, { asked, members: [scaled[0]!, member("b", 8, "helm")] });
  assert.equal(one.writer, undefined);
});
