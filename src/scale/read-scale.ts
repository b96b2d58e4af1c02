/**
 * Reads the scale subresource of one object, as KEP-981 does it: replicas from spec.replicas, selector from
 * status.selector, and the UID must be that of the object that is meant. What the answer means is told apart, since a
 * missing owner, a missing right and a server in trouble lead to different things.
 */
import { fieldsOf, asObject } from "../api/json.ts";
import { type V1ObjectMeta, type V1Scale, type V1ScaleSpec, type V1ScaleStatus } from "../api/models.ts";
import { asKubeError, type KubeClient, type KubeError, resourcePath } from "../kube/kube-client.ts";
import { type KindMapping } from "./discovery.ts";
import { type LabelSelector, type LabelSelectorRequirement } from "../api/v1alpha1/pod-protector.ts";
import { parseLabelSelector } from "../config/types/label-selector.ts";

/** An object whose scale is to be read. */
export interface ScaleTarget {
  readonly mapping: KindMapping;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

export interface Scale {
  /** Never below 0. */
  readonly replicas: number;
  /** As the server sends it; "" = none. */
  readonly selector: string;
}

export type ScaleAnswer =
  | { readonly kind: "scale"; readonly scale: Scale }
  | ScaleTrouble
  /** There is no such object, or another one has its name. */
  | { readonly kind: "missing" };

export type ScaleTrouble =
  /** Somebody has to do something: a right is missing, or the object or its definition is wrong. */
  | { readonly kind: "lasting"; readonly problem: "forbidden" | "notScalable" | "wrong"; readonly text: string }
  /** It may pass by itself: timeouts, 5xx, 429, a resource that is not served at the moment. */
  | { readonly kind: "notNow"; readonly text: string };

/** A scale is read from storage at once. One that takes longer is asked for again. */
const timeoutMs = 10_000;
/** As the API server says it of a custom resource without the field that its definition names: a 500. */
const missingReplicas = /spec replicas field .* does not exist/;
/** A 404 that is about the path, and says nothing of the object. */
const unservedPath = /could not find the requested resource|page not found/;

/** Rejects only when `signal` aborts. */
export async function readScale(client: KubeClient, target: ScaleTarget, signal: AbortSignal): Promise<ScaleAnswer> {
  const { mapping, namespace, name } = target;
  if (!mapping.hasScale) {
    return { kind: "lasting", problem: "notScalable", text: `${mapping.resource.resource} have no subresource scale` };
  }
  const at = { namespace: mapping.isNamespaced ? namespace : undefined, name, subresource: "scale" };
  const path = resourcePath(mapping.resource, at);
  try {
    return scaleOf(await client.request({ method: "GET", path, timeoutMs, signal }), target);
  } catch (thrown) {
    const error = asKubeError(thrown);
    if (error.kind === "aborted") throw error;
    return answerOf(error);
  }
}

function answerOf({ kind, message }: KubeError): ScaleAnswer {
  if (kind === "notFound") return unservedPath.test(message) ? { kind: "notNow", text: message } : { kind: "missing" };
  if (kind === "forbidden") return { kind: "lasting", problem: "forbidden", text: message };
  const isWrong = kind === "malformed" || kind === "invalid" || missingReplicas.test(message);
  return isWrong ? { kind: "lasting", problem: "wrong", text: message } : { kind: "notNow", text: message };
}

function scaleOf(raw: unknown, { uid }: ScaleTarget): ScaleAnswer {
  const { kind, metadata, spec, status } = fieldsOf<V1Scale>(raw);
  const wrong = (text: string): ScaleAnswer => ({ kind: "lasting", problem: "wrong", text });
  const fields = asObject<V1ScaleSpec>(spec);
  if (kind !== "Scale" || fields === undefined) return wrong("the answer is not a Scale");
  if (fieldsOf<V1ObjectMeta>(metadata).uid !== uid) return { kind: "missing" };
  // The encoder leaves a 0 out. An object without the field has no Scale at all.
  const { replicas = 0 } = fields;
  if (typeof replicas !== "number" || !Number.isSafeInteger(replicas) || replicas < 0)
    return wrong(`scale.spec.replicas is ${JSON.stringify(replicas)}`);
  const { selector = "" } = fieldsOf<V1ScaleStatus>(status);
  if (typeof selector !== "string") return wrong(`scale.status.selector is ${JSON.stringify(selector).slice(0, 200)}`);
  return { kind: "scale", scale: { replicas, selector } };
}

/** The selector of a Scale, which is a text in the syntax of `kubectl -l`. Pure. */
export type ReadSelector =
  | { readonly ok: true; readonly selector: LabelSelector }
  | { readonly ok: false; readonly reason: string };

/**
 * As people write selectors: single values are matchLabels. A text that selects everything is refused: it says that its
 * controller has not written one yet, and would protect all pods of the namespace by mistake.
 */
export function readScaleSelector(text: string): ReadSelector {
  if (text.trim() === "") return { ok: false, reason: "it is empty" };
  const parsed = parseLabelSelector(text);
  if (!parsed.ok) return { ok: false, reason: `${JSON.stringify(text.slice(0, 200))} ${parsed.problem}` };
  const matchLabels: Record<string, string> = {};
  const matchExpressions: LabelSelectorRequirement[] = [];
  for (const requirement of parsed.value.matchExpressions ?? []) {
    const { key, operator, values = [] } = requirement;
    const [value, ...others] = values;
    const isEqual = operator === "In" && value !== undefined && others.length === 0 && !Object.hasOwn(matchLabels, key);
    if (isEqual) matchLabels[key] = value;
    else matchExpressions.push(requirement);
  }
  const selector = {
    ...(Object.keys(matchLabels).length === 0 ? {} : { matchLabels }),
    ...(matchExpressions.length === 0 ? {} : { matchExpressions }),
  };
  return { ok: true, selector };
}
