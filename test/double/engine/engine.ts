/**
 * One Kubernetes API server without HTTP: storage, semantics and admission. Everything that passes is a request of some
 * caller at the injected clock; nothing here knows of sockets, so a simulation can drive it on a virtual clock.
 */
import { type Clock } from "../../../src/util/clock.ts";
import { type Rng } from "../../../src/util/rng.ts";
import { Admission, type CallWebhook, type Caller } from "./admission.ts";
import { CustomResources } from "./crd.ts";
import { deleteAnswer, deleteObject, deleteObjects } from "./requests/delete.ts";
import { bindPod, evictPod } from "./requests/eviction.ts";
import { type ListQuery, type ListResult, listObjects, parseVersion } from "./requests/list.ts";
import { type JsonObject, type KubeObject, isObject } from "./object.ts";
import { type Patch } from "./requests/patch.ts";
import { ResourceRegistry, type ResourceType, apiVersionOf, builtInResources as types } from "./resources.ts";
import { patchScale, scaleOf, updateScale } from "./requests/scale.ts";
import { type Status, badRequest, notImplemented, tooLargeVersion } from "./status.ts";
import { type Backup, type Change, Store } from "./store.ts";
import { type Watch, type WatchQuery, type WatchSink, openWatch } from "./requests/watch.ts";
import { type FieldValidation, type Target, type WriteContext, type WriteOptions, current } from "./requests/write.ts";
import { createObject } from "./requests/create.ts";
import { patchObject, updateObject } from "./requests/update.ts";

export interface EngineOptions {
  readonly clock: Clock;
  readonly rng: Rng;
  readonly callWebhook: CallWebhook;
  /**
   * Changes kept per resource for resuming watches; default 20 000, enough for every test that does not ask for less.
   */
  readonly historyChangesMax?: number;
  /** Milliseconds between bookmarks of a watch; default 60 000, as in the real server. */
  readonly bookmarkPeriodMs?: number;
  /** ValidatingWebhookConfigurations besides the stored ones. */
  readonly webhookConfigurations?: readonly JsonObject[];
  /** A sick etcd; see WriteContext. */
  readonly beforeCommit?: WriteContext["beforeCommit"];
  /** A watch cache that is behind; see WriteContext. */
  readonly cachedState?: WriteContext["cachedState"];
  /** A patched API server that writes something into every object; see WriteContext. */
  readonly stampWrites?: WriteContext["stampWrites"];
}

/** Who asks and how; all optional. */
export interface RequestOptions {
  /** Default: systemAdmin. */
  readonly caller?: Caller;
  readonly dryRun?: boolean;
  /** Name in managedFields; default "double". */
  readonly fieldManager?: string;
  /** Default Warn, as in the real server. */
  readonly fieldValidation?: FieldValidation;
  /** Takes what the caller is to be told besides the answer; default: nobody is told. */
  readonly warn?: (text: string) => void;
}

/** The caller of requests that name none: everything is allowed. */
export const systemAdmin: Caller = { username: "system:admin", groups: ["system:masters", "system:authenticated"] };

// A fresh real cluster has these.
const firstNamespaces = ["default", "kube-system", "kube-public", "kube-node-lease"];

function writeOptions(options: RequestOptions): WriteOptions {
  const { caller = systemAdmin, dryRun = false, fieldManager = "double", fieldValidation = "Warn" } = options;
  return { caller, dryRun, fieldManager, fieldValidation, warn: options.warn ?? (() => {}) };
}

/** True when the DeleteOptions or the request ask for a dry run. */
function deleteDryRun(deleteOptions: JsonObject, options: RequestOptions): boolean {
  const { dryRun } = deleteOptions;
  return options.dryRun === true || (Array.isArray(dryRun) && dryRun.includes("All"));
}

export class Engine {
  readonly registry = new ResourceRegistry();
  readonly clock: Clock;
  readonly #store: Store;
  readonly #custom: CustomResources;
  readonly #context: WriteContext;
  readonly #rng: Rng;
  readonly #bookmarkPeriodMs: number;

  constructor(options: EngineOptions) {
    const { clock, rng, callWebhook } = options;
    this.clock = clock;
    this.#rng = rng;
    this.#store = new Store(options.historyChangesMax ?? 20_000);
    this.#bookmarkPeriodMs = options.bookmarkPeriodMs ?? 60_000;
    this.#custom = new CustomResources(this.#store, this.registry, clock);
    const staticWebhookConfigurations = options.webhookConfigurations ?? [];
    this.#context = {
      store: this.#store,
      admission: new Admission({ store: this.#store, rng, clock, callWebhook, staticWebhookConfigurations }),
      clock,
      rng,
      schemaOf: (type) => this.#custom.schemaOf(type),
      checkCreate: (type) => this.#custom.checkCreate(type),
      beforeCommit: options.beforeCommit,
      cachedState: options.cachedState,
      stampWrites: options.stampWrites,
      onCommitted: (type, object, deleted) => this.#custom.onCommitted(type, object, deleted),
    };
  }

  /** Creates the namespaces that every cluster has. Call once. */
  async bootstrap(): Promise<void> {
    for (const name of firstNamespaces) {
      await this.create(types.namespaces, undefined, { apiVersion: "v1", kind: "Namespace", metadata: { name } });
    }
  }

  /** The cluster's present revision. */
  get revision(): number {
    return this.#store.revision;
  }

  /** Stores a CustomResourceDefinition (new, or in place of the one of its name) and serves its resource at once. */
  async installCrd(crd: unknown): Promise<ResourceType> {
    if (!isObject(crd)) throw badRequest("the CustomResourceDefinition is no object");
    const name = String((crd["metadata"] as JsonObject)["name"]);
    const existing = this.#store.get(types.customResourceDefinitions, name);
    if (existing === undefined) await this.create(types.customResourceDefinitions, undefined, crd);
    else {
      const { metadata } = existing;
      const { resourceVersion } = metadata;
      const body = {
        ...crd,
        metadata: { ...(crd["metadata"] as JsonObject), resourceVersion, finalizers: metadata.finalizers },
      };
      await this.update(types.customResourceDefinitions, undefined, name, body);
    }
    return this.registry.all().find((type) => `${type.resource}.${type.group}` === name)!;
  }

  /** The object, never older than `resourceVersion`. Throws 404, and 504 for a version that is not there yet. */
  get(type: ResourceType, namespace: string | undefined, name: string, resourceVersion?: string): KubeObject {
    const version = parseVersion(resourceVersion) ?? 0;
    if (version > this.#store.revision) throw tooLargeVersion(version, this.#store.revision);
    return current(this.#context, { type, namespace, name });
  }

  /** The object, or undefined. */
  find(type: ResourceType, namespace: string | undefined, name: string): KubeObject | undefined {
    return this.#store.get(type, namespace === undefined ? name : `${namespace}/${name}`);
  }

  list(type: ResourceType, namespace?: string, query: ListQuery = {}): ListResult {
    return listObjects(this.#store, type, namespace, query);
  }

  /** Opens a watch; `lagMs` is read at each change. See openWatch. */
  watch(
    type: ResourceType,
    namespace: string | undefined,
    query: WatchQuery,
    sink: WatchSink,
    lagMs: () => number = () => 0,
  ): Watch {
    const environment = {
      store: this.#store,
      clock: this.clock,
      rng: this.#rng,
      bookmarkPeriodMs: this.#bookmarkPeriodMs,
    };
    return openWatch(environment, type, namespace, query, sink, lagMs);
  }

  async create(
    type: ResourceType,
    namespace: string | undefined,
    body: unknown,
    options: RequestOptions = {},
  ): Promise<KubeObject> {
    if (type === types.customResourceDefinitions) this.#custom.check(body as KubeObject);
    return await createObject(this.#context, type, namespace, body, writeOptions(options));
  }

  /** PUT of the object, or of its status. */
  async update(
    type: ResourceType,
    namespace: string | undefined,
    name: string,
    body: unknown,
    options: RequestOptions & { readonly subresource?: "status" } = {},
  ): Promise<KubeObject> {
    if (type === types.customResourceDefinitions) this.#custom.check(body as KubeObject);
    const target = { type, namespace, name };
    return await updateObject(this.#context, target, options.subresource, body, writeOptions(options));
  }

  /** PATCH of the object, or of its status. */
  async patch(
    type: ResourceType,
    namespace: string | undefined,
    name: string,
    patch: Patch,
    options: RequestOptions & { readonly subresource?: "status" } = {},
  ): Promise<KubeObject> {
    const target = { type, namespace, name };
    return await patchObject(this.#context, target, options.subresource, patch, writeOptions(options));
  }

  /** DELETE with meta/v1 DeleteOptions. The answer is the object while it lingers, else what the resource returns. */
  async delete(
    type: ResourceType,
    namespace: string | undefined,
    name: string,
    deleteOptions: JsonObject = {},
    options: RequestOptions = {},
  ): Promise<KubeObject | Status> {
    const target = { type, namespace, name };
    const { caller, warn } = writeOptions(options);
    const dryRun = deleteDryRun(deleteOptions, options);
    return deleteAnswer(
      target,
      await deleteObject(this.#context, target, { caller, warn, dryRun, options: deleteOptions, reviewName: name }),
    );
  }

  /** Deletes what a list selects, one by one; ends at the first refusal. Returns the objects that the list held. */
  async deleteCollection(
    type: ResourceType,
    namespace: string | undefined,
    query: ListQuery = {},
    deleteOptions: JsonObject = {},
    options: RequestOptions = {},
  ): Promise<ListResult> {
    const listed = listObjects(this.#store, type, namespace, query);
    const targets = listed.items.map(({ metadata }): Target => ({
      type,
      namespace: metadata.namespace,
      name: metadata.name,
    }));
    const { caller, warn } = writeOptions(options);
    const dryRun = deleteDryRun(deleteOptions, options);
    await deleteObjects(this.#context, targets, { caller, warn, dryRun, options: deleteOptions });
    return listed;
  }

  /** POST pods/eviction. `body` is a policy/v1 Eviction. */
  async evict(namespace: string, name: string, body?: JsonObject, options: RequestOptions = {}): Promise<Status> {
    const eviction = body ?? { apiVersion: "policy/v1", kind: "Eviction", metadata: { name, namespace } };
    return await evictPod(this.#context, namespace, name, eviction, writeOptions(options));
  }

  /** POST pods/binding: assigns the pod to a node. */
  bind(namespace: string, name: string, nodeName: string, options: RequestOptions = {}): Status {
    return bindPod(this.#context, namespace, name, nodeName, writeOptions(options));
  }

  getScale(type: ResourceType, namespace: string | undefined, name: string): JsonObject {
    return scaleOf(type, current(this.#context, { type, namespace, name }));
  }
  async updateScale(
    type: ResourceType,
    namespace: string | undefined,
    name: string,
    body: unknown,
    options: RequestOptions = {},
  ): Promise<JsonObject> {
    return await updateScale(this.#context, { type, namespace, name }, body, writeOptions(options));
  }
  async patchScale(
    type: ResourceType,
    namespace: string | undefined,
    name: string,
    patch: Patch,
    options: RequestOptions = {},
  ): Promise<JsonObject> {
    return await patchScale(this.#context, { type, namespace, name }, patch, writeOptions(options));
  }

  /**
   * Forgets past changes, as a compaction does: watches and pages that resume from before now are answered with
   * Expired.
   */
  forgetHistory(): void {
    this.#store.forgetHistory();
  }

  /**
   * Calls `listener` for each later change of the resource, within its commit, so that it must not call the engine;
   * returns the unsubscriber.
   */
  onChange(type: ResourceType, listener: (change: Change) => void): () => void {
    return this.#store.subscribe(type, listener);
  }

  /** All objects and the revision, as a backup of etcd holds them. */
  backup(): Backup {
    return this.#store.backup();
  }

  /**
   * Goes back to a backup: revisions are given a second time, and the history is gone. Open watches hear nothing: cut
   * them off.
   */
  restore(backup: Backup): void {
    this.#store.restore(backup);
  }

  /**
   * Removes everything of a resource without admission, finalizers or events of deletion per caller, as lost storage
   * does.
   */
  wipe(type: ResourceType): void {
    if (type === types.namespaces) throw notImplemented("wiping namespaces");
    for (const { metadata } of this.#store.values(type)) this.erase(type, metadata.namespace, metadata.name);
  }

  /** Removes one object in the same way; nothing happens when there is none. */
  erase(type: ResourceType, namespace: string | undefined, name: string): void {
    const key = namespace === undefined ? name : `${namespace}/${name}`;
    const object = this.#store.get(type, key);
    if (object === undefined) return;
    this.#store.remove(type, key);
    this.#custom.onCommitted(type, object, true);
  }

  /** The type of a kind, for controllers that follow owner references. */
  typeOfKind(apiVersion: string, kind: string): ResourceType | undefined {
    return this.registry.all().find((type) => type.kind === kind && apiVersionOf(type) === apiVersion);
  }
}
