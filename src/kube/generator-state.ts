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

/**
 * Key of the data: a JSON list of [digest of the UID, RFC 3339 time, cause, number, namespace]. Earlier releases read
 * the first three, and write no others.
 */
export const releasedKey = "released";
/** Key of the data: the highest number that was ever given, and the highest that had to leave the list, "12-3". */
export const numbersKey = "released-numbers";

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
  /** Running, in the order of the releases; 0 = an earlier release of the generator has written it. */
  readonly number: number;
  /** Of the PodProtector; empty = an earlier release of the generator has written it. */
  readonly namespace: string;
}

/** How far the list of releases goes. Whoever has read it up to a number knows by these whether it has missed some. */
export interface ReleaseNumbers {
  /** The highest that was given. */
  readonly newest: number;
  /** The highest that had to leave the list to make room. */
  readonly dropped: number;
}

export interface GeneratorState {
  /** Undefined = the ConfigMap does not exist. */
  readonly resourceVersion: string | undefined;
  readonly annotations: Readonly<Record<string, string>>;
  readonly data: Readonly<Record<string, string>>;
  /** In the order in which they are kept. */
  readonly releases: readonly Release[];
  readonly numbers: ReleaseNumbers;
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
    numbers: decodeNumbers(texts[numbersKey] ?? ""),
    releasedDigests: new Set(releases.map(({ digest }) => digest)),
  };
}

/** Whether the PodProtector with this UID was let go, by the generator or by hand. */
export function isLetGo(state: GeneratorState, uid: string): boolean {
  return Object.hasOwn(state.data, byHandKeyOf(uid)) || state.releasedDigests.has(digestOfUID(uid));
}

/** What is stored of the list. */
export function encodeReleases(
  releases: readonly Release[],
  { newest, dropped }: ReleaseNumbers,
): Record<typeof releasedKey | typeof numbersKey, string> {
  const list = releases.map((release) => {
    const { digest, releasedAt, cause, number, namespace } = release;
    return [digest, formatMicroTime(releasedAt), cause, number, namespace];
  });
  return { [releasedKey]: JSON.stringify(list), [numbersKey]: `${newest}-${dropped}` };
}

/** What is not understood has given no numbers, so nobody has missed any. */
function decodeNumbers(text: string): ReleaseNumbers {
  const [, newest = "0", dropped = "0"] = /^(\d{1,15})-(\d{1,15})$/.exec(text) ?? [];
  return { newest: Number(newest), dropped: Number(dropped) };
}

function decodeReleases(text: string): Release[] {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    return [];
  }
  return asList(parsed).flatMap((entry) => {
    const [digest, time, cause, number, namespace] = asList(entry);
    const releasedAt = parseTime(time);
    if (typeof digest !== "string" || releasedAt === undefined) return [];
    return [{ digest, releasedAt, cause: textOf(cause), number: numberOf(number), namespace: textOf(namespace) }];
  });
}

const textOf = (value: unknown): string => (typeof value === "string" ? value : "");
const numberOf = (value: unknown): number => (Number.isSafeInteger(value) ? (value as number) : 0);

function textsOf(value: unknown): Record<string, string> {
  const entries = Object.entries(asObject(value) ?? {}).filter((entry): entry is [string, string] => {
    return typeof entry[1] === "string";
  });
  return Object.fromEntries(entries);
}
