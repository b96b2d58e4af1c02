/**
 * What of an object its scale may depend on, so that an object that changed otherwise costs no request. Pure.
 *
 * A definition may name a field of the spec for the replicas, and a text of the spec or the status for the selector, by
 * paths without lists. The server counts each change of a spec in metadata.generation, but not those of a status. So
 * what is kept is the generation, and the texts of the status. Of these only those matter that equal the selector of
 * the scale: a heartbeat in the status, which operators write all the time, is not one.
 */
import { asObject, fieldsOf, type Json } from "../api/json.ts";

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
