/** Loads modules of the page, which have no types, into Node. Those that only compute need no browser. */
import path from "node:path";
import { pathToFileURL } from "node:url";

const folder = path.join(import.meta.dirname, "../../../../../assets/dashboard");

/** What a module exports, as the caller says that it is. */
export async function loadModule<T>(name: string): Promise<T> {
  return (await import(pathToFileURL(path.join(folder, name)).href)) as T;
}
