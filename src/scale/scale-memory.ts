/**
 * The scales of objects that are watched: one GET for each change of an object that its scale may depend on, and none
 * for one that is as it was. Answers that are no scale are not remembered; who gets one asks again
 * later.
 */
import { type KubeClient } from "../kube/kube-client.ts";
import { readScale, type Scale, type ScaleAnswer, type ScaleTarget } from "./read-scale.ts";
import { asObject, fieldsOf, type Json } from "../api/json.ts";

/** More objects than one core has workloads; some hundred bytes each. */
const scalesMax = 200_000;

interface Known {
  readonly fingerprint: Fingerprint;
  readonly scale: Scale;
}

export class ScaleMemory {
  readonly #client: KubeClient;
  /** By the UID of the object, the one that was read longest ago first. */
  readonly #known = new Map<string, Known>();
  /** Reads that are under way, by the UID of the object. */
  readonly #reading = new Map<string, { readonly fingerprint: Fingerprint; readonly answer: Promise<ScaleAnswer> }>();

  constructor(client: KubeClient) {
    this.#client = client;
  }

  /** The scale of an object in a state of which `fingerprint` was taken. Rejects only when `signal` aborts. */
  async read(target: ScaleTarget, fingerprint: Fingerprint, signal: AbortSignal): Promise<ScaleAnswer> {
    const known = this.#known.get(target.uid);
    if (known !== undefined && hasSameScale(known.fingerprint, fingerprint, known.scale.selector))
      return { kind: "scale", scale: known.scale };
    const reading = this.#reading.get(target.uid);
    // Only of the same state: what was asked for before a change may not show it.
    if (reading !== undefined && hasSameScale(reading.fingerprint, fingerprint, "")) return await reading.answer;
    const asked = { fingerprint, answer: this.#ask(target, fingerprint, signal) };
    this.#reading.set(target.uid, asked);
    try {
      return await asked.answer;
    } finally {
      if (this.#reading.get(target.uid) === asked) this.#reading.delete(target.uid);
    }
  }

  /** The object is gone. */
  forget(uid: string): void {
    this.#known.delete(uid);
  }

  async #ask(target: ScaleTarget, fingerprint: Fingerprint, signal: AbortSignal): Promise<ScaleAnswer> {
    const answer = await readScale(this.#client, target, signal);
    if (answer.kind !== "scale") return answer;
    this.#known.delete(target.uid);
    this.#known.set(target.uid, { fingerprint, scale: answer.scale });
    const oldest = this.#known.keys().next();
    if (this.#known.size > scalesMax && oldest.done !== true) this.#known.delete(oldest.value);
    return answer;
  }
}

/**
 * What of an object its scale may depend on, so that an object that changed otherwise costs no request. Pure.
 *
 * A definition may name a field of the spec for the replicas, and a text of the spec or the status for the selector, by
 * paths without lists. The server counts each change of a spec in metadata.generation, but not those of a status. So
 * what is kept is the generation, and the texts of the status. Of these only those matter that equal the selector of
 * the scale: a heartbeat in the status, which operators write all the time, is not one.
 */
export interface Fingerprint {
  readonly uid: string;
  /** metadata.generation; the resourceVersion where there is none. */
  readonly generation: string;
  /** Texts of the status that may be the selector, by their paths. */
  readonly texts: ReadonlyMap<string, string>;
}

/** Selectors that people write are far below it; it bounds what is kept of one object. */
const textLengthMax = 1_024;
const textsMax = 100;
/** `.status.a.b.c`: operators have their selector at the top, or one below. */
const depthMax = 4;

export function fingerprintOf(raw: unknown): Fingerprint {
  const { metadata, status } = fieldsOf(raw);
  const { uid, generation, resourceVersion } = fieldsOf(metadata);
  const texts = new Map<string, string>();
  const isWhole = collect(fieldsOf(status), "", texts, 0);
  // Where something was left out, each version counts as a change.
  const isCounted = isWhole && typeof generation === "number";
  return {
    uid: typeof uid === "string" ? uid : "",
    generation: isCounted ? `generation ${generation}` : `version ${String(resourceVersion)}`,
    texts,
  };
}

/** False when a limit left something out. */
function collect(fields: Json, path: string, texts: Map<string, string>, depth: number): boolean {
  let isWhole = depth < depthMax;
  for (const [field, value] of isWhole ? Object.entries(fields) : []) {
    const below = asObject(value);
    const hasRoom = texts.size < textsMax;
    if (below !== undefined) isWhole = collect(below, `${path}.${field}`, texts, depth + 1) && isWhole;
    else if (typeof value !== "string") continue;
    else if (hasRoom && value.length <= textLengthMax) texts.set(`${path}.${field}`, value);
    else isWhole = false;
  }
  return isWhole;
}

/** Whether the scale of the object is as it was `before`, when its selector was that. */
export function hasSameScale(before: Fingerprint, now: Fingerprint, selector: string): boolean {
  if (before.uid !== now.uid || before.generation !== now.generation) return false;
  const all = [...before.texts];
  const candidates = selector === "" ? [] : all.filter(([, text]) => text === selector);
  if (candidates.length > 0) return candidates.every(([path, text]) => now.texts.get(path) === text);
  // It is in the spec, or not written yet: any text may become it.
  return before.texts.size === now.texts.size && all.every(([path, text]) => now.texts.get(path) === text);
}
