/** An informer of PodProtectors whose store and events a test decides: no watch, no time. */
import { type ResourceVersion } from "../../../../src/api/resource-version.ts";
import { type Informer, type InformerHandler } from "../../../../src/kube/informer.ts";
import { decodeWatched, type WatchedProtector } from "../../../../src/webhook/index.ts";
import { type Json } from "./objects.ts";

export class FakeInformer implements Informer<WatchedProtector> {
  readonly #handlers: InformerHandler<WatchedProtector>[] = [];
  readonly #store = new Map<string, WatchedProtector>();
  /** That the first list is there. */
  isListed = false;
  silence = 0;
  error: string | undefined;
  isBehind = false;

  get(key: string): WatchedProtector | undefined {
    return this.#store.get(key);
  }
  values(): IterableIterator<WatchedProtector> {
    return this.#store.values();
  }
  get size(): number {
    return this.#store.size;
  }
  hasSynced(): boolean {
    return this.isListed;
  }
  version(): ResourceVersion | undefined {
    return undefined;
  }
  stalenessMs(): number {
    return this.isListed ? this.silence : Infinity;
  }
  lastError(): string | undefined {
    return this.error;
  }
  isCatchingUp(): boolean {
    return this.isBehind;
  }
  subscribe(handler: InformerHandler<WatchedProtector>): void {
    this.#handlers.push(handler);
  }
  relist(): void {}
  run(): Promise<void> {
    return Promise.resolve();
  }

  /**
   * The present state of an object as the watch tells it, or a list; undefined = gone. What has no version is as good
   * as absent.
   */
  show(key: string, raw: unknown, isListed = false, isAbsent = false): void {
    const object = raw === undefined ? undefined : decodeWatched(raw);
    const previous = this.#store.get(key);
    if (object === undefined) this.#store.delete(key);
    else this.#store.set(key, object);
    const isSame = previous !== undefined && previous.uid === object?.uid;
    for (const handler of this.#handlers) {
      if (previous !== undefined && !isSame)
        handler.onEvent({ type: "deleted", object: previous, ...(isAbsent && { isAbsent }) });
      if (object === undefined) continue;
      if (!isSame) handler.onEvent({ type: "added", object });
      else if (previous.resourceVersion !== object.resourceVersion)
        handler.onEvent({ type: "modified", object, previous, ...(isListed && { isListed }) });
    }
  }

  /** The object is missing in a list. */
  miss(key: string): void {
    this.show(key, undefined, true, true);
  }

  /** The server was asked for a list: it has answered, or it does not know the resource. */
  list(isServed = true): void {
    for (const handler of this.#handlers) {
      if (isServed) handler.onListed?.(false, undefined);
      else handler.onNotServed?.();
    }
  }

  /** Brings the store to this state and reports the differences. */
  sync(raws: readonly Json[]): void {
    const left = new Set(this.#store.keys());
    for (const raw of raws) {
      const { namespace, name } = raw["metadata"] as { namespace: string; name: string };
      left.delete(`${namespace}/${name}`);
      this.show(`${namespace}/${name}`, structuredClone(raw));
    }
    for (const key of left) this.show(key, undefined);
    this.isListed = true;
  }
}
