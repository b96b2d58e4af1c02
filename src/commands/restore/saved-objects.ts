/**
 * The file that PodProtectors are saved in before anything is touched: what `kubectl get podprotectors -A -o json`
 * writes, and beside it how far a restore has come. A run that was interrupted goes on from it.
 */
import { closeSync, fsyncSync, openSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { asList, fieldsOf, type Json } from "../../api/json.ts";
import { Problem } from "../../config/reading/problem.ts";
import { messageOf } from "../../util/printable.ts";

/** They say what runs where; nobody else needs to read that. */
const mode = 0o600;

export interface SavedObjects {
  /** As the API server gave them. */
  readonly items: readonly Json[];
  /** UID of the CRD that was lost; undefined = the file is of a person. */
  readonly definitionUID: string | undefined;
  /** All objects are there again. */
  readonly isRestored: boolean;
}

/** Undefined = there is no such file. */
export function readSaved(file: string): SavedObjects | Problem | undefined {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    return new Problem(`cannot read ${file}: ${messageOf(error)}`);
  }
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    return new Problem(`${file} is not JSON: it is to be what kubectl get podprotectors -A -o json writes`);
  }
  const { items, podseidon } = fieldsOf(parsed);
  const { definitionUID, isRestored } = fieldsOf(podseidon);
  if (!Array.isArray(items)) return new Problem(`${file} is not a list of PodProtectors`);
  return {
    items: asList(items).map(fieldsOf),
    definitionUID: typeof definitionUID === "string" ? definitionUID : undefined,
    isRestored: isRestored === true,
  };
}

/** Whole or not at all: a crash leaves the file as it was. */
export function writeSaved(file: string, { items, definitionUID, isRestored }: SavedObjects): Problem | undefined {
  const list = { apiVersion: "v1", kind: "List", podseidon: { definitionUID, isRestored }, items };
  const partial = `${file}.partial`;
  try {
    const handle = openSync(partial, "w", mode);
    try {
      writeFileSync(handle, `${JSON.stringify(list, undefined, 1)}\n`);
      fsyncSync(handle);
    } finally {
      closeSync(handle);
    }
    renameSync(partial, file);
    return undefined;
  } catch (error) {
    return new Problem(`cannot write ${file}: ${messageOf(error)}`);
  }
}

/** `present` in place of what is saved of the same objects: they are newer. Others stay. */
export function merged(saved: readonly Json[], present: readonly Json[]): readonly Json[] {
  const byName = new Map(saved.map((item) => [nameOf(item), item]));
  for (const item of present) byName.set(nameOf(item), item);
  return [...byName.values()];
}

/** "namespace/name". */
export function nameOf(item: Json): string {
  const { namespace, name } = fieldsOf(item["metadata"]);
  return `${String(namespace)}/${String(name)}`;
}
