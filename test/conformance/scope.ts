/**
 * What one case works with: namespaces of its own, collections of objects in them, and reviews of what it does there.
 */
import { setTimeout as delay } from "node:timers/promises";
import { bodies, podProtectorApi } from "./bodies.ts";
import { ok } from "./expect.ts";
import { profileLabel, type ReviewProfile, type ReviewRequest, type ReviewResponse } from "./reviews.ts";
import {
  type Answer,
  type Query,
  type RequestOptions,
  type Target,
  type UniqueName,
  type WatchStream,
} from "./target.ts";
import { type Labels, meta, type Thing, versionOf } from "./thing.ts";

const roots = {
  pods: "/api/v1",
  configmaps: "/api/v1",
  secrets: "/api/v1",
  events: "/api/v1",
  services: "/api/v1",
  serviceaccounts: "/api/v1",
  deployments: "/apis/apps/v1",
  replicasets: "/apis/apps/v1",
  statefulsets: "/apis/apps/v1",
  leases: "/apis/coordination.k8s.io/v1",
  poddisruptionbudgets: "/apis/policy/v1",
  podprotectors: `/apis/${podProtectorApi}`,
} as const;

export type ResourceName = keyof typeof roots;

const limitMs = 60_000;
const pollMs = 20;

/** Polls what no watch tells: `probe` until it resolves to true. */
export async function eventually(what: string, probe: () => Promise<boolean>): Promise<void> {
  const endMs = performance.now() + limitMs;
  while (!(await probe())) {
    if (performance.now() > endMs) throw new Error(`${what}: not within ${limitMs} ms`);
    await delay(pollMs);
  }
}

const mergeType = "application/merge-patch+json";
const jsonPatchType = "application/json-patch+json";
const tableType = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
const strategicType = "application/strategic-merge-patch+json";

/** The objects of one resource in one namespace. `name` may go on with a subresource: `a/status`. */
export class Collection {
  readonly target: Target;
  readonly path: string;

  constructor(target: Target, path: string) {
    this.target = target;
    this.path = path;
  }

  request(method: string, name: string, options?: RequestOptions): Promise<Answer> {
    return this.target.request(method, name === "" ? this.path : `${this.path}/${name}`, options);
  }

  list(query: Query = {}): Promise<Answer> {
    return this.request("GET", "", { query });
  }
  get(name: string, query: Query = {}): Promise<Answer> {
    return this.request("GET", name, { query });
  }
  post(body: unknown, query: Query = {}): Promise<Answer> {
    return this.request("POST", "", { body, query });
  }
  put(name: string, body: unknown, query: Query = {}): Promise<Answer> {
    return this.request("PUT", name, { body, query });
  }
  merge(name: string, body: unknown, query: Query = {}): Promise<Answer> {
    return this.request("PATCH", name, { body, query, contentType: mergeType });
  }
  jsonPatch(name: string, body: unknown, query: Query = {}): Promise<Answer> {
    return this.request("PATCH", name, { body, query, contentType: jsonPatchType });
  }
  strategic(name: string, body: unknown, query: Query = {}): Promise<Answer> {
    return this.request("PATCH", name, { body, query, contentType: strategicType });
  }
  /** A read as the table that kubectl asks for; `name` may be empty for a list. */
  table(name: string, query: Query = {}): Promise<Answer> {
    return this.request("GET", name, { query, accept: tableType });
  }
  delete(name: string, deleteOptions?: object, query: Query = {}): Promise<Answer> {
    const body =
      deleteOptions === undefined ? undefined : { kind: "DeleteOptions", apiVersion: "v1", ...deleteOptions };
    return this.request("DELETE", name, { body, query });
  }
  watch(query: Query = {}): Promise<WatchStream> {
    return this.target.watch(this.path, query);
  }
  tableWatch(query: Query = {}): Promise<WatchStream> {
    return this.target.watch(this.path, query, tableType);
  }

  /** Creates what must be creatable and returns it. */
  async create(body: unknown): Promise<Thing> {
    return ok(await this.post(body), 201);
  }
  /** Reads what must be there. */
  async read(name: string): Promise<Thing> {
    return ok(await this.get(name), 200);
  }
  /** True while the server has an object of this name. */
  async has(name: string): Promise<boolean> {
    return (await this.get(name)).code === 200;
  }
  /** The collection's present version, by a consistent list. */
  async version(): Promise<string> {
    return versionOf(ok(await this.list()));
  }
}

/** One namespace of a case. */
export class Space {
  readonly name: string;
  readonly target: Target;
  readonly #reviews: ReviewRequest[] = [];

  constructor(target: Target, name: string) {
    this.target = target;
    this.name = name;
  }

  of(resource: ResourceName): Collection {
    return new Collection(this.target, `${roots[resource]}/namespaces/${this.name}/${resource}`);
  }
  get pods(): Collection {
    return this.of("pods");
  }
  get configMaps(): Collection {
    return this.of("configmaps");
  }

  /** A pod that runs on a node, so that its deletion has a grace period. */
  livePod(name: string, more: { labels?: Labels; finalizers?: readonly string[] } = {}): Promise<Thing> {
    return this.pods.create(bodies.pod(name, { nodeName: "node-0", ...more }));
  }

  /** POST pods/eviction. */
  evict(name: string, more: object = {}, query: Query = {}): Promise<Answer> {
    const body = { apiVersion: "policy/v1", kind: "Eviction", metadata: { name, namespace: this.name }, ...more };
    return this.pods.request("POST", `${name}/eviction`, { body, query });
  }

  /** Decides the reviews of this namespace; default: allowed. `decide` is called after the review is kept. */
  review(
    decide: (request: ReviewRequest) => ReviewResponse | Promise<ReviewResponse> = () => ({ allowed: true }),
  ): void {
    this.target.onReview(this.name, (request) => {
      this.#reviews.push(request);
      return decide(request);
    });
  }

  /** Reviews since `review` was called, in the order of arrival. */
  get reviews(): readonly ReviewRequest[] {
    return this.#reviews;
  }
}

/** Handed to each case. */
export class Scope {
  readonly target: Target;
  readonly unique: UniqueName;

  constructor(target: Target, unique: UniqueName) {
    this.target = target;
    this.unique = unique;
  }

  /** A new namespace; with a profile its requests are reviewed. */
  async space(profile?: ReviewProfile): Promise<Space> {
    const name = this.unique("case");
    const labels = profile === undefined ? {} : { [profileLabel]: profile };
    ok(await this.cluster("/api/v1", "namespaces").post(bodies.namespace(name, labels)), 201);
    const space = new Space(this.target, name);
    if (profile !== undefined) space.review();
    return space;
  }

  /** Cluster-scoped objects. */
  cluster(root: string, resource: string): Collection {
    return new Collection(this.target, `${root}/${resource}`);
  }
}

/**
 * `operation`, or `operation/subresource`, and the version that was asked about, relative to `known`: names for
 * reading.
 */
export function summary(reviews: readonly ReviewRequest[]): readonly string[] {
  return reviews.map(({ operation, subResource, oldObject }) => {
    const what = subResource === undefined ? operation : `${operation} ${subResource}`;
    if (oldObject === null) return what;
    return `${what} ${meta(oldObject).deletionTimestamp === undefined ? "live" : "terminating"}`;
  });
}
