/**
 * What an informer knows: store, version and sync state. Applies what the server sent and calls the handlers, in that
 * order.
 */
import { compareResourceVersions, type ResourceVersion } from "../../api/resource-version.ts";
import { type Logger } from "../../util/logger.ts";
import { type Decode, type InformerEvent, type InformerHandler, type Stored } from "../informer.ts";
import { Store } from "./store.ts";
import { type RawObject, type WatchFrame } from "./watch-stream.ts";

export type ObjectFrame = Exclude<WatchFrame, { readonly type: "bookmark" }>;

export class Cache<T extends Stored> {
  readonly store = new Store<T>();
  readonly handlers: InformerHandler<T>[] = [];
  synced = false;
  /** Everything up to it has been delivered to the handlers. */
  version: ResourceVersion | undefined;
  /** Nothing is delivered any more. */
  stopped = false;
  readonly #decode: Decode<T>;
  readonly #logger: Logger;
  readonly #countDecodeError: () => void;

  constructor(decode: Decode<T>, logger: Logger, countDecodeError: () => void) {
    this.#decode = decode;
    this.#logger = logger;
    this.#countDecodeError = countDecodeError;
  }

  /** Adds a listed object to `objects`, which `replace` takes later. */
  stage(objects: Map<string, T>, raw: unknown): void {
    const object = this.#decoded(raw);
    if (object !== undefined) objects.set(object.key, object);
  }

  /** Like `stage`, for an event between the initial ones of a WatchList. */
  stageFrame(objects: Map<string, T>, frame: ObjectFrame): void {
    if (frame.type === "deleted") objects.delete(rawKey(frame.object));
    else this.stage(objects, frame.object);
  }

  /**
   * Swaps the content for a complete list made at `version`. A lower version than before is taken as it is: the history
   * was reset.
   */
  replace(objects: Map<string, T>, version: ResourceVersion): void {
    if (this.version !== undefined && compareResourceVersions(version, this.version) < 0) {
      this.#logger.warn("The list is older than what was known: the server's history was reset, or it lags behind", {
        listVersion: version,
        knownVersion: this.version,
      });
      // The old version promises more than the new content holds.
      this.version = undefined;
    }
    this.#emit(this.store.replace(objects));
    if (this.stopped) return;
    const first = !this.synced;
    this.#advance(version);
    this.synced = true;
    for (const handler of this.handlers) {
      if (!this.stopped) handler.onListed?.(first);
    }
  }

  /** Applies a frame of a watch; one at or below the version has been applied before (sent again after a reconnect). */
  apply(frame: WatchFrame): void {
    if (this.version !== undefined && compareResourceVersions(frame.version, this.version) <= 0) return;
    if (frame.type !== "bookmark") this.#emit(this.#eventsOf(frame));
    if (!this.stopped) this.#advance(frame.version);
  }

  #eventsOf(frame: ObjectFrame): Generator<InformerEvent<T>, void, undefined> {
    const object = this.#decoded(frame.object);
    if (frame.type === "deleted") {
      const key = object?.key ?? rawKey(frame.object);
      return this.store.remove(key, object ?? this.store.get(key));
    }
    return object === undefined ? this.store.remove(rawKey(frame.object), undefined) : this.store.upsert(object);
  }

  #emit(events: Iterable<InformerEvent<T>>): void {
    for (const event of events) {
      for (const handler of this.handlers) {
        if (this.stopped) return;
        handler.onEvent(event);
      }
    }
  }

  #advance(version: ResourceVersion): void {
    this.version = version;
    for (const handler of this.handlers) {
      if (!this.stopped) handler.onProgress?.(version);
    }
  }

  #decoded(raw: unknown): T | undefined {
    const object = this.#decode(raw);
    if (object === undefined) {
      this.#countDecodeError();
      this.#logger.warn("An object cannot be used and is treated as absent", { key: rawKey(raw) });
    }
    return object;
  }
}

/** The key of an object that could not be decoded. */
function rawKey(raw: unknown): string {
  const metadata = (raw as RawObject | null | undefined)?.metadata;
  const name = String(metadata?.name);
  return typeof metadata?.namespace === "string" && metadata.namespace !== "" ? `${metadata.namespace}/${name}` : name;
}
