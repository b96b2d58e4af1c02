import assert from "node:assert/strict";
import { test } from "node:test";
import { finalizer, sourceLabels } from "../../../../src/api/v1alpha1/names.ts";
import { type Verdict } from "../../../../src/accounting/reserve/reservation.ts";
import { adviceOn } from "../../../../src/commands/explain/advice.ts";
import { type Standing } from "../../../../src/commands/fleet/standing.ts";

const cells = [{ cellID: "w1" }, { cellID: "w2", silentForMs: 240_000 }];

function standing(kind: string | undefined, ...conditions: readonly string[]): Standing {
  const source = { [sourceLabels.kind]: kind, [sourceLabels.group]: "apps", [sourceLabels.name]: "web" };
  const labels = kind === undefined ? {} : source;
  const metadata = { name: "own", namespace: "shop", labels, finalizers: kind === undefined ? [] : [finalizer] };
  const status = { conditions: conditions.map((type) => ({ type, status: "True" })) };
  return {
    namespace: "shop",
    name: "own",
    available: 3,
    promised: 1,
    protector: { metadata, spec: {}, status },
    figures: { cells },
  } as unknown as Standing;
}

const textOf = (of: Standing, verdict: object, unheard: readonly string[] = []): string =>
  adviceOn(of, { verdict: verdict as Verdict, unheard }, undefined, "podseidon")
    .map(({ text, command = "" }) => `${text}|${command}`)
    .join("\n");

test("what is admitted needs no advice", () => {
  assert.equal(textOf(standing("Deployment"), { kind: "admitted" }), "");
});

test("a generated floor is lowered on its workload, which the generator does not undo", () => {
  const text = textOf(standing("Deployment"), { kind: "rejected" });
  assert.match(
    text,
    /annotate deployment web podseidon\.kubewharf\.io\/min-available=1 podseidon\.\S+\/max-unavailable- --over/,
  );
  assert.doesNotMatch(text, /edit podprotector/);
  const undrainable = textOf(standing("Deployment", "Undrainable"), { kind: "rejected" });
  assert.match(undrainable, /^replace its pods one after the other\|kubectl -n shop rollout restart deployment web\n/);
  assert.doesNotMatch(undrainable, /wait/);
  assert.doesNotMatch(textOf(standing("StatefulSet", "Undrainable"), { kind: "rejected" }), /rollout restart/);
});

test("a hand-made floor is lowered in the PodProtector, and a dangling one released", () => {
  assert.match(textOf(standing(undefined), { kind: "rejected" }), /kubectl -n shop edit podprotector own/);
  assert.match(textOf(standing("Deployment", "Dangling"), { kind: "rejected" }), /\|podseidon release shop\/own$/);
});

test("nobody is told to wait a moment for a cell that is not heard", () => {
  const text = textOf(standing("Deployment"), { kind: "retry", cause: "unconfirmed" }, ["w1"]);
  assert.equal(
    text,
    "look whether the aggregator of cell w1 runs: this waits until it is heard again|podseidon cells list",
  );
});

test("silent cells are looked after, kept or retired", () => {
  for (const verdict of [
    { kind: "cell-silent" },
    { kind: "rejected", missed: ["w2"] },
    { kind: "retry", missed: ["w2"] },
    { kind: "counts-pending", awaited: ["w2"], silentForMs: 240_000 },
  ]) {
    const text = textOf(standing("Deployment"), verdict);
    assert.match(text, /^look after the aggregator of cell w2: /);
    assert.match(text, /\|podseidon cells keep w2 --for 2h\n.*\|podseidon cells forget w2$/);
  }
});

test("what is promised is waited for, and so are counts", () => {
  assert.match(textOf(standing("Deployment"), { kind: "retry", cause: "unconfirmed" }), /^wait: what is promised/);
  const pending = textOf(standing("Deployment"), { kind: "counts-pending", awaited: ["w1"] });
  assert.match(pending, /^wait for the aggregator of cell w1, .*\|podseidon cells list$/);
});

test("a workload is named as kubectl takes it, and hostile names mean nothing to a shell", () => {
  const of = standing("Deployment");
  const custom = { ...of.protector.metadata, labels: { ...of.protector.metadata.labels } } as {
    labels: Record<string, string>;
  };
  custom.labels[sourceLabels.group] = "apps.kruise.io";
  custom.labels[sourceLabels.kind] = "CloneSet";
  custom.labels[sourceLabels.name] = "web; reboot";
  const protector = { ...of.protector, metadata: custom } as unknown as Standing["protector"];
  const text = textOf({ ...of, protector }, { kind: "rejected" });
  assert.match(text, /annotate cloneset\.apps\.kruise\.io 'web; reboot' podseidon/);
  const silent = { ...of, figures: { cells: [{ cellID: "$(reboot)", silentForMs: 1 }] } } as unknown as Standing;
  assert.match(textOf(silent, { kind: "cell-silent" }), /cells keep '\$\(reboot\)' --for 2h/);
});
