import assert from "node:assert/strict";
import { test } from "node:test";
import { type ObjectKey, objectKey } from "../../../../src/api/object-key.ts";
import { type Labels, type PodRecord, readPodRecord } from "../../../../src/api/pod.ts";
import { type LabelSelector } from "../../../../src/api/v1alpha1/pod-protector.ts";
import { MatchTable } from "../../../../src/aggregator/counting/match-table.ts";
import { compileSelector, matches } from "../../../../src/label-index/index.ts";
import { createSeededRng } from "../../../support/seeded-rng.ts";
import { selecting } from "../protectors.ts";

function pod(name: string, labels: Labels, namespace = "default"): PodRecord {
  return readPodRecord({ metadata: { name, namespace, uid: `uid-${name}`, resourceVersion: "5", labels } })!;
}

const webKey = objectKey("default", "web");
const apiKey = objectKey("default", "api");
const web: LabelSelector = { matchLabels: { app: "web" } };
const broken = { matchExpressions: [{ key: "app", operator: "In", values: [] }] } as LabelSelector;

function podKeys(table: MatchTable, key: ObjectKey): string[] {
  return [...table.podKeysOf(key)].toSorted();
}

test("a protector finds the pods that were there before it, and pods find the protectors", () => {
  const table = new MatchTable();
  assert.deepEqual(table.podChanged(pod("a", { app: "web" }), undefined), []);
  assert.deepEqual(table.trackProtector(webKey, selecting(web)), { ok: true, selectorText: "app in (web)" });
  assert.deepEqual(podKeys(table, webKey), ["default/a"]);
  assert.deepEqual(table.podChanged(pod("b", { app: "web" }), undefined), ["default/web"]);
  assert.deepEqual(podKeys(table, webKey), ["default/a", "default/b"]);
});

test("a change of labels touches the protectors of the old and the new labels, others those of the labels", () => {
  const table = new MatchTable();
  table.trackProtector(webKey, selecting(web));
  table.trackProtector(apiKey, selecting({ matchLabels: { app: "api" } }));
  const before = pod("a", { app: "web" });
  table.podChanged(before, undefined);
  const after = pod("a", { app: "api" });
  assert.deepEqual([...table.podChanged(after, before)].toSorted(), ["default/api", "default/web"]);
  assert.deepEqual(podKeys(table, webKey), []);
  const ready = { ...after, isReady: true };
  assert.deepEqual(table.podChanged(ready, after), ["default/api"]);
  assert.deepEqual(table.podDeleted(ready), ["default/api"]);
  assert.deepEqual(podKeys(table, apiKey), []);
});

test("the aggregationSelector decides what is counted, when there is one", () => {
  const table = new MatchTable();
  table.trackProtector(webKey, selecting(web, { matchLabels: { counted: "yes" } }));
  table.podChanged(pod("a", { app: "web" }), undefined);
  table.podChanged(pod("b", { counted: "yes" }), undefined);
  assert.deepEqual(podKeys(table, webKey), ["default/b"]);
});

test("pods of other namespaces are never matched", () => {
  const table = new MatchTable();
  table.trackProtector(webKey, selecting(web));
  assert.deepEqual(table.podChanged(pod("a", { app: "web" }, "other"), undefined), []);
});

test("a selector that is invalid from the start is returned with its reason, and counts nothing until fixed", () => {
  const table = new MatchTable();
  table.podChanged(pod("a", { app: "web" }), undefined);
  const result = table.trackProtector(webKey, selecting(broken));
  assert.deepEqual([result.ok, result.selectorText], [false, undefined]);
  assert.deepEqual(podKeys(table, webKey), []);
  assert.deepEqual(table.podChanged(pod("b", { app: "web" }), undefined), []);
  table.trackProtector(webKey, selecting(web));
  assert.deepEqual(podKeys(table, webKey), ["default/a", "default/b"]);
});

test("when a selector turns invalid, the last valid one goes on to count, until another one is valid", () => {
  const table = new MatchTable();
  table.podChanged(pod("a", { app: "web" }), undefined);
  table.trackProtector(webKey, selecting(web));
  const result = table.trackProtector(webKey, selecting(broken));
  assert.deepEqual([result.ok, result.selectorText], [false, "app in (web)"]);
  assert.deepEqual(table.podChanged(pod("b", { app: "web" }), undefined), [webKey]);
  assert.deepEqual(podKeys(table, webKey), ["default/a", "default/b"]);
  table.trackProtector(webKey, selecting({ matchLabels: { app: "api" } }));
  assert.deepEqual(podKeys(table, webKey), []);
});

test("an event of a protector that leaves its selector as it is changes nothing", () => {
  const changed: ObjectKey[] = [];
  const table = new MatchTable((podKey) => changed.push(podKey));
  table.trackProtector(webKey, selecting(web));
  table.podChanged(pod("a", { app: "web" }), undefined);
  assert.deepEqual(table.trackProtector(webKey, selecting({ matchLabels: { app: "web" } })), {
    ok: true,
    selectorText: "app in (web)",
  });
  assert.deepEqual([podKeys(table, webKey), changed], [["default/a"], []]);
});

test("a pod that leaves labels which others share takes none of these with it, and the last one ends the match", () => {
  const table = new MatchTable();
  table.trackProtector(webKey, selecting(web));
  const [a, b] = [pod("a", { app: "web" }), pod("b", { app: "web" })];
  for (const one of [a, b]) table.podChanged(one, undefined);
  table.podChanged(pod("a", { app: "other" }), a);
  assert.deepEqual([podKeys(table, webKey), table.countsNone(webKey)], [["default/b"], false]);
  assert.deepEqual(table.podDeleted(b), [webKey]);
  assert.equal(table.countsNone(webKey), true);
  table.podChanged(pod("c", { app: "web" }), undefined);
  assert.deepEqual(podKeys(table, webKey), ["default/c"]);
});

test("what a pod that was missed, one that is gone and one with old labels left in the table can be made anew", () => {
  const rechecked = new Set<ObjectKey>();
  const table = new MatchTable((podKey) => rechecked.add(podKey));
  table.trackProtector(webKey, selecting(web));
  table.trackProtector(apiKey, selecting({ matchLabels: { app: "api" } }));
  const [gone, moved] = [pod("gone", { app: "web" }), pod("moved", { app: "web" })];
  for (const one of [gone, moved]) table.podChanged(one, undefined);
  rechecked.clear();
  const missed = pod("missed", { app: "web" });
  const changed = table.rebuild(
    webKey,
    selecting(web),
    new Map([
      [gone.key, undefined],
      [moved.key, pod("moved", { app: "api" })],
      [missed.key, missed],
    ]),
  );
  assert.deepEqual([...changed].toSorted(), [apiKey, webKey]);
  assert.deepEqual([podKeys(table, webKey), podKeys(table, apiKey)], [["default/missed"], ["default/moved"]]);
  assert.deepEqual([...rechecked].toSorted(), ["default/gone", "default/missed", "default/moved"]);
});

test("whatever happens in whatever order, the table holds what a computation from scratch finds", () => {
  for (let seed = 1; seed <= 30; seed++) {
    const rng = createSeededRng(seed);
    const below = (limit: number): number => Math.floor(rng.next() * limit);
    const pick = <T>(list: readonly T[]): T => list[below(list.length)]!;
    const labels = (): Labels => ({
      app: pick(["web", "api"]),
      ...(rng.next() < 0.5 ? { tier: pick(["1", "2"]) } : {}),
    });
    const selectors: readonly LabelSelector[] = [
      {},
      web,
      { matchLabels: { app: "api", tier: "1" } },
      { matchExpressions: [{ key: "tier", operator: "DoesNotExist" }] },
      { matchExpressions: [{ key: "app", operator: "NotIn", values: ["web"] }] },
      broken,
    ];
    const table = new MatchTable();
    const pods = new Map<ObjectKey, PodRecord>();
    const protectors = new Map<ObjectKey, { namespace: string; selector: LabelSelector }>();
    for (let step = 0; step < 200; step++) {
      const namespace = pick(["default", "other"]);
      const name = `n${below(6)}`;
      const key = objectKey(namespace, name);
      const known = pods.get(key);
      const roll = rng.next();
      if (roll < 0.5) {
        const keepsLabels = known !== undefined && rng.next() < 0.3;
        const next = keepsLabels ? { ...known } : pod(name, labels(), namespace);
        table.podChanged(next, known);
        pods.set(key, next);
      } else if (roll < 0.65) {
        if (known !== undefined) table.podDeleted(known);
        pods.delete(key);
      } else if (roll < 0.9) {
        const selector = pick(selectors);
        table.trackProtector(key, selecting(selector, undefined, namespace));
        if (selector !== broken || !protectors.has(key)) protectors.set(key, { namespace, selector });
      } else {
        table.untrackProtector(key);
        protectors.delete(key);
      }
      for (const [protectorKey, { namespace: where, selector }] of protectors) {
        const compiled = compileSelector(selector);
        const expected = [...pods.values()]
          .filter((one) => one.namespace === where && compiled.ok && matches(compiled.selector, one.labels))
          .map((one) => one.key)
          .toSorted();
        assert.deepEqual(podKeys(table, protectorKey), expected, `seed ${seed}, step ${step}, ${protectorKey}`);
      }
    }
    for (const one of pods.values()) table.podDeleted(one);
    for (const key of protectors.keys()) assert.deepEqual(podKeys(table, key), []);
  }
});
