/**
 * From the apiVersion and kind of an owner reference, or from `databases.example.com`, to what an API server serves.
 *
 * Only the groups that are asked for are read, by two small requests each: whole discovery documents of clusters with
 * many CRDs have megabytes, and an aggregated API server that is down cannot disturb what does not ask for it.
 * - A group is believed for ten minutes. What it does not have is looked for again, every ten seconds at most.
 * - A version that cannot be read now keeps what is known of it.
 * - All requests together have a rate, whatever references people write.
 */
import { asKubeError, isKubeError, KubeError, type KubeClient, type Resource } from "../kube/kube-client.ts";
import { createTokenBucket, type TokenBucket } from "../kube/token-bucket.ts";
import { type Clock, longAgo, type MonotonicMs } from "../util/clock.ts";
import { asList, asObject, fieldsOf } from "../api/json.ts";

/** As long as client-go's tools believe what they have cached on disk. */
const freshMs = 600_000;
/** Between two reads of a group that lacks something: nobody waits longer for a CRD that has just been made. */
const refreshEveryMs = 10_000;
/** Reads of groups a second, each a request and one for each version. Who gets none asks again later. */
const rate = { qps: 1, burst: 20 };
/** More groups than any cluster serves: owner references are written by people, and may name anything. */
const groupsMax = 1_000;
/** Discovery is answered from memory. */
const timeoutMs = 10_000;

export type MappingAnswer =
  | { readonly kind: "found"; readonly mapping: KindMapping }
  /** The server answers that it does not serve that. */
  | { readonly kind: "unserved" }
  /** Nobody knows now. */
  | { readonly kind: "notNow"; readonly error: KubeError };

interface Group {
  readAtMs: MonotonicMs;
  /** The preferred one first. */
  versions: readonly string[];
  readonly mappings: Map<string, readonly KindMapping[]>;
  /** Of the last read: some of it failed. */
  error: KubeError | undefined;
  /** Somebody has found that it is not as it was read. */
  isDoubted: boolean;
}

export interface DiscoveryOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
}

export class Discovery {
  readonly #client: KubeClient;
  readonly #clock: Clock;
  readonly #rate: TokenBucket;
  /** By name, the one that was read longest ago first. */
  readonly #groups = new Map<string, Group>();
  /** Those that are read at this moment: who asks meanwhile waits for the same answer. */
  readonly #reading = new Map<string, Promise<boolean>>();

  constructor({ client, clock }: DiscoveryOptions) {
    this.#client = client;
    this.#clock = clock;
    this.#rate = createTokenBucket(rate, clock);
  }

  /**
   * By an owner reference. A version that is not served any more is no obstacle: objects keep their UID in every other.
   */
  async ofKind(apiVersion: string, kind: string): Promise<MappingAnswer> {
    const named = groupVersionOf(apiVersion);
    if (named === undefined) return { kind: "unserved" };
    return await this.#find(named.group, named.version, (mapping) => mapping.kind === kind);
  }

  /** By group and plural, in the version that the server prefers. */
  async ofResource(group: string, plural: string): Promise<MappingAnswer> {
    return await this.#find(group, undefined, ({ resource }) => resource.resource === plural);
  }

  async #find(
    group: string,
    version: string | undefined,
    isMeant: (mapping: KindMapping) => boolean,
  ): Promise<MappingAnswer> {
    const known = this.#groups.get(group);
    const found = known && findIn(known, version, isMeant);
    // Its first read may be under way: what is lacking then is not known to be.
    const isBeingRead = found === undefined && this.#reading.has(group);
    const isDue = known === undefined || isBeingRead || this.#isDue(known, found === undefined);
    const isRead = !isDue || (await this.#refresh(group));
    const present = this.#groups.get(group);
    const mapping = present && findIn(present, version, isMeant);
    if (mapping !== undefined) return { kind: "found", mapping };
    const error = isRead ? present?.error : tooMany(group);
    return error === undefined ? { kind: "unserved" } : { kind: "notNow", error };
  }

  /** What was found there is not served any more: it is read again when it is asked for, if that was not just now. */
  doubt(group: string): void {
    const known = this.#groups.get(group);
    if (known !== undefined) known.isDoubted = true;
  }

  #isDue({ readAtMs, error, isDoubted }: Group, isLacking: boolean): boolean {
    const ageMs = this.#clock.monotonicMs() - readAtMs;
    return ageMs >= (isLacking || isDoubted || error !== undefined ? refreshEveryMs : freshMs);
  }

  /** False: the rate leaves no room. */
  async #refresh(name: string): Promise<boolean> {
    let reading = this.#reading.get(name);
    if (reading === undefined) {
      reading = this.#read(name).finally(() => this.#reading.delete(name));
      this.#reading.set(name, reading);
    }
    return await reading;
  }

  /** Not under the signal of whoever asks: others wait for it too, and it has a short deadline. */
  async #read(name: string): Promise<boolean> {
    if (!this.#rate.takeNow()) return false;
    const group = this.#entryOf(name);
    group.error = undefined;
    group.isDoubted = false;
    try {
      group.versions = name === "" ? ["v1"] : await this.#versionsOf(name);
    } catch (error) {
      group.error = asKubeError(error);
      return true;
    }
    for (const version of group.mappings.keys()) if (!group.versions.includes(version)) group.mappings.delete(version);
    for (const version of group.versions) {
      try {
        group.mappings.set(version, await this.#mappingsOf(name, version));
      } catch (error) {
        group.error = asKubeError(error);
      }
    }
    return true;
  }

  #entryOf(name: string): Group {
    const group = this.#groups.get(name) ?? {
      readAtMs: longAgo,
      versions: [],
      mappings: new Map(),
      error: undefined,
      isDoubted: false,
    };
    group.readAtMs = this.#clock.monotonicMs();
    this.#groups.delete(name);
    this.#groups.set(name, group);
    const oldest = this.#groups.keys().next();
    if (this.#groups.size > groupsMax && oldest.done !== true) this.#groups.delete(oldest.value);
    return group;
  }

  async #versionsOf(group: string): Promise<readonly string[]> {
    const path = `/apis/${encodeURIComponent(group)}`;
    try {
      const versions = readGroup(await this.#get(path));
      if (versions === undefined) throw new KubeError("malformed", `GET ${path}: the answer is not an APIGroup`);
      return versions;
    } catch (error) {
      if (isKubeError(error, "notFound")) return [];
      throw error;
    }
  }

  async #mappingsOf(group: string, version: string): Promise<readonly KindMapping[]> {
    const root = group === "" ? "/api" : `/apis/${encodeURIComponent(group)}`;
    const path = `${root}/${encodeURIComponent(version)}`;
    try {
      const mappings = readResourceList(await this.#get(path), group, version);
      if (mappings === undefined) throw new KubeError("malformed", `GET ${path}: the answer is not an APIResourceList`);
      return mappings;
    } catch (error) {
      // It has just ceased to be served.
      if (isKubeError(error, "notFound")) return [];
      throw error;
    }
  }

  async #get(path: string): Promise<unknown> {
    return await this.#client.request({ method: "GET", path, timeoutMs });
  }
}

/** In the version that is asked for if it has it, else in the first that does. */
function findIn(
  { versions, mappings }: Group,
  version: string | undefined,
  isMeant: (mapping: KindMapping) => boolean,
): KindMapping | undefined {
  const asked = version !== undefined && versions.includes(version) ? [version] : [];
  for (const one of [...asked, ...versions]) {
    const found = mappings.get(one)?.find(isMeant);
    if (found !== undefined) return found;
  }
  return undefined;
}

function tooMany(group: string): KubeError {
  return new KubeError("tooManyRequests", `the API group ${group} is not looked for yet: too many were asked for`);
}

/** Where the objects of a kind are found, as discovery documents of an API server say it. Pure. */
export interface KindMapping {
  readonly resource: Resource;
  readonly kind: string;
  readonly isNamespaced: boolean;
  /** There is a subresource "scale" that is a Scale, and can be read. */
  readonly hasScale: boolean;
}

/** Groups whose Scale the disruption controller accepts; only very old servers have the last two. */
const scaleGroups: ReadonlySet<unknown> = new Set(["autoscaling", "extensions", "apps"]);

/** Group and version of an apiVersion; undefined when it is none. */
export function groupVersionOf(apiVersion: string): { readonly group: string; readonly version: string } | undefined {
  const [first = "", second, ...more] = apiVersion.split("/");
  if (first === "" || second === "" || more.length > 0) return undefined;
  return second === undefined ? { group: "", version: first } : { group: first, version: second };
}

/** The kinds of an APIResourceList; undefined when it is none. What is not understood in it is left out. */
export function readResourceList(raw: unknown, group: string, version: string): readonly KindMapping[] | undefined {
  const resources = asObject(raw)?.["resources"];
  if (!Array.isArray(resources)) return undefined;
  const entries = asList(resources).map(fieldsOf);
  const scaled = new Set(entries.filter(isScale).map(({ name }) => name));
  return entries.flatMap(({ name, kind, namespaced }) => {
    // Names with a slash are subresources.
    if (typeof name !== "string" || typeof kind !== "string" || name.includes("/")) return [];
    const resource = { group, version, resource: name };
    return [{ resource, kind, isNamespaced: namespaced === true, hasScale: scaled.has(`${name}/scale`) }];
  });
}

function isScale({ name, kind, group, verbs }: Readonly<Record<string, unknown>>): boolean {
  if (typeof name !== "string" || !name.endsWith("/scale") || kind !== "Scale") return false;
  // A list without verbs is that of an old server, which left them out.
  return scaleGroups.has(group) && (verbs === undefined || asList(verbs).includes("get"));
}

/** The versions of an APIGroup, the preferred one first; undefined when it is none. */
export function readGroup(raw: unknown): readonly string[] | undefined {
  const { versions, preferredVersion } = fieldsOf(raw);
  if (!Array.isArray(versions)) return undefined;
  const named = [preferredVersion, ...asList(versions)].map((one) => fieldsOf(one)["version"]);
  return [...new Set(named.filter((version) => typeof version === "string" && version !== ""))] as string[];
}
