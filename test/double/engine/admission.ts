/**
 * Validating admission: which stored webhooks a request matches, the AdmissionReview that they are sent, and what their
 * answers mean. The call itself is injected, so that a simulation needs no socket.
 */
import { type Clock, type MonotonicMs } from "../../../src/util/clock.ts";
import { type Rng } from "../../../src/util/rng.ts";
import { type JsonObject, type KubeObject, asArray, asNumber, asObject, asString } from "./object.ts";
import { randomUuid } from "./identity.ts";
import { type ResourceType, apiVersionOf, builtInResources } from "./resources.ts";
import { compileLabelSelector } from "./selectors.ts";
import { ApiError, type StatusDetails, badRequest, internalError } from "./status.ts";
import { type Store } from "./store.ts";

/** Who sends a request. */
export interface Caller {
  readonly username: string;
  readonly uid?: string;
  readonly groups: readonly string[];
}

/** One request as admission sees it. */
export interface AdmissionAttributes {
  readonly operation: "CREATE" | "UPDATE" | "DELETE";
  readonly type: ResourceType;
  readonly subresource?: string | undefined;
  /** Kind of the object when it is not the resource's own, as for pods/eviction. */
  readonly kind?: { readonly group: string; readonly version: string; readonly kind: string };
  readonly namespace?: string | undefined;
  /** Empty for deletecollection. */
  readonly name: string;
  readonly object?: JsonObject | undefined;
  readonly oldObject?: KubeObject | undefined;
  readonly caller: Caller;
  readonly dryRun: boolean;
  readonly options: JsonObject;
  /** Takes the warnings of the webhooks. */
  readonly warn: (text: string) => void;
  /** By the engine's clock: when the request is over, and its reviews with it; undefined = they have their timeout. */
  readonly overAtMs?: MonotonicMs | undefined;
}

/**
 * Sends `review` (an AdmissionReview) to the webhook of a ValidatingWebhookConfiguration and resolves to the decoded
 * answer. Rejects with a message in words when there is none within `timeoutMs`.
 */
export type CallWebhook = (webhook: JsonObject, review: JsonObject, timeoutMs: number) => Promise<unknown>;

export interface AdmissionEnvironment {
  readonly store: Store;
  readonly rng: Rng;
  readonly clock: Clock;
  readonly callWebhook: CallWebhook;
  /** ValidatingWebhookConfiguration objects that apply besides the stored ones. */
  readonly staticWebhookConfigurations: readonly JsonObject[];
}

/** admissionregistration.k8s.io/v1 defaults. */
const timeoutSecondsDefault = 10;

function matchesRule(rule: JsonObject, attributes: AdmissionAttributes): boolean {
  const has = (list: unknown, value: string): boolean => asArray(list).some((item) => item === "*" || item === value);
  const { type, subresource } = attributes;
  if (!has(rule["operations"], attributes.operation)) return false;
  if (!has(rule["apiGroups"], type.group) || !has(rule["apiVersions"], type.version)) return false;
  const scope = asString(rule["scope"]) ?? "*";
  if (scope !== "*" && scope !== (type.namespaced ? "Namespaced" : "Cluster")) return false;
  return asArray(rule["resources"]).some((entry) => {
    const [resource, sub] = String(entry).split("/");
    const resourceMatches = resource === "*" || resource === type.resource;
    return resourceMatches && (sub === "*" || sub === subresource);
  });
}

function labelsOf(object: unknown): Readonly<Record<string, string>> {
  return asObject(asObject(asObject(object)["metadata"])["labels"]) as Record<string, string>;
}

function matchesSelectors(webhook: JsonObject, attributes: AdmissionAttributes, store: Store): boolean {
  const objectMatch = compileLabelSelector(webhook["objectSelector"] ?? {});
  const { object, oldObject, type, namespace } = attributes;
  const objects = [object, oldObject].filter((candidate) => candidate !== undefined);
  if (!objects.some((candidate) => objectMatch(labelsOf(candidate)))) return false;
  const namespaceMatch = compileLabelSelector(webhook["namespaceSelector"] ?? {});
  if (type === builtInResources.namespaces) return namespaceMatch(labelsOf(object ?? oldObject));
  // Cluster-scoped objects are not filtered by a namespace selector.
  if (namespace === undefined || !type.namespaced) return true;
  return namespaceMatch(labelsOf(store.get(builtInResources.namespaces, namespace)));
}

function reviewOf(attributes: AdmissionAttributes, uid: string): JsonObject {
  const { type, subresource, caller } = attributes;
  const kind = attributes.kind ?? { group: type.group, version: type.version, kind: type.kind };
  const resource = { group: type.group, version: type.version, resource: type.resource };
  return {
    kind: "AdmissionReview",
    apiVersion: "admission.k8s.io/v1",
    request: {
      uid,
      kind,
      resource,
      ...(subresource === undefined ? {} : { subResource: subresource }),
      requestKind: kind,
      requestResource: resource,
      ...(subresource === undefined ? {} : { requestSubResource: subresource }),
      ...(attributes.name === "" ? {} : { name: attributes.name }),
      ...(attributes.namespace === undefined ? {} : { namespace: attributes.namespace }),
      operation: attributes.operation,
      userInfo: caller,
      object: attributes.object ?? null,
      oldObject: attributes.oldObject ?? null,
      dryRun: attributes.dryRun,
      options: attributes.options,
    },
  };
}

/** The Status of a denial, as the real server completes it. */
function denial(name: string, status: JsonObject): ApiError {
  const deniedBy = `admission webhook ${JSON.stringify(name)} denied the request`;
  const message = asString(status["message"]) ?? "";
  const reason = asString(status["reason"]) ?? "";
  const code = asNumber(status["code"]) ?? 0;
  const explanation = message === "" ? reason : message;
  const text = explanation === "" ? `${deniedBy} without explanation` : `${deniedBy}: ${explanation}`;
  const details = status["details"] as StatusDetails | undefined;
  return new ApiError(Math.max(code, 400), reason, text, details);
}

function tooLate(webhook: JsonObject, timeoutMs: number): Error {
  const { url } = asObject(webhook["clientConfig"]);
  const call = typeof url === "string" ? `Post "${url}?timeout=${timeoutMs / 1000}s": ` : "";
  return new Error(`${call}context deadline exceeded`);
}

/** What a webhook that gave no valid answer means for the request. */
function fail(webhook: JsonObject, name: string, why: string): void {
  if ((asString(webhook["failurePolicy"]) ?? "Fail") === "Ignore") return;
  throw internalError(`failed calling webhook ${JSON.stringify(name)}: ${why}`);
}

export class Admission {
  readonly #environment: AdmissionEnvironment;

  constructor(environment: AdmissionEnvironment) {
    this.#environment = environment;
  }

  /** Asks every matching webhook, all at once; throws the first refusal. */
  async validate(attributes: AdmissionAttributes): Promise<void> {
    // The server never asks a webhook about webhook configurations, or nobody could repair a broken one.
    if (attributes.type === builtInResources.validatingWebhookConfigurations) return;
    const webhooks = this.#matching(attributes);
    if (webhooks.length === 0) return;
    const refusals: unknown[] = [];
    await Promise.all(
      webhooks.map((webhook) => this.#ask(webhook, attributes).catch((error: unknown) => refusals.push(error))),
    );
    if (refusals.length > 0) throw refusals[0];
  }

  #matching(attributes: AdmissionAttributes): JsonObject[] {
    const { store, staticWebhookConfigurations } = this.#environment;
    const stored = [...store.values(builtInResources.validatingWebhookConfigurations)];
    const found: JsonObject[] = [];
    for (const configuration of [...staticWebhookConfigurations, ...stored]) {
      for (const item of asArray(asObject(configuration)["webhooks"])) {
        const webhook = asObject(item);
        const matches = asArray(webhook["rules"]).some((rule) => matchesRule(asObject(rule), attributes));
        if (matches && matchesSelectors(webhook, attributes, store)) found.push(webhook);
      }
    }
    return found;
  }

  async #ask(webhook: JsonObject, attributes: AdmissionAttributes): Promise<void> {
    const name = asString(webhook["name"]) ?? "";
    const sideEffects = asString(webhook["sideEffects"]);
    if (attributes.dryRun && sideEffects !== "None" && sideEffects !== "NoneOnDryRun") {
      throw badRequest(`admission webhook ${JSON.stringify(name)} does not support dry run`);
    }
    const uid = randomUuid(this.#environment.rng);
    const ownTimeoutMs = (asNumber(webhook["timeoutSeconds"]) ?? timeoutSecondsDefault) * 1000;
    const leftMs = (attributes.overAtMs ?? Infinity) - this.#environment.clock.monotonicMs();
    // The webhook is told the shorter one, too; whole milliseconds, as timers want them.
    const timeoutMs = Math.min(ownTimeoutMs, Math.max(1, Math.floor(leftMs)));
    let answer: JsonObject;
    try {
      answer = asObject(asObject(await this.#call(webhook, reviewOf(attributes, uid), timeoutMs))["response"]);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      fail(webhook, name, `failed to call webhook: ${why}`);
      return;
    }
    if (answer["uid"] !== uid) {
      const got = JSON.stringify(answer["uid"] ?? "");
      fail(
        webhook,
        name,
        `received invalid webhook response: expected response.uid=${JSON.stringify(uid)}, got ${got}`,
      );
      return;
    }
    for (const warning of asArray(answer["warnings"])) attributes.warn(String(warning));
    if (answer["allowed"] !== true) throw denial(name, asObject(answer["status"]));
  }

  /** The injected call, given up at the deadline by the engine's own clock. */
  async #call(webhook: JsonObject, review: JsonObject, timeoutMs: number): Promise<unknown> {
    return await new Promise((resolve, reject) => {
      const timer = this.#environment.clock.setTimer(timeoutMs, () => reject(tooLate(webhook, timeoutMs)));
      this.#environment.callWebhook(webhook, review, timeoutMs).then(
        (answer) => {
          timer.cancel();
          resolve(answer);
        },
        (error: unknown) => {
          timer.cancel();
          reject(error instanceof Error ? error : new Error(String(error)));
        },
      );
    });
  }
}

/** The options object of a review: `CreateOptions`, `UpdateOptions` or `DeleteOptions`. */
export function reviewOptions(kind: string, options: JsonObject, dryRun: boolean): JsonObject {
  const apiVersion = apiVersionOf({ group: "meta.k8s.io", version: "v1" });
  return { kind, apiVersion, ...options, ...(dryRun ? { dryRun: ["All"] } : {}) };
}
