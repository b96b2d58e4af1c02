/** Creation: decode, complete, ask admission, and commit only when the name is still free. */
import { reviewOptions } from "../admission.ts";
import { randomNameSuffix, randomUuid } from "../identity.ts";
import { decodeObject, nowSeconds, stampManager } from "../metadata.ts";
import { type JsonObject, type KubeObject, asString, deepFreeze, objectKey, withMetadata } from "../object.ts";
import { type ResourceType, builtInResources } from "../resources.ts";
import { alreadyExists, badRequest, forbidden, invalid, notFound, plainError } from "../status.ts";
import { applyDefaults, initialStatus } from "../strategy.ts";
import { type WriteContext, type WriteOptions, checkFields, commit, prune, unreadable } from "./write.ts";

function checkNamespace(context: WriteContext, type: ResourceType, namespace: string | undefined, name: string): void {
  if (!type.namespaced || namespace === undefined) return;
  const found = context.store.get(builtInResources.namespaces, namespace);
  if (found === undefined) throw notFound(builtInResources.namespaces, namespace);
  if (found.metadata.deletionTimestamp !== undefined) {
    const why = `unable to create new content in namespace ${namespace} because it is being terminated`;
    const field = "metadata.namespace";
    const message = `namespace ${namespace} is being terminated`;
    throw forbidden(type, name, why, [{ reason: "NamespaceTerminating", message, field }]);
  }
}

function newName(context: WriteContext, type: ResourceType, metadata: JsonObject): string {
  const name = asString(metadata["name"]);
  if (name !== undefined && name !== "") return name;
  const prefix = asString(metadata["generateName"]);
  if (prefix !== undefined && prefix !== "") return prefix + randomNameSuffix(context.rng);
  const detail = "Required value: name or generateName is required";
  throw invalid(type, "", [{ field: "metadata.name", reason: "FieldValueRequired", detail }]);
}

/** Creates an object. Throws 400, 404 (namespace), 409, 422 and what admission says. */
export async function createObject(
  context: WriteContext,
  type: ResourceType,
  namespace: string | undefined,
  body: unknown,
  options: WriteOptions,
): Promise<KubeObject> {
  const decoded = decodeObject(type, body, namespace);
  if (asString(decoded.metadata.resourceVersion) !== undefined && decoded.metadata.resourceVersion !== "") {
    throw plainError("resourceVersion should not be set on objects to be created");
  }
  const name = newName(context, type, decoded.metadata as unknown as JsonObject);
  context.checkCreate(type);
  checkNamespace(context, type, namespace, name);
  const time = nowSeconds(context.clock);
  const named = withMetadata(decoded, {
    name,
    uid: randomUuid(context.rng),
    creationTimestamp: time,
    resourceVersion: undefined,
    deletionTimestamp: undefined,
    deletionGracePeriodSeconds: undefined,
    managedFields: undefined,
    generation: type.hasGeneration ? 1 : undefined,
  });
  const pruned = prune(context, type, named, options, (why) => badRequest(unreadable(type, why)));
  const complete = initialStatus(type, applyDefaults(type, pruned));
  checkFields(context, type, complete, undefined);
  const writer = { manager: options.fieldManager, subresource: undefined, time };
  const object = deepFreeze(stampManager(type, undefined, complete, writer));
  await context.admission.validate({
    operation: "CREATE",
    type,
    namespace,
    name,
    object,
    caller: options.caller,
    dryRun: options.dryRun,
    warn: options.warn,
    options: reviewOptions("CreateOptions", { fieldManager: options.fieldManager }, options.dryRun),
  });
  context.checkCreate(type);
  checkNamespace(context, type, namespace, name);
  if (context.store.get(type, objectKey(namespace, name)) !== undefined) throw alreadyExists(type, name);
  return commit(context, type, object, options.dryRun);
}
