import assert from "node:assert/strict";
import { test } from "node:test";
import { Coverage } from "../../../../src/aggregator/counting/coverage.ts";
import { MatchTable } from "../../../../src/aggregator/counting/match-table.ts";
import { type ObjectKey, objectKey } from "../../../../src/api/object-key.ts";
import { type PodRecord } from "../../../../src/api/pod.ts";
import { type LabelSelector, type PodProtector } from "../../../../src/api/v1alpha1/pod-protector.ts";
import { type InformerHandler } from "../../../../src/kube/informer.ts";
import { compileSelector, matches } from "../../../../src/label-index/index.ts";
import { createSeededRng } from "../../../support/seeded-rng.ts";
import { pod as samplePod } from "../../accounting/samples.ts";
import { selecting } from "../protectors.ts";

const web: LabelSelector = { matchLabels: { app: "web" } };
const key = (name: string, namespace = "default"): ObjectKey => objectKey(namespace, name);

function pod(name: string, changes: Partial<PodRecord> = {}): PodRecord {
  const namespace = changes.namespace ?? "default";
  const labels = { app: "web" };
  return samplePod(name, { key: key(name, namespace), name, labels, workloadKind: "Deployment", ...changes });
}

/** A cell with as many cores, as the role puts it together. */
function cell(cores = 1) {
  const store = new Map<ObjectKey, PodRecord>();
  const handlers: InformerHandler<PodRecord>[] = [];
  const pods = {
    get: (one: ObjectKey) => store.get(one),
    subscribe: (handler: InformerHandler<PodRecord>) => void handlers.push(handler),
  };
  const dummyPod = { namespace: "default", name: "dummy" };
  const coverage = new Coverage({ pods, excludedNamespaces: new Set(["kube-system"]), dummyPod });
  const tables = Array.from({ length: cores }, () => {
    const table = new MatchTable((one) => coverage.recheck(one));
    coverage.addTable(table);
    handlers.push({
      onEvent(event) {
        if (event.type === "deleted") table.podDeleted(event.object);
        else table.podChanged(event.object, event.type === "modified" ? event.previous : undefined);
      },
    });
    return table;
  });
  coverage.watch();
  const put = (object: PodRecord): void => {
    const previous = store.get(object.key);
    store.set(object.key, object);
    for (const handler of handlers)
      handler.onEvent(previous === undefined ? { type: "added", object } : { type: "modified", object, previous });
  };
  const remove = (one: ObjectKey): void => {
    const object = store.get(one);
    if (object === undefined) return;
    store.delete(one);
    for (const handler of handlers) handler.onEvent({ type: "deleted", object });
  };
  const kinds = (): object => Object.fromEntries([...coverage.byKind].filter(([, pods]) => pods > 0));
  const [table] = tables;
  assert.ok(table !== undefined);
  return { coverage, table, tables, store, put, remove, kinds };
}

test("a pod is uncovered while no PodProtector protects it, and is counted under the kind of its workload", () => {
  const { coverage, table, put, remove, kinds } = cell();
  put(pod("a"));
  put(pod("b", { workloadKind: "StatefulSet" }));
  assert.deepEqual(kinds(), { Deployment: 1, StatefulSet: 1 });
  table.trackProtector(key("web"), selecting(web));
  assert.deepEqual(kinds(), {});
  put(pod("c"));
  put(pod("d", { labels: { app: "api" } }));
  assert.deepEqual(kinds(), { Deployment: 1 });
  put(pod("d"));
  assert.equal(coverage.size, 0, "its labels were mended");
  table.untrackProtector(key("web"));
  assert.deepEqual(kinds(), { Deployment: 3, StatefulSet: 1 });
  remove(key("a"));
  assert.deepEqual(kinds(), { Deployment: 2, StatefulSet: 1 });
});

for (const [what, changes] of [
  ["terminates", { isTerminating: true }],
  ["has finished", { isTerminal: true }],
  ["is of a DaemonSet", { workloadKind: "DaemonSet" }],
  ["is of a Job", { workloadKind: "Job" }],
  ["mirrors a static pod", { workloadKind: "Node" }],
  ["is in an excluded namespace", { namespace: "kube-system" }],
  ["is the dummy pod", { name: "dummy", key: key("dummy") }],
] as const) {
  test(`a pod that ${what} is exempt`, () => {
    const { coverage, put } = cell();
    put(pod("a", changes));
    assert.equal(coverage.size, 0);
  });
}

test("a pod that begins to terminate is uncovered no more", () => {
  const { coverage, put } = cell();
  const before = pod("a");
  put(before);
  assert.equal(coverage.size, 1);
  put({ ...before, isTerminating: true });
  assert.equal(coverage.size, 0);
});

test("what only counts a pod does not cover it, whichever of the two selectors is edited", () => {
  const { coverage, table, put } = cell();
  put(pod("a", { labels: { app: "web", tier: "2" } }));
  const first = { matchLabels: { app: "web", tier: "1" } };
  table.trackProtector(key("web"), selecting(first, web));
  assert.equal(coverage.size, 1);
  table.trackProtector(key("web"), selecting({ matchLabels: { tier: "2" } }, web));
  assert.equal(coverage.size, 0);
  table.trackProtector(key("web"), selecting(first, web));
  assert.equal(coverage.size, 1);
});

test("a PodProtector of one of several cores is enough", () => {
  const { coverage, tables, put } = cell(2);
  put(pod("a"));
  for (const table of tables) table.trackProtector(key("web"), selecting(web));
  tables[0]?.untrackProtector(key("web"));
  assert.equal(coverage.size, 0);
  tables[1]?.untrackProtector(key("web"));
  assert.equal(coverage.size, 1);
});

test("some uncovered pods are named, of different namespaces and kinds, and never more than are asked for", () => {
  const { coverage, put } = cell();
  for (let index = 0; index < 50; index += 1) put(pod(`a-${index}`));
  put(pod("b-0", { workloadKind: "StatefulSet" }));
  put(pod("c-0", { namespace: "shop" }));
  assert.deepEqual(coverage.some(10), [
    "default/a-0 (Deployment)",
    "default/b-0 (StatefulSet)",
    "shop/c-0 (Deployment)",
  ]);
  assert.equal(coverage.some(2).length, 2);
});

test("whatever happens in whatever order, it holds what a computation from scratch finds", () => {
  for (let seed = 1; seed <= 30; seed += 1) {
    const rng = createSeededRng(seed);
    const below = (limit: number): number => Math.floor(rng.next() * limit);
    const pick = <T>(list: readonly T[]): T => list[below(list.length)]!;
    const selectors = [web, { matchLabels: { app: "api" } }, { matchLabels: { tier: "1" } }, {}];
    const { coverage, tables, store, put, remove } = cell(2);
    const protectors = tables.map(() => new Map<ObjectKey, PodProtector>());
    for (let step = 0; step < 200; step += 1) {
      const name = key(`x${below(12)}`);
      const core = below(2);
      switch (below(5)) {
        case 0:
          remove(name);
          break;
        case 1:
          tables[core]!.untrackProtector(name);
          protectors[core]!.delete(name);
          break;
        case 2: {
          const object = selecting(pick(selectors), pick([undefined, ...selectors]));
          tables[core]!.trackProtector(name, object);
          protectors[core]!.set(name, object);
          break;
        }
        default: {
          const labels = { app: pick(["web", "api", "other"]), ...(below(2) === 0 ? {} : { tier: pick(["1", "2"]) }) };
          const workloadKind = pick(["Deployment", "StatefulSet", "Job", undefined]);
          put(pod(name.slice("default/".length), { labels, workloadKind, isTerminating: below(4) === 0 }));
        }
      }
      const expected = [...store.values()].filter((one) => !isExempt(one) && !isProtected(one, protectors));
      assert.equal(coverage.size, expected.length, `seed ${seed}, step ${step}`);
      const sum = [...coverage.byKind.values()].reduce((total, pods) => total + pods, 0);
      assert.equal(sum, expected.length, `seed ${seed}, step ${step}`);
    }
  }
});

function isExempt(one: PodRecord): boolean {
  return one.isTerminating || one.workloadKind === "Job";
}

function isProtected(one: PodRecord, cores: readonly ReadonlyMap<ObjectKey, PodProtector>[]): boolean {
  const selects = (selector: LabelSelector): boolean => {
    const compiled = compileSelector(selector);
    return compiled.ok && matches(compiled.selector, one.labels);
  };
  return cores.some((protectors) =>
    [...protectors.values()].some(
      ({ spec }) => selects(spec.selector) && selects(spec.aggregationSelector ?? spec.selector),
    ),
  );
}
