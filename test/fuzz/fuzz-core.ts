/**
 * The core cluster of an episode: PodProtectors as JSON text, parsed for every answer and event as from the wire, so
 * that nothing is shared with the product, and depth and odd keys arrive as they would. (FakeCore of the webhook's
 * tests clones objects, which neither survives depth nor text that is odd.)
 */
import { KubeError, type KubeClient, type KubeErrorKind, type KubeRequest } from "../../src/kube/kube-client.ts";
import { type Clock, sleep } from "../../src/util/clock.ts";
import { decodeWatched } from "../../src/webhook/index.ts";
import { FakeInformer } from "../unit/webhook/support/fake-informer.ts";
import { type Json } from "../unit/webhook/support/objects.ts";
import { type Fault } from "./episode.ts";

export interface AcceptedWrite {
  readonly key: string;
  readonly before: Json;
  readonly after: Json;
}

export interface FuzzCoreOptions {
  readonly clock: Clock;
  readonly latencyMs: number;
  /** Cores do not lie about these. */
  readonly steadyKeys: ReadonlySet<string>;
  readonly onWrite: (write: AcceptedWrite) => void;
}

export class FuzzCore {
  readonly informer = new FakeInformer();
  readonly faults: Fault[] = [];
  readonly #options: FuzzCoreOptions;
  readonly #objects = new Map<string, { readonly body: Json; readonly version: number }>();
  readonly #changed = new Set<string>();
  #version = 1;

  constructor(options: FuzzCoreOptions) {
    this.#options = options;
  }

  /** What has no name that the API server takes goes to the watch's decoder alone. */
  put(text: string): void {
    // Twice, because numbers beyond all ranges are kept by nobody.
    const body: unknown = JSON.parse(JSON.stringify(JSON.parse(text)));
    const metadata = ((body as Json | null)?.["metadata"] ?? {}) as Json;
    const { namespace, name } = metadata;
    if (!isName(namespace) || !isName(name)) {
      decodeWatched(body);
      return;
    }
    const before = this.#objects.get(`${namespace}/${name}`)?.body["metadata"] as Json | undefined;
    // The API server takes no other UID than the one that it gave.
    const uid = typeof metadata["uid"] === "string" ? metadata["uid"] : (before?.["uid"] ?? "uid");
    this.#store(`${namespace}/${name}`, { ...(body as Json), metadata: { ...metadata, uid } });
  }

  remove(key: string): void {
    this.#objects.delete(key);
    this.#changed.add(key);
  }

  object(key: string): Json | undefined {
    return this.#objects.get(key)?.body;
  }

  deliver(): void {
    for (const key of this.#changed) this.informer.show(key, this.#read(key));
    this.#changed.clear();
    this.informer.isListed = true;
  }

  client(): KubeClient {
    return {
      cluster: "core",
      request: (request) => this.#request(request),
      stream: () => Promise.reject(new KubeError("serverError", "no watches here")),
      close: () => Promise.resolve(),
    };
  }

  async #request(request: KubeRequest): Promise<unknown> {
    if (request.path.includes("/customresourcedefinitions/")) return { metadata: { uid: "crd" } };
    if (!request.path.includes("/podprotectors/")) throw failure("notFound");
    const { clock, latencyMs, steadyKeys } = this.#options;
    const [, key = "", isStatus] = /\/namespaces\/([^/]+\/podprotectors\/[^/]+)(\/status)?$/.exec(request.path) ?? [];
    const objectKey = decodeURIComponent(key.replace("/podprotectors/", "/"));
    const sent = request.body === undefined ? undefined : JSON.stringify(request.body);
    const fault = this.faults.shift();
    const isLate = fault !== undefined && "error" in fault && fault.error === "timeout";
    await sleep(clock, isLate ? (request.timeoutMs ?? 30_000) : latencyMs);
    if (fault?.kind === "refuse") throw failure(fault.error, fault.retryAfterMs);
    const answer = this.#serve(request.method, objectKey, sent, isStatus !== undefined);
    if (fault?.kind === "loseAnswer") throw failure(fault.error);
    if (!isLate) await sleep(clock, latencyMs);
    return fault?.kind === "answer" && !steadyKeys.has(objectKey) ? (JSON.parse(fault.text) as unknown) : answer;
  }

  #serve(method: string, key: string, sent: string | undefined, isStatus: boolean): unknown {
    const object = this.#objects.get(key);
    if (object === undefined) throw failure("notFound");
    if (method === "GET" || sent === undefined || !isStatus) return this.#read(key);
    const body = JSON.parse(sent) as Json & { metadata: Json };
    if (body.metadata["resourceVersion"] !== String(object.version)) throw failure("conflict");
    this.#store(key, { ...object.body, status: body["status"] });
    this.#options.onWrite({ key, before: object.body, after: body });
    return this.#read(key);
  }

  #read(key: string): unknown {
    const object = this.#objects.get(key);
    return object === undefined ? undefined : (JSON.parse(JSON.stringify(object.body)) as unknown);
  }

  #store(key: string, body: Json): void {
    this.#version += 1;
    const metadata = { ...(body["metadata"] as Json), resourceVersion: String(this.#version) };
    this.#objects.set(key, { body: { ...body, metadata }, version: this.#version });
    this.#changed.add(key);
  }
}

/** As the API server checks it: a DNS subdomain. */
function isName(value: unknown): value is string {
  return typeof value === "string" && /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/.test(value);
}

function failure(kind: KubeErrorKind, retryAfterMs?: number): KubeError {
  return new KubeError(kind, `the core answers ${kind}`, retryAfterMs === undefined ? {} : { retryAfterMs });
}
