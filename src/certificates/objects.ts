/**
 * The objects in the core cluster by which built-in issuing works (docs/webhook.md#built-in). They are made by
 * manifests and only filled here, so that no account needs the right to create Secrets.
 */
import { asObject, fieldsOf } from "../api/json.ts";
import { type V1ObjectMeta, type V1Secret } from "../api/models.ts";
import { type KubeClient, type Resource, resourcePath } from "../kube/kube-client.ts";

const secrets: Resource = { group: "", version: "v1", resource: "secrets" };
const configMaps: Resource = { group: "", version: "v1", resource: "configmaps" };

export interface StoredObject {
  readonly kind: "Secret" | "ConfigMap";
  readonly name: string;
}

/** What webhooks serve: `tls.crt`, `tls.key`, and `ca.crt` as in the ConfigMap. */
export const servedSecret: StoredObject = { kind: "Secret", name: "podseidon-webhook-tls" };
/** The authorities with their keys. Nobody but the issuer reads it. */
export const authoritySecret: StoredObject = { kind: "Secret", name: "podseidon-webhook-authority" };
/** `ca.crt`: all authorities that are trusted, for the caBundle in worker clusters. Public. */
export const trustedConfigMap: StoredObject = { kind: "ConfigMap", name: "podseidon-webhook-ca" };

/** Small objects, and nobody waits for them. */
const timeoutMs = 10_000;
/** An object has at most 1.5 MB in etcd; base64 makes a third more of it. */
const answerBytesMax = 4 * 1024 * 1024;

export interface ReadData {
  readonly resourceVersion: string;
  readonly data: Readonly<Record<string, string>>;
  /** When the server says that it answered; undefined = it does not say. */
  readonly serverTimeMs: number | undefined;
}

export interface Place {
  readonly client: KubeClient;
  readonly namespace: string;
}

const pathOf = (namespace: string, { kind, name }: StoredObject): string =>
  resourcePath(kind === "Secret" ? secrets : configMaps, { namespace, name });

/** Throws KubeError. */
export async function readData(place: Place, object: StoredObject, signal?: AbortSignal): Promise<ReadData> {
  let serverTimeMs: number | undefined;
  const answer = await place.client.request({
    method: "GET",
    path: pathOf(place.namespace, object),
    timeoutMs,
    answerBytesMax,
    onServerTime: (time) => void (serverTimeMs = time / 1_000),
    ...(signal && { signal }),
  });
  const { metadata, data } = fieldsOf<V1Secret>(answer);
  const { resourceVersion } = fieldsOf<V1ObjectMeta>(metadata);
  const texts = Object.entries(asObject(data) ?? {}).flatMap(([key, value]): (readonly [string, string])[] => {
    if (typeof value !== "string") return [];
    return [[key, object.kind === "Secret" ? Buffer.from(value, "base64").toString() : value]];
  });
  return {
    resourceVersion: typeof resourceVersion === "string" ? resourceVersion : "",
    data: Object.fromEntries(texts),
    serverTimeMs,
  };
}

/**
 * Writes some keys, and nothing if the object is not any more as it was read: a conflict. Throws KubeError.
 */
export async function writeData(
  place: Place,
  object: StoredObject,
  read: ReadData,
  data: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<void> {
  const encoded = Object.entries(data).map(([key, value]) => [
    key,
    object.kind === "Secret" ? Buffer.from(value).toString("base64") : value,
  ]);
  await place.client.request({
    method: "PATCH",
    path: pathOf(place.namespace, object),
    contentType: "application/merge-patch+json",
    body: { metadata: { resourceVersion: read.resourceVersion }, data: Object.fromEntries(encoded) },
    timeoutMs,
    signal,
  });
}
