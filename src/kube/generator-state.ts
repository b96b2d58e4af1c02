/**
 * The ConfigMap in which the generator of a core keeps what must outlive it, and what webhooks must know of it: the
 * PodProtectors that it has released lately, and those that a person lets go by hand
 * (docs/generator.md#when-a-podprotector-is-gone). It is in the namespace of the cells' Leases. Reading never fails:
 * what is not understood releases nothing.
 */
import { asList, asObject, fieldsOf } from "../api/json.ts";
import { formatMicroTime, parseTime } from "../api/micro-time.ts";
import { digestOfUID } from "../accounting/history/uid-digest.ts";
import { type EpochMicros } from "../util/clock.ts";
import { parseResourceVersion } from "../api/resource-version.ts";
import { isKubeError, type KubeClient, KubeError, type Resource, resourcePath } from "./kube-client.ts";
import { type RequestLimits } from "./pod-protectors.ts";

export const generatorStateName = "podseidon-generator-state";

export const configMaps: Resource = { group: "", version: "v1", resource: "configmaps" };

/** Key of the data: a JSON list of [digest of the UID, RFC 3339 time, cause]. */
export const releasedKey = "released";

/** Before a UID in a key of the data that a person adds to let a vanished PodProtector go. The value is for people. */
const byHandPrefix = "uid.";

/** The key by which a person lets the PodProtector with this UID go. */
export function byHandKeyOf(uid: string): string {
  return `${byHandPrefix}${uid}`;
}

/** A PodProtector that the generator has released. */
export interface Release {
  /** `digestOfUID` of the PodProtector's UID. */
  readonly digest: string;
  readonly releasedAt: EpochMicros;
  /** For people, and what mass changes are counted by. */
  readonly cause: string;
}

export interface GeneratorState {
  /** Undefined = the ConfigMap does not exist. */
  readonly resourceVersion: string | undefined;
  readonly annotations: Readonly<Record<string, string>>;
  readonly data: Readonly<Record<string, string>>;
  /** In the order in which they are kept. */
  readonly releases: readonly Release[];
  /** Of `releases`: all that a wiped core has lost are looked up at once, each among thousands. */
  readonly releasedDigests: ReadonlySet<string>;
}

/**
 * Reads the ConfigMap live. One that does not exist is an empty state. Throws KubeError; "malformed" for an answer that
 * is another object, which must not be taken for an empty state.
 */
export async function readGeneratorState(
  core: KubeClient,
  namespace: string,
  limits: RequestLimits,
): Promise<GeneratorState> {
  const path = resourcePath(configMaps, { namespace, name: generatorStateName });
  let answer: unknown;
  try {
    answer = await core.request({ method: "GET", path, ...limits });
  } catch (error) {
    if (isKubeError(error, "notFound")) return decodeGeneratorState(undefined);
    throw error;
  }
  if (!isOurs(answer, namespace))
    throw new KubeError("malformed", `GET ${path}: the answer is not the ConfigMap ${namespace}/${generatorStateName}`);
  return decodeGeneratorState(answer);
}

function isOurs(answer: unknown, namespace: string): boolean {
  const { apiVersion, kind, metadata } = fieldsOf(answer);
  const { name, namespace: itsNamespace, resourceVersion } = fieldsOf(metadata);
  const isConfigMap = apiVersion === "v1" && kind === "ConfigMap";
  const isNamed = name === generatorStateName && itsNamespace === namespace;
  return isConfigMap && isNamed && parseResourceVersion(resourceVersion) !== undefined;
}

/** Never throws. */
export function decodeGeneratorState(raw: unknown): GeneratorState {
  const { metadata, data } = fieldsOf(raw);
  const { resourceVersion, annotations } = fieldsOf(metadata);
  const texts = textsOf(data);
  const releases = decodeReleases(texts[releasedKey] ?? "");
  return {
    resourceVersion: typeof resourceVersion === "string" ? resourceVersion : undefined,
    annotations: textsOf(annotations),
    data: texts,
    releases,
    releasedDigests: new Set(releases.map(({ digest }) => digest)),
  };
}

/** Whether the PodProtector with this UID was let go, by the generator or by hand. */
export function isLetGo(state: GeneratorState, uid: string): boolean {
  return Object.hasOwn(state.data, byHandKeyOf(uid)) || state.releasedDigests.has(digestOfUID(uid));
}

/** The value of `releasedKey`. */
export function encodeReleases(releases: readonly Release[]): string {
  return JSON.stringify(releases.map(({ digest, releasedAt, cause }) => [digest, formatMicroTime(releasedAt), cause]));
}

function decodeReleases(text: string): Release[] {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    return [];
  }
  return asList(parsed).flatMap((entry) => {
    const [digest, time, cause] = asList(entry);
    const releasedAt = parseTime(time);
    if (typeof digest !== "string" || releasedAt === undefined) return [];
    return [{ digest, releasedAt, cause: typeof cause === "string" ? cause : "" }];
  });
}

function textsOf(value: unknown): Record<string, string> {
  const entries = Object.entries(asObject(value) ?? {}).filter((entry): entry is [string, string] => {
    return typeof entry[1] === "string";
  });
  return Object.fromEntries(entries);
}
