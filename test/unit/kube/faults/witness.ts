/** Watches an informer over the server's shoulder: says whether what it shows and tells was ever untrue. */
import assert from "node:assert/strict";
import { type ObjectKey, objectKey } from "../../../../src/api/object-key.ts";
import { type ResourceVersion } from "../../../../src/api/resource-version.ts";
import { type Informer, type InformerEvent, type InformerHandler, type Stored } from "../../../../src/kube/informer.ts";
import { type KubeClient } from "../../../../src/kube/kube-client.ts";
import { createInformer } from "../../../../src/kube/watch/index.ts";
import { type Logger, silentLogger } from "../../../../src/util/logger.ts";
import { createSeededRng } from "../../../support/seeded-rng.ts";
import { createCountingMetrics } from "../counting-metrics.ts";
import { type Rig } from "./rig.ts";
import { type Engine, type KubeObject, type ResourceType } from "../../../double/index.ts";

export interface Item extends Stored {
  readonly value: string;
}

/** Stored objects are frozen: who changes one fails. */
function decodeItem(raw: unknown): Item | undefined {
  const { metadata, data } = raw as {
    metadata: { namespace: string; name: string; uid: string; resourceVersion: ResourceVersion };
    data?: { value?: string };
  };
  const { namespace, name, uid, resourceVersion } = metadata;
  return Object.freeze({ key: objectKey(namespace, name), uid, resourceVersion, value: data?.value ?? "" });
}

export function createItemInformer(rig: Rig, client: KubeClient, logger: Logger = silentLogger): Informer<Item> {
  return createInformer<Item>({
    client,
    resource: { group: "", version: "v1", resource: "configmaps" },
    decode: decodeItem,
    clock: rig.clock,
    rng: createSeededRng(3),
    logger,
    metrics: createCountingMetrics(),
    name: "configmaps",
  });
}

/** Longer than any test: a server ends watches after an hour at most, if it is not told otherwise. */
const historySeconds = 1_000_000;

/** Versions of all commits of a resource, in their order, from when it is created on. */
export class History {
  readonly versions: number[] = [];
  readonly #close: () => void;

  constructor(engine: Engine, type: ResourceType) {
    const watch = engine.watch(
      type,
      undefined,
      { resourceVersion: String(engine.revision), timeoutSeconds: historySeconds },
      {
        onEvent: (event) => {
          const { metadata } = event.object as { metadata: { resourceVersion: string } };
          this.versions.push(Number(metadata.resourceVersion));
        },
        onEnd: () => assert.fail("the history has a gap"),
      },
    );
    this.#close = () => watch.close();
  }

  close(): void {
    this.#close();
  }
}

/** What differs between a copy and the server's objects; undefined = nothing. */
function difference(copy: Pick<Informer<Item>, "get" | "size">, truth: readonly KubeObject[]): string | undefined {
  if (copy.size !== truth.length) return `${copy.size} instead of ${truth.length} objects`;
  for (const { metadata } of truth) {
    const key = objectKey(metadata.namespace, metadata.name);
    const shown = copy.get(key)?.resourceVersion;
    if (shown !== metadata.resourceVersion) return `${key} at ${shown} instead of ${metadata.resourceVersion}`;
  }
  return undefined;
}

/**
 * Subscribes to an informer and throws, which ends the informer's run, when
 * - an event does not fit to those before (the view replayed from events differs),
 * - at any progress the store differs from what the server held at that version (so also a half-filled list),
 * - after a list that view differs from the store,
 * - the informer counts as synced while its first list is not complete,
 * - between two lists a version of an object was skipped or told twice.
 */
export class Witness implements InformerHandler<Item> {
  readonly #informer: Informer<Item>;
  readonly #engine: Engine;
  readonly #type: ResourceType;
  readonly #history: History;
  readonly #view = new Map<ObjectKey, Item>();
  #reached: number | undefined;
  #told: number[] = [];
  /** What a watch has told between two versions; a list that follows takes it back. */
  #step: { readonly from: number; readonly to: number; readonly told: readonly number[] } | undefined;
  lists = 0;

  constructor(informer: Informer<Item>, engine: Engine, type: ResourceType, history: History) {
    this.#informer = informer;
    this.#engine = engine;
    this.#type = type;
    this.#history = history;
    informer.subscribe(this);
  }

  onEvent(event: InformerEvent<Item>): void {
    this.#checkStep();
    const { key } = event.object;
    if (this.lists === 0)
      assert.equal(this.#informer.hasSynced(), false, "synced before the handlers have seen the list");
    this.#told.push(Number(event.object.resourceVersion));
    if (event.type === "added") assert.equal(this.#view.has(key), false, `added twice: ${key}`);
    if (event.type === "modified")
      assert.deepEqual(event.previous, this.#view.get(key), `not the previous state: ${key}`);
    if (event.type === "deleted") assert.ok(this.#view.delete(key), `deleted, but never added: ${key}`);
    else this.#view.set(key, event.object);
  }

  onProgress(version: ResourceVersion): void {
    this.#checkStep();
    const { items } = this.#engine.list(this.#type, undefined, {
      resourceVersion: version,
      resourceVersionMatch: "Exact",
    });
    assert.equal(difference(this.#informer, items), undefined, `the store at version ${version}`);
    const to = Number(version);
    this.#step = this.#reached === undefined ? undefined : { from: this.#reached, to, told: this.#told };
    this.#told = [];
    this.#reached = to;
  }

  onListed(first: boolean): void {
    assert.equal(first, this.lists === 0);
    assert.equal(this.#informer.hasSynced(), true);
    assert.equal(this.#view.size, this.#informer.size);
    for (const [key, item] of this.#view)
      assert.deepEqual(this.#informer.get(key), item, `the replayed view at ${key}`);
    this.#step = undefined;
    this.lists++;
  }

  /**
   * True when the informer has reached the server's last commit. That it shows what the server holds then is checked at
   * each progress.
   */
  hasCaughtUp(): boolean {
    return this.#reached !== undefined && this.#reached >= (this.#history.versions.at(-1) ?? 0);
  }

  #checkStep(): void {
    if (this.#step === undefined) return;
    const { from, to, told } = this.#step;
    this.#step = undefined;
    const happened = this.#history.versions.filter((version) => version > from && version <= to);
    assert.deepEqual(told, happened, `events between ${from} and ${to}`);
  }
}
