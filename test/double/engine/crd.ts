/** CustomResourceDefinitions: they bring resources to life, and their deletion takes all their objects along. */
import { type CustomSchema, compileCustomSchema } from "./crd-schema.ts";
import { nowSeconds } from "./metadata.ts";
import {
  type JsonObject,
  type KubeObject,
  asArray,
  asObject,
  asString,
  jsonEquals,
  objectKey,
  withFields,
  withMetadata,
} from "./object.ts";
import {
  type ResourceRegistry,
  type ResourceType,
  type ScalePaths,
  builtInResources,
  customResource,
} from "./resources.ts";
import { type FieldError, forbidden, invalid, noSuchResource, notImplemented } from "./status.ts";
import { type Store } from "./store.ts";

interface Served {
  readonly type: ResourceType;
  readonly schema: CustomSchema;
}

function readDefinition(crd: KubeObject): { names: JsonObject; version: JsonObject; scope: unknown; group: string } {
  const spec = asObject(crd.spec);
  const served = asArray(spec["versions"])
    .map(asObject)
    .filter((version) => version["served"] === true);
  const [version, second] = served;
  if (version === undefined) {
    const error: FieldError = {
      field: "spec.versions",
      reason: "FieldValueInvalid",
      detail: "Invalid value: no version is served",
    };
    throw invalid(builtInResources.customResourceDefinitions, crd.metadata.name, [error]);
  }
  if (second !== undefined) throw notImplemented("CustomResourceDefinitions with several served versions");
  return { names: asObject(spec["names"]), version, scope: spec["scope"], group: asString(spec["group"]) ?? "" };
}

function scalePathsOf(scale: unknown): ScalePaths | undefined {
  if (scale === undefined) return undefined;
  const { specReplicasPath, statusReplicasPath, labelSelectorPath } = asObject(scale);
  return {
    specReplicas: asString(specReplicasPath) ?? "",
    statusReplicas: asString(statusReplicasPath) ?? "",
    selector: asString(labelSelectorPath),
  };
}

function compile(crd: KubeObject): Served {
  const { names, version, scope, group } = readDefinition(crd);
  const subresources = asObject(version["subresources"]);
  const kind = asString(names["kind"]) ?? "";
  const type = customResource(
    {
      group,
      version: asString(version["name"]) ?? "",
      resource: asString(names["plural"]) ?? "",
      singular: asString(names["singular"]) ?? kind.toLowerCase(),
      kind,
      shortNames: asArray(names["shortNames"]).map(String),
      categories: asArray(names["categories"]).map(String),
      printerColumns: asArray(version["additionalPrinterColumns"]).map(asObject),
      namespaced: scope === "Namespaced",
    },
    subresources["status"] !== undefined,
    scalePathsOf(subresources["scale"]),
  );
  return { type, schema: compileCustomSchema(asObject(asObject(version["schema"])["openAPIV3Schema"])) };
}

/** The type that a CustomResourceDefinition makes. Throws when it cannot be served. */
export function customType(crd: JsonObject): ResourceType {
  return compile(crd as unknown as KubeObject).type;
}

export class CustomResources {
  readonly #store: Store;
  readonly #registry: ResourceRegistry;
  readonly #now: () => string;
  /** By the name of the CRD. */
  readonly #served = new Map<string, Served>();

  constructor(store: Store, registry: ResourceRegistry, clock: Parameters<typeof nowSeconds>[0]) {
    this.#store = store;
    this.#registry = registry;
    this.#now = () => nowSeconds(clock);
  }

  schemaOf(type: ResourceType): CustomSchema | undefined {
    return type.custom ? this.#served.get(`${type.resource}.${type.group}`)?.schema : undefined;
  }

  /** Throws when the definition cannot be served; called before it is stored. */
  check(crd: KubeObject): void {
    compile(crd);
  }

  /** Throws when no object of the type can be created: its CRD is gone, or being deleted. */
  checkCreate(type: ResourceType): void {
    if (!type.custom) return;
    const name = `${type.resource}.${type.group}`;
    const crd = this.#store.get(builtInResources.customResourceDefinitions, name);
    if (crd === undefined) throw noSuchResource();
    if (crd.metadata.deletionTimestamp === undefined) return;
    throw forbidden(type, "", "create not allowed while custom resource definition is terminating");
  }

  /** Follows a committed change of any object. */
  onCommitted(type: ResourceType, object: KubeObject, deleted: boolean): void {
    if (type === builtInResources.customResourceDefinitions) {
      if (deleted) this.#withdraw(object);
      else this.#serve(object);
    } else if (type.custom && deleted) this.#finishTermination(type);
  }

  #serve(crd: KubeObject): void {
    if (crd.metadata.deletionTimestamp !== undefined) {
      this.#terminate(crd);
      return;
    }
    const served = compile(crd);
    this.#served.set(crd.metadata.name, served);
    this.#registry.add(served.type);
    const condition = {
      type: "Established",
      status: "True",
      reason: "InitialNamesAccepted",
      message: "the initial names have been accepted",
    };
    const accepted = { type: "NamesAccepted", status: "True", reason: "NoConflicts", message: "no conflicts found" };
    const known = asArray(asObject(crd.status)["conditions"]).length > 0;
    const status = {
      conditions: [accepted, condition].map((item) => ({ ...item, lastTransitionTime: this.#now() })),
      acceptedNames: asObject(crd.spec)["names"],
      storedVersions: [served.type.version],
    };
    const finalizers = ["customresourcecleanup.apiextensions.k8s.io"];
    if (known && jsonEquals(crd.metadata.finalizers, finalizers)) return;
    const next = withFields(withMetadata(crd, { finalizers }), { status });
    this.#store.put(builtInResources.customResourceDefinitions, crd.metadata.name, next);
  }

  /**
   * Deletes the objects without admission, as the server's own finalizer does; those with finalizers stay until they
   * are released.
   */
  #terminate(crd: KubeObject): void {
    const served = this.#served.get(crd.metadata.name);
    if (served === undefined) return;
    for (const object of this.#store.values(served.type)) {
      const { namespace, name, deletionTimestamp, finalizers } = object.metadata;
      const key = objectKey(namespace, name);
      if (finalizers === undefined) this.#store.remove(served.type, key);
      else if (deletionTimestamp === undefined) {
        const marked = withMetadata(object, { deletionTimestamp: this.#now(), deletionGracePeriodSeconds: 0 });
        this.#store.put(served.type, key, marked);
      }
    }
    this.#finishTermination(served.type);
  }

  #finishTermination(type: ResourceType): void {
    const name = `${type.resource}.${type.group}`;
    const crd = this.#store.get(builtInResources.customResourceDefinitions, name);
    if (crd?.metadata.deletionTimestamp === undefined) return;
    if (!this.#store.values(type).next().done) return;
    this.#store.remove(builtInResources.customResourceDefinitions, name);
    this.#withdraw(crd);
  }

  #withdraw(crd: KubeObject): void {
    const served = this.#served.get(crd.metadata.name);
    if (served !== undefined) this.#registry.remove(served.type);
    this.#served.delete(crd.metadata.name);
  }
}
