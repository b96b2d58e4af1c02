/** A core cluster in memory, with a client and a watch, that takes status writes. Its history empties by itself. */
import { type Json } from "../../api/json.ts";
import { type Informer, type InformerHandler } from "../../kube/informer.ts";
import { type KubeClient, KubeError, type KubeRequest, resourcePath } from "../../kube/kube-client.ts";
import { podProtectors } from "../../kube/resources.ts";
import { decodeWatched, type WatchedProtector } from "../protector/protector-view.ts";
import { type WebhookCore } from "../webhook.ts";

const name = "made-up";
/** As an aggregator settles admissions, so that the quota is never used up. */
const writesBetweenSettlements = 4;

export interface MadeUpProtector {
  readonly metadata: { readonly namespace: string; readonly name: string; readonly uid: string };
  readonly spec: Json;
  readonly status: Json;
}

interface Stored {
  readonly first: MadeUpProtector;
  object: Json;
  watched: WatchedProtector;
  writes: number;
}

export class MadeUpCore {
  readonly #byPath = new Map<string, Stored>();
  readonly #byKey = new Map<string, Stored>();
  readonly #handlers: InformerHandler<WatchedProtector>[] = [];
  #version = 1;

  constructor(protectors: readonly MadeUpProtector[]) {
    for (const first of protectors) {
      const object = this.#versioned(first, first.status);
      const stored: Stored = { first, object, watched: decoded(object), writes: 0 };
      this.#byPath.set(resourcePath(podProtectors, first.metadata), stored);
      this.#byKey.set(stored.watched.key, stored);
    }
  }

  asWebhookCore(): WebhookCore {
    const client: KubeClient = {
      cluster: name,
      request: (request) => this.#request(request),
      stream: () => Promise.reject(new KubeError("notFound", "no watches here")),
      close: () => Promise.resolve(),
    };
    const cells: WebhookCore["cells"] = {
      stateOf: () => ({ kind: "beating" }),
      lateForMs: () => undefined,
      unwrittenForMs: () => undefined,
      isForgotten: () => false,
      countedByOther() {},
    };
    return { name, client, cells, informer: this.#informer() };
  }

  /** Tells the watch of all objects. */
  deliver(): void {
    for (const { watched } of this.#byKey.values()) this.#tell({ type: "added", object: watched });
    for (const handler of this.#handlers) handler.onListed?.(true, undefined);
  }

  #informer(): Informer<WatchedProtector> {
    const byKey = this.#byKey;
    return {
      get: (key) => byKey.get(key)?.watched,
      values: () => byKey.values().map(({ watched }) => watched),
      get size() {
        return byKey.size;
      },
      hasSynced: () => true,
      version: () => undefined,
      stalenessMs: () => 0,
      isCatchingUp: () => false,
      lastError: () => undefined,
      subscribe: (handler) => void this.#handlers.push(handler),
      relist() {},
      run: () => Promise.resolve(),
    };
  }

  async #request({ method, path, body }: KubeRequest): Promise<unknown> {
    // As over the network, so that nothing is shared with the caller.
    const sent = body === undefined ? undefined : (JSON.parse(JSON.stringify(body)) as { readonly status: Json });
    await Promise.resolve();
    const stored = this.#byPath.get(path.replace(/\/status$/, ""));
    if (stored === undefined) throw new KubeError("notFound", `${path} is not here`, { code: 404 });
    if (method === "PUT" && sent !== undefined) this.#write(stored, sent.status);
    return stored.object;
  }

  #write(stored: Stored, status: Json): void {
    const previous = stored.watched;
    stored.writes++;
    const isSettled = stored.writes % writesBetweenSettlements === 0;
    stored.object = this.#versioned(stored.first, status);
    stored.watched = decoded(stored.object);
    this.#tell({ type: "modified", object: stored.watched, previous });
    if (isSettled) this.#write(stored, stored.first.status);
  }

  #versioned(first: MadeUpProtector, status: Json): Json {
    const metadata = { ...first.metadata, generation: 1, resourceVersion: String(this.#version++) };
    return { ...first, metadata, status };
  }

  #tell(event: Parameters<InformerHandler<WatchedProtector>["onEvent"]>[0]): void {
    for (const handler of this.#handlers) handler.onEvent(event);
  }
}

function decoded(object: Json): WatchedProtector {
  const watched = decodeWatched(object);
  if (watched === undefined) throw new Error("a made-up object has no name");
  return watched;
}
