import assert from "node:assert/strict";
import { test } from "node:test";
import { type Verdict } from "../../../../src/accounting/reserve/reservation.ts";
import { readPodRecord } from "../../../../src/api/pod.ts";
import { annotations, finalizer, sourceLabels } from "../../../../src/api/v1alpha1/names.ts";
import { type OpenClusters } from "../../../../src/commands/clusters/open.ts";
import { adviceOn } from "../../../../src/commands/explain/advice.ts";
import { isForced, judged, type Judged, relationOf, typicalPod } from "../../../../src/commands/explain/judged.ts";
import { clientOf, promisedPods } from "../../../../src/commands/explain/pod.ts";
import { readTarget, targetWords } from "../../../../src/commands/explain/target.ts";
import { explanationText, isRefused } from "../../../../src/commands/explain/text.ts";
import { listProtectors } from "../../../../src/commands/fleet/protectors.ts";
import { type Standing, standingOf } from "../../../../src/commands/fleet/standing.ts";
import { Problem } from "../../../../src/config/reading/problem.ts";
import { type KubeClient } from "../../../../src/kube/kube-client.ts";
import { type EpochMicros } from "../../../../src/util/clock.ts";
import {
  createFleet,
  createProtector,
  createRefusal,
  type Fleet,
  forbid,
  plainTerminal,
  type ProtectorFields,
} from "../support/fleet.ts";

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

test("a workload whose name is too long for a label is found by its owner reference", async () => {
  const fleet = await createFleet();
  const name = `web-${"long-".repeat(20)}name`;
  await createProtector(fleet.core, "generated", {
    cells: [{ cellID: "w1", available: 2 }],
    metadata: {
      labels: { [sourceLabels.kind]: "Deployment", [sourceLabels.name]: "web-shortened" },
      finalizers: [finalizer],
      ownerReferences: [{ apiVersion: "apps/v1", kind: "Deployment", name, uid: "1" }],
    },
  });
  await createProtector(fleet.core, "other", { cells: [{ cellID: "w1", available: 2 }] });
  const { stdout } = await fleet.run("explain", "deployment", `shop/${name}`);
  assert.match(stdout, /^PodProtector core\/shop\/generated\n/);
  assert.doesNotMatch(stdout, /other/);
});

test("an invalid PodProtector of the namespace is told, since it may be about the pod", async () => {
  const fleet = await createFleet();
  await createProtector(fleet.core, "web", { cells: [{ cellID: "w1", available: 2 }] });
  await createProtector(fleet.core, "bad", {
    cells: [
      { cellID: "w1", available: 2 },
      { cellID: "w1", available: 2 },
    ],
  });
  const { stdout } = await fleet.run("explain", "protector", "shop/web");
  assert.match(stdout, /\n {2}invalid {3}core\/bad: status: the cell "w1" is there twice; deletions of pods/);
  const { exitCode, problem } = await fleet.run("explain", "protector", "shop/bad");
  assert.equal(exitCode, 1);
  assert.match(problem ?? "", /^PodProtector shop\/bad is invalid: status: the cell "w1" is there twice$/);
});

function podOf(labels: object, own: object = {}, isReady = true) {
  const raw = {
    metadata: { name: "p", namespace: "shop", uid: "u", resourceVersion: "9", labels, annotations: own },
    status: {
      phase: "Running",
      conditions: [{ type: "Ready", status: isReady ? "True" : "False", lastTransitionTime: "2025-01-01T00:00:00Z" }],
    },
  };
  return { cellID: "w1", pod: readPodRecord(raw)!, raw };
}

async function standingIn(fleet: Fleet, fields: ProtectorFields): Promise<Standing> {
  await createProtector(fleet.core, "web", fields);
  const { valid } = await listProtectors(fleet.core.client, "shop", fleet.stop.signal);
  const read = standingOf(valid[0]!, undefined);
  assert(read.ok);
  return read.standing;
}

test("a pod that does not meet the criterion may be deleted, and its eviction needs no quota", async () => {
  const fleet = await createFleet();
  const { view } = await standingIn(fleet, { minAvailable: 3, cells: [{ cellID: "w1", available: 3 }] });
  const unready = podOf({ app: "web" }, {}, false);
  for (const operation of ["delete", "evict"] as const) {
    const answer = judged("core/shop/web", view, unready, operation, { cells: undefined, clock: fleet.clock });
    assert.deepEqual([answer.verdict.kind, answer.refusal], ["admitted", undefined]);
  }
  const ready = judged("core/shop/web", view, podOf({ app: "web" }), "delete", {
    cells: undefined,
    clock: fleet.clock,
  });
  assert.equal(ready.verdict.kind, "rejected");
  assert.match(ready.refusal ?? "", /^PodProtector core\/shop\/web reports too few available replicas/);
});

test("the pod's own criterion is asked for, and a criterion that is none is not", async () => {
  const fleet = await createFleet();
  const { view } = await standingIn(fleet, { minAvailable: 1, cells: [{ cellID: "w1", available: 3 }] });
  const askedBy = (criterion: string) => podOf({ app: "web" }, { [annotations.healthCriterion]: criterion });
  const of = (criterion: string) =>
    judged("id", view, askedBy(criterion), "delete", { cells: undefined, clock: fleet.clock }).verdict.kind;
  // Nothing was counted as Scheduled there, and the pod is not: it needs no quota.
  assert.deepEqual([of("Scheduled"), of("Sheduled")], ["admitted", "admitted"]);
  assert.equal(of("Running"), "rejected");
});

test("a released PodProtector is about no pod, and others are by their labels", async () => {
  const fleet = await createFleet();
  const { view } = await standingIn(fleet, {});
  assert.equal(relationOf(view, podOf({ app: "web" }).pod), "protected");
  assert.equal(relationOf(view, podOf({ app: "other" }).pod), "none");
  assert.equal(relationOf({ ...view, isReleased: true }, podOf({ app: "web" }).pod), "none");
  assert.equal(isForced(podOf({}, { [annotations.forceDelete]: "" })), true);
});

const clusters = (workers: readonly string[], cores: readonly string[]): OpenClusters => {
  const of = (names: readonly string[]) => new Map(names.map((name) => [name, { cluster: name } as KubeClient]));
  return { workers: of(workers), cores: of(cores) } as unknown as OpenClusters;
};

test("the pods of a cell are in its worker, and without workers in the only core", () => {
  assert.equal(clientOf("w1", clusters(["w1"], ["core"]))?.cluster, "w1");
  assert.equal(clientOf("w2", clusters(["w1"], ["core"])), undefined);
  assert.equal(clientOf("w1", clusters([], ["core"]))?.cluster, "core");
  assert.equal(clientOf("w1", clusters([], ["a", "b"])), undefined);
});

test("promised pods are not known where they may not be read, or nobody said where they are", async () => {
  const { core, stop } = await createFleet();
  const promise = { cellID: "w1", kind: "delete", podUID: "a", podName: undefined, podUIDDigests: [] } as const;
  const promises = [{ ...promise, weight: 1, ageMs: 0 }];
  assert.deepEqual(await promisedPods("shop", promises, core.client, stop.signal), new Map());
  assert.equal(await promisedPods("shop", promises, undefined, stop.signal), undefined);
  assert.equal(await promisedPods("shop", [], core.client, stop.signal), undefined);
  forbid(core, /pods/);
  assert.equal(await promisedPods("shop", promises, core.client, stop.signal), undefined);
});

test("a target is a pod, a PodProtector or a workload, in Kubernetes' short forms too", () => {
  const at = { namespace: "shop", name: "web" };
  const cases: readonly (readonly [string, string, object])[] = [
    ["po", "web", { kind: "pod", ...at }],
    ["pods", "other/web", { kind: "pod", namespace: "other", name: "web" }],
    ["PodProtector", "web", { kind: "protector", ...at }],
    ["ppr", "web", { kind: "protector", ...at }],
    ["Deployments", "web", { kind: "workload", sourceKind: "Deployment", ...at }],
    ["sts", "web", { kind: "workload", sourceKind: "StatefulSet", ...at }],
    ["pdb", "web", { kind: "workload", sourceKind: "PodDisruptionBudget", ...at }],
  ];
  for (const [kind, name, expected] of cases) assert.deepEqual(readTarget(kind, name, "shop"), expected, kind);
  assert.deepEqual(readTarget("deploy/web", undefined, "shop"), { kind: "workload", sourceKind: "Deployment", ...at });
  assert.deepEqual(targetWords.slice(0, 3), ["pod", "protector", "deployment"]);
});

test("an unknown kind and what cannot be a name are problems", () => {
  for (const [kind, name] of [
    ["node", "x"],
    ["pod", "Web"],
    ["pod", "a/b/c"],
    ["pod", "/web"],
    ["pod", ""],
    ["pod", "../x"],
  ] as const) {
    assert(readTarget(kind, name, "shop") instanceof Problem, `${kind} ${name}`);
  }
});

test("nothing is refused where nothing is known", () => {
  const view = { asked: undefined, at: 0 as EpochMicros, program: "podseidon", terminal: plainTerminal };
  const nothing = { explained: [], unusable: [], gateFaults: [] };
  assert.equal(explanationText(nothing, view), "");
  assert.equal(isRefused(nothing), false);
});

test("an eviction is told apart from a deletion only where the answers differ", async () => {
  const fleet = await createFleet();
  await createProtector(fleet.core, "web", { cells: [{ cellID: "w1", available: 1 }] });
  const { valid } = await listProtectors(fleet.core.client, "shop", fleet.stop.signal);
  const read = standingOf(valid[0]!, undefined);
  assert.ok(read.ok);
  const { standing } = read;
  const asked = typicalPod(standing.view, "w1")!;
  const { clock } = fleet;
  const deletion = judged("core/shop/web", standing.view, asked, "delete", { cells: undefined, clock });
  const admitted: Judged = {
    verdict: { kind: "admitted" } as Judged["verdict"],
    refusal: undefined,
    unheard: [],
    why: undefined,
  };
  const told = (eviction: Judged): string => {
    const answers = { relation: "protected", deletion, eviction } as const;
    const events = { refusals: undefined, forced: undefined };
    const none = { cells: undefined, promises: [], pods: undefined, ...events, inCells: [] };
    const view = { asked, at: clock.epochMicros(), program: "podseidon", terminal: plainTerminal };
    const explained = [{ core: "core", standing, answers, ...none }];
    return explanationText({ explained, unusable: [], gateFaults: [] }, view);
  };
  assert.match(told(deletion), /^pod .*\nWould its deletion or eviction be admitted now\? {2}NO\n\n/);
  assert.match(told(admitted), /\nWould its deletion be admitted now\? {2}NO\nWould its eviction be .*\? {2}YES\n\n/);
});

test("on a page as wide as a telephone, text stands below its label, and no word is longer than a line", async () => {
  const fleet = await createFleet();
  fleet.terminal = { ...plainTerminal, columns: 42 };
  const labels = { [sourceLabels.kind]: "Deployment", [sourceLabels.group]: "apps", [sourceLabels.name]: "web" };
  await createProtector(fleet.core, "web", {
    metadata: { labels, finalizers: [finalizer] },
    cells: [{ cellID: "w1", available: 1 }],
  });
  const { stdout } = await fleet.run("explain", "protector", "shop/web");
  for (const line of stdout.split("\n")) assert(line.length <= 42, line);
  assert.match(
    stdout,
    /\n {2}you can {3}wait until more pods are\n {6}available, or scale the workload up\n {4}let one go/,
  );
});

test("texts from the cluster cannot write escape codes, and lines fit 80 columns", async () => {
  const fleet = await createFleet();
  await createProtector(fleet.core, "web", { cells: [{ cellID: "w\u001b[31m1", available: 2 }] });
  await createRefusal(fleet, { name: "web", count: 2, agoMs: 0, message: `\u001b]0;title\u0007${"x ".repeat(300)}` });
  const { stdout } = await fleet.run("explain", "protector", "shop/web");
  assert.match(stdout, /^[\x20-\x7e…\n]*$/);
  for (const line of stdout.split("\n")) assert(line.length <= 80, line);
  assert.match(
    stdout,
    /\n {2}refused {3}2 times lately, last 0\.0 s ago, Events say\n {12}TooFewReplicas; \?\]0;title\?x x /,
  );
});
