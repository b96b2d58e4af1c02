/**
 * One core cluster for several webhook replicas: PodProtectors with resourceVersions, status writes that compare and
 * swap, and informers whose events a test delivers when it likes. Requests take `latencyMs` of the clock; a script may
 * make each fail, before or after it took effect.
 */
import { KubeError, type KubeClient, type KubeErrorKind, type KubeRequest } from "../../../../src/kube/kube-client.ts";
import { type Clock, sleep } from "../../../../src/util/clock.ts";
import { FakeInformer } from "./fake-informer.ts";
import { type Json } from "./objects.ts";

/** What a script does with a request. */
export type Fault =
  | "none"
  /** The request does not reach the server. */
  | { readonly refuse: KubeErrorKind; readonly code?: number; readonly retryAfterMs?: number }
  /** It takes effect, but the answer is lost. */
  | { readonly loseAnswer: KubeErrorKind };

interface StoredObject {
  readonly body: Json;
  readonly version: number;
}

export class FakeCore {
  readonly #objects = new Map<string, StoredObject>();
  readonly #informers: FakeInformer[] = [];
  readonly #clock: Clock;
  latencyMs = 5;
  version = 1;
  /** Informers see each change at once; otherwise when the test calls `deliver`. */
  watches = true;
  /** Drops fields of buckets that upstream's CRD does not have. */
  prunes = false;
  script: (request: KubeRequest) => Fault = () => "none";
  /** Of PodProtectors alone. */
  readonly requests: KubeRequest[] = [];
  /** The CRD of PodProtectors; undefined = none. */
  definition: Json | undefined = { metadata: { uid: "crd-1" } };
  /** Data of the generator's ConfigMap. */
  generatorState: Readonly<Record<string, string>> | undefined;
  writes = 0;
  conflicts = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Creates or replaces an object. */
  put(body: Json): void {
    this.#store(keyOf(body), body);
  }

  /** Changes the status, as an aggregator does. */
  update(key: string, change: (status: { cells: Json[] }) => void): void {
    const body = structuredClone(this.object(key));
    change(body["status"] as { cells: Json[] });
    this.#store(key, body);
  }

  /** A new version of each object, the same otherwise. */
  touch(): void {
    for (const [key, { body }] of this.#objects) this.#store(key, body);
  }

  remove(key: string): void {
    this.#objects.delete(key);
    if (this.watches) this.deliver();
  }

  /** Puts an object back to an earlier version, as the restore of a backup does. */
  restore(body: Json, version: number): void {
    this.#objects.set(keyOf(body), { body: withVersion(body, version), version });
  }

  get keys(): readonly string[] {
    return [...this.#objects.keys()];
  }

  object(key: string): Json {
    const object = this.#objects.get(key);
    if (object === undefined) throw new Error(`no object ${key}`);
    return object.body;
  }

  /** All buckets of an object, over all cells. */
  buckets(key: string): readonly Json[] {
    const status = this.object(key)["status"] as { cells: { admissionHistory?: { buckets?: Json[] } }[] };
    return status.cells.flatMap((cell) => cell.admissionHistory?.buckets ?? []);
  }

  /** Tells all informers the present state. */
  deliver(): void {
    for (const informer of this.#informers) informer.sync([...this.#objects.values()].map(({ body }) => body));
  }

  informer(): FakeInformer {
    const informer = new FakeInformer();
    this.#informers.push(informer);
    return informer;
  }

  client(cluster = "core"): KubeClient {
    return {
      cluster,
      request: (request) => this.#request(request),
      stream: () => Promise.reject(new KubeError("serverError", "no watches here")),
      close: () => Promise.resolve(),
    };
  }

  async #request(request: KubeRequest): Promise<unknown> {
    const isProtector = request.path.includes("/podprotectors/");
    if (isProtector) this.requests.push(request);
    const fault = this.script(request);
    const sent = structuredClone(request.body) as Json | undefined;
    await sleep(this.#clock, this.latencyMs);
    if (fault !== "none" && "refuse" in fault) throw failure(fault.refuse, request, fault.code, fault.retryAfterMs);
    const answer = isProtector ? this.#serve(request, sent) : this.#serveOther(request);
    if (fault !== "none") throw failure(fault.loseAnswer, request);
    await sleep(this.#clock, this.latencyMs);
    return answer;
  }

  #serve(request: KubeRequest, sent: Json | undefined): unknown {
    const match = /\/namespaces\/([^/]+)\/podprotectors\/([^/]+)(\/status)?$/.exec(request.path);
    const key = `${match?.[1]}/${match?.[2]}`;
    const object = this.#objects.get(key);
    if (object === undefined) throw failure("notFound", request, 404);
    if (request.method === "GET") return structuredClone(object.body);
    const { resourceVersion } = (sent as { metadata: { resourceVersion: string } }).metadata;
    if (resourceVersion !== String(object.version)) {
      this.conflicts++;
      throw failure("conflict", request, 409);
    }
    this.writes++;
    const status = this.prunes ? pruned(sent?.["status"]) : sent?.["status"];
    return structuredClone(this.#store(key, { ...object.body, status }));
  }

  #serveOther(request: KubeRequest): unknown {
    const isDefinition = request.path.endsWith("/customresourcedefinitions/podprotectors.podseidon.kubewharf.io");
    const { definition, generatorState } = this;
    const [, namespace, name] = /\/namespaces\/([^/]+)\/configmaps\/([^/]+)$/.exec(request.path) ?? [];
    const metadata = { namespace, name, resourceVersion: "1" };
    const configMap = generatorState && { apiVersion: "v1", kind: "ConfigMap", metadata, data: generatorState };
    const found = isDefinition ? definition : configMap;
    if (found === undefined) throw failure("notFound", request, 404);
    return structuredClone(found);
  }

  #store(key: string, body: Json): Json {
    this.version++;
    const stored = withVersion(body, this.version);
    this.#objects.set(key, { body: stored, version: this.version });
    if (this.watches) this.deliver();
    return stored;
  }
}

function keyOf(body: Json): string {
  const { namespace, name } = body["metadata"] as { namespace: string; name: string };
  return `${namespace}/${name}`;
}

function withVersion(body: Json, version: number): Json {
  return { ...body, metadata: { ...(body["metadata"] as Json), resourceVersion: String(version) } };
}

function failure(kind: KubeErrorKind, request: KubeRequest, code?: number, retryAfterMs?: number): KubeError {
  const details = {
    ...(code !== undefined && { code, status: { code } }),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  };
  return new KubeError(kind, `${request.method} ${request.path}: ${kind}`, details);
}

function pruned(status: unknown): unknown {
  return JSON.parse(
    JSON.stringify(status, (key, value: unknown) =>
      key === "podResourceVersion" || key === "podUIDDigests" ? undefined : value,
    ),
  );
}
