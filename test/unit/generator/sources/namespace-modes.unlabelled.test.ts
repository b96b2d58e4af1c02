/** What the mode of a namespace is where its labels are not known, or go. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { annotations, labels } from "../../../../src/api/v1alpha1/names.ts";
import { type PodProtector } from "../../../../src/api/v1alpha1/pod-protector.ts";
import {
  decodeNamespace,
  type LabelledNamespace,
  NamespaceModes,
} from "../../../../src/generator/sources/namespace-modes.ts";
import { type Informer, type InformerHandler } from "../../../../src/kube/informer.ts";
import { type KubeClient, KubeError, type KubeErrorKind } from "../../../../src/kube/kube-client.ts";
import { silentLogger } from "../../../../src/util/logger.ts";

const shadow = { metadata: { annotations: { [annotations.mode]: "shadow" } } } as unknown as PodProtector;
const enforced = { metadata: {} } as PodProtector;

function namespace(own: Record<string, string>, name = "shop"): LabelledNamespace {
  const read = decodeNamespace({ metadata: { name, uid: `uid-${name}`, resourceVersion: "7", labels: own } });
  assert.ok(read);
  return read;
}

/** `answer`: of a live read. */
function modesOf({ isWatched = true, answer }: { isWatched?: boolean; answer?: unknown } = {}) {
  const handlers: InformerHandler<LabelledNamespace>[] = [];
  const state = { isListed: false, error: undefined as string | undefined };
  const store = new Map<string, LabelledNamespace>();
  const informer = {
    subscribe: (handler) => void handlers.push(handler),
    hasSynced: () => state.isListed,
    lastError: () => state.error,
    get: (key) => store.get(key),
    values: () => store.values(),
    run: () => Promise.resolve(),
  } satisfies Partial<Informer<LabelledNamespace>> as unknown as Informer<LabelledNamespace>;
  const core = {
    request: () => (answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer)),
  } as unknown as KubeClient;
  const modes = new NamespaceModes({
    core,
    config: { defaultMode: "shadow" },
    informer: isWatched ? informer : undefined,
    events: { record() {} },
    logger: silentLogger,
  });
  const add = (object: LabelledNamespace): void => {
    store.set(object.key, object);
    for (const handler of handlers) handler.onEvent({ type: "added", object });
  };
  const remove = (object: LabelledNamespace): void => {
    store.delete(object.key);
    for (const handler of handlers) handler.onEvent({ type: "deleted", object });
  };
  const list = (): void => {
    state.isListed = true;
    for (const handler of handlers) handler.onListed?.(true, undefined);
  };
  return { modes, state, add, remove, list };
}

test("where Namespaces are not watched the default mode holds, and nothing is waited for, nor late", async () => {
  const { modes } = modesOf({ isWatched: false });
  const { signal } = new AbortController();
  await modes.ready(signal);
  await modes.run(signal);
  assert.equal(modes.problem(), undefined);
  assert.equal(await modes.isCurrent("shop", signal), true);
  for (const protector of [undefined, enforced, shadow]) assert.equal(modes.of("shop", protector), "shadow");
  await modes.lead(AbortSignal.abort());
});

test("before the labels are known a PodProtector keeps its mode, others wait, and it is said why", async () => {
  const { modes, state, list, add } = modesOf();
  assert.equal(modes.problem(), "Namespaces have not been listed yet");
  state.error = "cannot list namespaces: 500";
  assert.equal(modes.problem(), "Namespaces have not been listed yet: cannot list namespaces: 500");
  await modes.ready(AbortSignal.abort());
  const ready = modes.ready(new AbortController().signal);
  add(namespace({ [labels.mode]: "enforced" }));
  list();
  await ready;
  assert.equal(modes.problem(), undefined);
  assert.equal(modes.of("shop", shadow), "enforced");
  assert.equal(modes.of("late", undefined), undefined);
  assert.equal(modes.of("late", enforced), "enforced");
});

test("a Namespace that is gone is not known any more, and what it has keeps its mode", () => {
  const { modes, list, add, remove } = modesOf();
  const shop = namespace({ [labels.mode]: "enforced", [labels.healthCriterion]: "Ready" });
  const changed: (string | undefined)[] = [];
  modes.onChanged((name) => void changed.push(name));
  add(shop);
  list();
  assert.equal(modes.criterionOf("shop"), "Ready");
  remove(shop);
  assert.equal(modes.criterionOf("shop"), undefined);
  assert.equal(modes.of("shop", undefined), undefined);
  assert.equal(modes.of("shop", shadow), "shadow");
  assert.deepEqual(changed, ["shop", "shop"]);
});

test("a criterion that cannot be read leaves the one before", () => {
  const { modes, add } = modesOf();
  add(namespace({ [labels.healthCriterion]: "Ready" }));
  add(namespace({ [labels.healthCriterion]: "Alive" }));
  assert.equal(modes.criterionOf("shop"), "Ready");
});

test("a label is current when the core shows what was watched, or may not be asked", async () => {
  const { signal } = new AbortController();
  const live = { metadata: { name: "shop", uid: "u", resourceVersion: "9", labels: { [labels.mode]: "off" } } };
  const failing = (kind: KubeErrorKind) => new KubeError(kind, kind);
  for (const [answer, watched, expected] of [
    [live, "off", true],
    [live, "enforced", false],
    [{}, "off", false],
    [failing("notFound"), "off", false],
    [failing("forbidden"), "off", true],
  ] as const) {
    const { modes, add } = modesOf({ answer });
    add(namespace({ [labels.mode]: watched }));
    assert.equal(await modes.isCurrent("shop", signal), expected);
  }
  await assert.rejects(modesOf({ answer: failing("serverError") }).modes.isCurrent("shop", signal), /serverError/);
});
